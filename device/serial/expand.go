package serial

import (
	"maps"
	"slices"
	"strings"

	"github.com/polygate/gateway/device/describe"
)

// An entry is something that the file defines under a name, once its group is
// expanded.
type entry[T any] struct {
	name string // without the device's: ramp1.start
	base string // what the names in a query are relative to: "ramp1." or ""
	at   describe.Place
	what T
}

// expand returns everything that the file defines, groups written out, in
// order of names.
func (c *Config) expand(root describe.Place) (attributes []entry[Attribute], commands []entry[Command], queries []entry[Query]) {
	add := func(base string, at describe.Place, g *Group, fill func(string) string) {
		for name, a := range g.Attributes {
			attributes = append(attributes, entry[Attribute]{base + name, base, at.In("attributes", name), a.fill(fill)})
		}
		for name, x := range g.Commands {
			commands = append(commands, entry[Command]{base + name, base, at.In("commands", name), x.fill(fill)})
		}
		for name, q := range g.Queries {
			queries = append(queries, entry[Query]{base + name, base, at.In("queries", name), q.fill(fill)})
		}
	}
	all := Group{Attributes: c.Attributes, Commands: c.Commands, Queries: c.Queries}
	add("", root, &all, c.replacer("").Replace)
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		g, at := c.Groups[name], root.In("groups", name)
		if len(g.Index) == 0 {
			at.Errorf("a group needs an index, such as index: [1, 2, 3]")
		}
		for _, index := range g.Index {
			add(name+string(index)+".", at, &g, c.replacer(string(index)).Replace)
		}
	}
	sortEntries(attributes)
	sortEntries(commands)
	sortEntries(queries)
	return attributes, commands, queries
}

func sortEntries[T any](entries []entry[T]) {
	slices.SortFunc(entries, func(a, b entry[T]) int { return strings.Compare(a.name, b.name) })
}

// replacer fills in {address}, and {index} inside a group.
func (c *Config) replacer(index string) *strings.Replacer {
	if index == "" {
		return strings.NewReplacer("{address}", string(c.Address))
	}
	return strings.NewReplacer("{address}", string(c.Address), "{index}", index)
}

func (a Attribute) fill(fill func(string) string) Attribute {
	a.Read, a.Reply, a.Listen = a.Read.fill(fill), fill(a.Reply), fill(a.Listen)
	a.Description, a.CA.Name = fill(a.Description), fill(a.CA.Name)
	a.Write, a.Cleanup = a.Write.fill(fill), a.Cleanup.fill(fill)
	a.WriteReply = fillPointer(a.WriteReply, fill)
	return a
}

func (x Command) fill(fill func(string) string) Command {
	x.Reply, x.Description, x.CA.Name = fill(x.Reply), fill(x.Description), fill(x.CA.Name)
	x.Send, x.Cleanup = x.Send.fill(fill), x.Cleanup.fill(fill)
	x.SendReply = fillPointer(x.SendReply, fill)
	return x
}

func (q Query) fill(fill func(string) string) Query {
	q.Read, q.Reply, q.Listen = q.Read.fill(fill), fill(q.Reply), fill(q.Listen)
	return q
}

func (s Steps) fill(fill func(string) string) Steps {
	filled := slices.Clone(s)
	for i := range filled {
		filled[i].Send = fill(filled[i].Send)
		filled[i].Reply = fillPointer(filled[i].Reply, fill)
	}
	return filled
}

func fillPointer(s *string, fill func(string) string) *string {
	if s == nil {
		return nil
	}
	filled := fill(*s)
	return &filled
}
