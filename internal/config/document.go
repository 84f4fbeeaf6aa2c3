// Package config reads the configuration file strictly: every mistake in it is
// reported at once, with its line and column and, where a key was mistyped,
// with the key that was probably meant. What the keys mean is the business of
// the parts, each of which owns its own Config type; this package only decodes
// into those types and turns a part's complaint about a key into a place in
// the file.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// MaxFileSize is the largest configuration file that is read, in bytes. It is
// far above any real one and keeps a wrong path from filling the memory.
const MaxFileSize = 16 << 20

// A Problem is one mistake in the file. Line and Column count from 1; they are 0
// for a mistake that has no place.
type Problem struct {
	File         string
	Line, Column int
	Message      string
}

// String returns "file:line:column: message".
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Errors is the error that carries all problems of a file, in the order of the file.
type Errors []Problem

// Error returns one line a problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// A Document is a parsed file. It collects problems while it is decoded; ask
// Err when all parts have had their say.
type Document struct {
	name     string
	root     *yaml.Node // the mapping at the top, nil in an empty file
	problems []Problem
}

// ReadFile parses a file. Its own errors are about the file as such; mistakes
// in the text are problems of the document.
func ReadFile(name string) (*Document, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(data) > MaxFileSize {
		return nil, fmt.Errorf("reading the configuration: %s is larger than %d bytes", name, MaxFileSize)
	}
	return Parse(name, data), nil
}

// Parse parses the text of a file; name is for messages.
func Parse(name string, data []byte) *Document {
	d := &Document{name: name}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		d.addLoadError(err)
		return d
	}
	var top yaml.Node
	switch err := loader.Load(&top); {
	case errors.Is(err, io.EOF):
		return d
	case err != nil:
		d.addLoadError(err)
		return d
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		d.addAt(&second, "a second YAML document begins here; only one is read")
	}
	root := resolve(&top)
	switch {
	case root == nil || root.Kind == yaml.ScalarNode && root.Value == "":
	case root.Kind != yaml.MappingNode:
		d.addAt(root, "want keys such as \"links:\" and \"devices:\" here, got %s", nodeName(root))
	default:
		d.root = root
	}
	return d
}

// Err returns all problems as an Errors, sorted by place, or nil.
func (d *Document) Err() error {
	if len(d.problems) == 0 {
		return nil
	}
	problems := slices.Clone(d.problems)
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return Errors(slices.Compact(problems))
}

// Problems returns how many mistakes were found so far.
func (d *Document) Problems() int { return len(d.problems) }

// Has reports whether there is something at path.
func (d *Document) Has(path ...string) bool {
	_, found := d.find(path)
	return found
}

// Keys returns the keys of the mapping at path in the order of the file. What
// is there and no mapping is a problem.
func (d *Document) Keys(path ...string) []string {
	node, found := d.find(path)
	if !found || isNull(node) {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		d.addAt(node, "want names with their settings here, such as \"name: {...}\", got %s", nodeName(node))
		return nil
	}
	keys := make([]string, 0, len(node.Content)/2)
	for _, m := range withMerged(node) {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i].Value; key != mergeKey && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Text returns the scalar at path, empty if there is none.
func (d *Document) Text(path ...string) string {
	node, found := d.find(path)
	if !found || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}

// Decode decodes what is at path strictly into the struct that into points to;
// fields that the file does not name keep their values. Keys that the struct
// does not have, except those in others, are problems.
func (d *Document) Decode(into any, path []string, others ...string) {
	node, found := d.find(path)
	if !found || isNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.addAt(node, "want a mapping of settings here, got %s", nodeName(node))
		return
	}
	d.checkKeys(node, reflect.TypeOf(into).Elem(), others)
	plain := withoutDuplicates(node)
	if err := plain.Load(into, yaml.WithUniqueKeys(false)); err != nil {
		d.addLoadError(err)
	}
}

// Problem reports a mistake at path. A path that leads beyond what the file
// has is reported at the last key that it does have.
func (d *Document) Problem(path []string, format string, args ...any) {
	d.ProblemAt(path, 0, format, args...)
}

// ProblemAt is Problem for a mistake offset bytes into the text at path.
func (d *Document) ProblemAt(path []string, offset int, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	node := d.nearest(path)
	if node == nil {
		d.problems = append(d.problems, Problem{File: d.name, Message: message})
		return
	}
	column := node.Column
	if offset > 0 && node.Kind == yaml.ScalarNode {
		// Escapes in double quotes make the column an estimate; the line is right.
		if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			column++
		}
		column += offset
	}
	d.problems = append(d.problems, Problem{File: d.name, Line: node.Line, Column: column, Message: message})
}

func (d *Document) addAt(node *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.name, Line: node.Line, Column: node.Column, Message: fmt.Sprintf(format, args...)})
}

func (d *Document) addLoadError(err error) {
	var all *yaml.LoadErrors
	if errors.As(err, &all) {
		for _, e := range all.Errors {
			d.addMark(e)
		}
		return
	}
	var one *yaml.LoadError
	if errors.As(err, &one) {
		d.addMark(one)
		return
	}
	d.problems = append(d.problems, Problem{File: d.name, Message: err.Error()})
}

func (d *Document) addMark(e *yaml.LoadError) {
	d.problems = append(d.problems, Problem{File: d.name, Line: e.Mark.Line, Column: e.Mark.Column, Message: readable(e.Message)})
}
