package describe

import (
	"fmt"
	"strings"

	"github.com/polygate/gateway/internal/nearest"
)

// A Problem is one mistake in a device's configuration.
type Problem struct {
	// Path leads to the offending key, from the device's own node on, such as
	// attributes, ramp_rate, reply. List items are their index from 0.
	Path []string
	Msg  string
	// Offset is the place in the key's text where that is known, in bytes
	// from its start, and otherwise 0.
	Offset int
	// Warning says that the configuration works but is probably not meant so.
	Warning bool
}

// String writes the problem in one line, its path first.
func (p Problem) String() string {
	at := ""
	if p.Offset > 0 {
		at = fmt.Sprintf(" at byte %d", p.Offset)
	}
	word := ""
	if p.Warning {
		word = "warning: "
	}
	return strings.Join(p.Path, ".") + at + ": " + word + p.Msg
}

// A Place is a key in the configuration, to which problems are reported. The
// zero Place drops them.
type Place struct {
	path []string
	list *[]Problem
}

// Root returns the place that stands for the device itself; problems are
// appended to list.
func Root(list *[]Problem) Place { return Place{list: list} }

// In returns the place of a key below p.
func (p Place) In(keys ...string) Place {
	path := make([]string, 0, len(p.path)+len(keys))
	return Place{path: append(append(path, p.path...), keys...), list: p.list}
}

// Errorf reports a mistake.
func (p Place) Errorf(format string, args ...any) { p.report(0, false, format, args) }

// ErrorAt reports a mistake at an offset in the key's text.
func (p Place) ErrorAt(offset int, format string, args ...any) { p.report(offset, false, format, args) }

// Warnf reports what is probably a mistake.
func (p Place) Warnf(format string, args ...any) { p.report(0, true, format, args) }

// WarnAt is Warnf at an offset in the key's text.
func (p Place) WarnAt(offset int, format string, args ...any) { p.report(offset, true, format, args) }

func (p Place) report(offset int, warning bool, format string, args []any) {
	if p.list == nil {
		return
	}
	*p.list = append(*p.list, Problem{Path: p.path, Msg: fmt.Sprintf(format, args...), Offset: offset, Warning: warning})
}

// DidYouMean returns ": did you mean X?" if one of the candidates is so near
// to word that it was probably meant, and "" otherwise.
func DidYouMean(word string, candidates []string) string {
	near := nearest.Of(word, candidates)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", near)
}
