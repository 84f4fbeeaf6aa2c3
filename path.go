package gateway

import (
	"fmt"
	"strings"
)

// MaxPathLength is the longest full name of an attribute, in bytes.
const MaxPathLength = 200

// A Path is the full name of an attribute or command: the device's name and at
// least one further segment, joined with dots ("oven.r1.start"). Segments
// consist of A-Z, a-z, 0-9, '_' and '-'. Paths are case-sensitive.
type Path string

// ParsePath checks s and returns it as a Path. The error says what is wrong
// and has the kind KindMalformed.
func ParsePath(s string) (Path, error) {
	if len(s) > MaxPathLength {
		return "", Errorf(KindMalformed, "name of %d bytes is longer than %d", len(s), MaxPathLength)
	}
	segments := 0
	for rest, more := s, true; more; segments++ {
		var segment string
		segment, rest, more = strings.Cut(rest, ".")
		if err := CheckSegment(segment); err != nil {
			return "", Errorf(KindMalformed, "name %q: %v", Quotable(s), err)
		}
	}
	if segments < 2 {
		return "", Errorf(KindMalformed, "name %q has no device: want device.attribute", Quotable(s))
	}
	return Path(s), nil
}

// CheckSegment reports why s cannot be one segment of a path, or nil.
func CheckSegment(s string) error {
	if s == "" {
		return fmt.Errorf("a segment is empty")
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return fmt.Errorf("segment %q has %q; allowed are letters, digits, '_' and '-'", Quotable(s), s[i])
		}
	}
	return nil
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// Device returns the first segment: the name of the device.
func (p Path) Device() string {
	device, _, _ := strings.Cut(string(p), ".")
	return device
}

// Attribute returns what follows the device's name: "r1.start" of "oven.r1.start".
func (p Path) Attribute() string {
	_, attribute, _ := strings.Cut(string(p), ".")
	return attribute
}

// Quotable shortens text that came from outside, so that an error message or
// a log line that quotes it stays readable. It cuts between UTF-8 characters.
func Quotable(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "..."
}

// A Pattern selects paths: '*' stands for one segment, a trailing '>' for one
// or more further segments, as in NATS subjects. The zero Pattern matches nothing.
type Pattern struct {
	text string
}

// MatchAll is the pattern that every path matches.
var MatchAll = Pattern{text: ">"}

// ParsePattern checks s. The error has the kind KindMalformed.
func ParsePattern(s string) (Pattern, error) {
	if len(s) > MaxPathLength {
		return Pattern{}, Errorf(KindMalformed, "pattern of %d bytes is longer than %d", len(s), MaxPathLength)
	}
	for rest, more := s, true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, ".")
		switch {
		case segment == "*":
		case segment == ">":
			if more {
				return Pattern{}, Errorf(KindMalformed, "pattern %q: '>' must be the last segment", Quotable(s))
			}
		default:
			if err := CheckSegment(segment); err != nil {
				return Pattern{}, Errorf(KindMalformed, "pattern %q: %v", Quotable(s), err)
			}
		}
	}
	return Pattern{text: s}, nil
}

// PatternOf returns the pattern that matches exactly p.
func PatternOf(p Path) Pattern { return Pattern{text: string(p)} }

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Exact returns the one path that the pattern can match, if it has no wildcard.
func (p Pattern) Exact() (Path, bool) {
	if p.text == "" || strings.ContainsAny(p.text, "*>") {
		return "", false
	}
	return Path(p.text), true
}

// Match reports whether path is selected. It does not allocate.
func (p Pattern) Match(path Path) bool {
	pattern, name := p.text, string(path)
	if pattern == "" || name == "" {
		return false
	}
	for {
		want, restPattern, morePattern := strings.Cut(pattern, ".")
		if want == ">" {
			return true
		}
		have, restName, moreName := strings.Cut(name, ".")
		if want != "*" && want != have {
			return false
		}
		if !morePattern || !moreName {
			return morePattern == moreName
		}
		pattern, name = restPattern, restName
	}
}
