// Package ca is the Channel Access frontend: it serves attributes as EPICS
// process variables.
package ca

import (
	"fmt"
	"strings"

	"github.com/polygate/gateway"
)

// MaxName is the longest name of a process variable, in bytes (epics-base
// PVNAME_STRINGSZ is 61 with the terminating zero).
const MaxName = 60

// ReadbackSuffix ends the name of an rw attribute's readback.
const ReadbackSuffix = "_RBV"

// Enums on the wire (epics-base db_access.h: MAX_ENUM_STATES, MAX_ENUM_STRING_SIZE
// is 26 with the terminating zero). An enum with more states is served as text.
const (
	maxStates = 16
	maxLabel  = 25
)

// The annotations by which a device's configuration names its process variables.
const (
	AnnotationName   = "ca.name"   // of an attribute: its whole name, without the suffix
	AnnotationPrefix = "ca.prefix" // of a device: what stands before the colon
)

// Names are the process variables of one attribute; empty where it has none.
type Names struct {
	Setpoint string // of an rw or w attribute or a command
	Readback string
}

// NamesOf returns the names under which an attribute of a device with these
// annotations is served.
func NamesOf(d *gateway.Descriptor, device map[string]string) Names {
	name := d.Annotations[AnnotationName]
	if name == "" {
		name = defaultName(d.Path, device[AnnotationPrefix])
	}
	return namesFrom(name, d)
}

// namesFrom returns the names that d has if it goes by name.
func namesFrom(name string, d *gateway.Descriptor) Names {
	switch {
	case d.CanRead() && d.CanWrite():
		return Names{Setpoint: name, Readback: name + ReadbackSuffix}
	case d.CanRead():
		return Names{Readback: name}
	default:
		return Names{Setpoint: name}
	}
}

// defaultName is the prefix (or the device's name in upper case) and the
// segments in camel case, joined with colons.
func defaultName(path gateway.Path, prefix string) string {
	if prefix == "" {
		prefix = strings.ToUpper(path.Device())
	}
	name := []byte(prefix)
	for segment := range strings.SplitSeq(path.Attribute(), ".") {
		name = append(name, ':')
		name = appendCamel(name, segment)
	}
	return string(name)
}

// appendCamel writes the first letter of every part between '_' or '-' in upper
// case and drops the separators, except between two digits: temp_1_1 is Temp1_1.
func appendCamel(dst []byte, segment string) []byte {
	first := true
	for i := range len(segment) {
		c := segment[i]
		if c == '_' || c == '-' {
			if i > 0 && i+1 < len(segment) && isDigit(segment[i-1]) && isDigit(segment[i+1]) {
				dst = append(dst, c)
			}
			first = true
			continue
		}
		if first && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		first = false
		dst = append(dst, c)
	}
	return dst
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// A Problem is something that Channel Access cannot carry.
type Problem struct {
	Path gateway.Path
	Msg  string
}

// Check reports what cannot be served: names that are too long or that two
// attributes share, and labels that do not fit. Devices are by their name, with
// their annotations.
func Check(descriptors []*gateway.Descriptor, devices map[string]map[string]string) []Problem {
	var problems []Problem
	owners := map[string]gateway.Path{}
	for _, d := range descriptors {
		complain := func(format string, args ...any) {
			problems = append(problems, Problem{Path: d.Path, Msg: fmt.Sprintf(format, args...)})
		}
		names, shared := NamesOf(d, devices[d.Path.Device()]), false
		for _, name := range []string{names.Setpoint, names.Readback} {
			if name == "" {
				continue
			}
			if len(name) > MaxName {
				complain("its PV name %s has %d characters, at most %d are possible; set ca.name", name, len(name), MaxName)
			}
			if owner, taken := owners[name]; !taken {
				owners[name] = d.Path
			} else if !shared { // once for both roles
				shared = true
				complain("its PV name %s is also that of %s; set ca.name on one of them", name, owner)
			}
		}
		if len(d.States) <= maxStates {
			for _, s := range d.States {
				if len(s.Label) > maxLabel {
					complain("the label %q has %d bytes, Channel Access carries %d", s.Label, len(s.Label), maxLabel)
				}
			}
		}
	}
	return problems
}
