package config

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway/internal/nearest"
)

// find returns the node at path.
func (d *Document) find(path []string) (*yaml.Node, bool) {
	node := d.root
	for _, key := range path {
		node = child(node, key)
		if node == nil {
			return nil, false
		}
	}
	return node, node != nil
}

// nearest returns the node at path, or the key under which the path breaks off.
func (d *Document) nearest(path []string) *yaml.Node {
	node, place := d.root, d.root
	for _, key := range path {
		keyNode, next := entry(node, key)
		if next == nil {
			return place
		}
		node, place = next, next
		if next.Kind == yaml.MappingNode && keyNode != nil {
			place = keyNode
		}
	}
	return place
}

func child(node *yaml.Node, key string) *yaml.Node {
	_, value := entry(node, key)
	return value
}

// entry finds a key of a mapping or the index of a sequence; the key is nil for the latter.
func entry(node *yaml.Node, key string) (keyNode, value *yaml.Node) {
	if node == nil {
		return nil, nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		for _, m := range withMerged(node) {
			for i := 0; i+1 < len(m.Content); i += 2 {
				if m.Content[i].Value == key {
					return m.Content[i], resolve(m.Content[i+1])
				}
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(node.Content) {
			return nil, resolve(node.Content[i])
		}
	}
	return nil, nil
}

// resolve follows aliases and the document's own node to what is meant.
func resolve(node *yaml.Node) *yaml.Node {
	for node != nil {
		switch {
		case node.Kind == yaml.AliasNode:
			node = node.Alias
		case node.Kind == yaml.DocumentNode && len(node.Content) > 0:
			node = node.Content[0]
		case node.Kind == yaml.DocumentNode:
			return nil
		default:
			return node
		}
	}
	return nil
}

// mergeKey is the key whose value, a mapping or a list of such, gives a mapping
// the keys that it does not have itself.
const mergeKey = "<<"

// withMerged returns a mapping and those that it merges, in the order in which
// a key counts: the first that has it.
func withMerged(node *yaml.Node) []*yaml.Node { return appendMerged(nil, node) }

func appendMerged(all []*yaml.Node, node *yaml.Node) []*yaml.Node {
	node = resolve(node)
	// One that is there already, as one that merges itself, brings nothing new.
	if node == nil || node.Kind != yaml.MappingNode || slices.Contains(all, node) {
		return all
	}
	all = append(all, node)
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value != mergeKey {
			continue
		}
		merged := resolve(node.Content[i+1])
		if merged == nil || merged.Kind != yaml.SequenceNode {
			all = appendMerged(all, merged)
			continue
		}
		for _, m := range merged.Content {
			all = appendMerged(all, m)
		}
	}
	return all
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && (node.Tag == "!!null" || node.Value == "" && node.Style == 0)
}

func nodeName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return strconv.Quote(node.Value)
	}
}

// checkKeys reports unknown and repeated keys of a mapping that is to be
// decoded into typ, and of what is below it.
func (d *Document) checkKeys(node *yaml.Node, typ reflect.Type, others []string) {
	node = resolve(node)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if node == nil || typ == reflect.TypeFor[yaml.Node]() {
		return
	}
	switch {
	case node.Kind == yaml.SequenceNode && typ.Kind() == reflect.Slice:
		for _, item := range node.Content {
			d.checkKeys(item, typ.Elem(), nil)
		}
	case node.Kind == yaml.MappingNode && typ.Kind() == reflect.Map:
		for _, m := range withMerged(node) {
			d.checkRepeated(m)
			for i := 0; i+1 < len(m.Content); i += 2 {
				if m.Content[i].Value != mergeKey {
					d.checkKeys(m.Content[i+1], typ.Elem(), nil)
				}
			}
		}
	case node.Kind == yaml.MappingNode && typ.Kind() == reflect.Struct:
		for _, m := range withMerged(node) {
			d.checkRepeated(m)
			d.checkFields(m, fieldsOf(typ), others)
		}
	}
}

// checkFields checks the keys of one mapping against those of a struct.
func (d *Document) checkFields(node *yaml.Node, fields map[string]reflect.Type, others []string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		field, known := fields[key.Value]
		switch {
		case known:
			d.checkKeys(node.Content[i+1], field, nil)
		case !contains(others, key.Value) && key.Value != mergeKey:
			d.addAt(key, "unknown key %q%s", key.Value, didYouMean(key.Value, fields, others))
		}
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

func (d *Document) checkRepeated(node *yaml.Node) {
	first := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if line, seen := first[key.Value]; seen {
			d.addAt(key, "key %q is already set in line %d", key.Value, line)
			continue
		}
		first[key.Value] = key.Line
	}
}

// withoutDuplicates copies a tree without repeated keys, which were reported
// and would keep the decoder from finding anything else.
func withoutDuplicates(node *yaml.Node) *yaml.Node {
	if node == nil || len(node.Content) == 0 {
		return node
	}
	clone := *node
	clone.Content = nil
	seen := map[string]bool{}
	step := 1
	if node.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(node.Content); i += step {
		if step == 2 {
			if key := node.Content[i].Value; seen[key] {
				continue
			}
			seen[node.Content[i].Value] = true
			clone.Content = append(clone.Content, node.Content[i])
		}
		clone.Content = append(clone.Content, withoutDuplicates(node.Content[i+step-1]))
	}
	return &clone
}

// fieldsOf returns the keys of a struct by its yaml tags, inlined structs included.
func fieldsOf(typ reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type, typ.NumField())
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			inner := field.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				for key, typ := range fieldsOf(inner) {
					fields[key] = typ
				}
			}
		case name != "":
			fields[name] = field.Type
		default:
			fields[strings.ToLower(field.Name)] = field.Type
		}
	}
	return fields
}

func didYouMean(key string, fields map[string]reflect.Type, others []string) string {
	candidates := append([]string(nil), others...)
	for name := range fields {
		candidates = append(candidates, name)
	}
	if near := nearest.Of(key, candidates); near != "" {
		return "; did you mean " + strconv.Quote(near) + "?"
	}
	return ""
}

var intoType = regexp.MustCompile(`cannot construct (!!\w+)(?: (.*))? into (\S+)`)

// readable turns the YAML library's words about Go types into words about the file.
func readable(message string) string {
	match := intoType.FindStringSubmatch(message)
	switch {
	case message == "found character that cannot start any token":
		return "a tab, or text that begins with %, @ or `: indent with blanks, and put such text in quotes"
	case match == nil:
		return message
	}
	want := match[3]
	switch {
	case strings.HasPrefix(want, "int"), strings.HasPrefix(want, "uint"):
		want = "a whole number"
	case strings.HasPrefix(want, "float"):
		want = "a number"
	case want == "bool":
		want = "true or false"
	case want == "string":
		want = "text"
	case want == "time.Duration":
		want = "a time such as 200ms or 5s"
	case strings.HasPrefix(want, "[]"):
		want = "a list"
	case strings.HasPrefix(want, "map["):
		want = "a mapping"
	}
	got := strings.ReplaceAll(match[2], "`", "\"")
	if got == "" {
		got = map[string]string{"!!seq": "a list", "!!map": "a mapping", "!!null": "nothing"}[match[1]]
	}
	return "want " + want + ", got " + got
}
