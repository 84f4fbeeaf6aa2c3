package gateway_test

import (
	"strings"
	"testing"

	"github.com/polygate/gateway"
)

func TestParsePathAcceptsOnlyDottedSegments(t *testing.T) {
	tests := []struct {
		in      string
		message string // part of the error; empty if the path is good
	}{
		{"oven.ramp_rate", ""},
		{"oven.r1.start", ""},
		{"OVEN-2.Temp_1", ""},
		{strings.Repeat("a", 198) + ".b", ""},
		{"", "a segment is empty"},
		{"oven", "has no device"},
		{"oven.", "a segment is empty"},
		{".start", "a segment is empty"},
		{"oven..start", "a segment is empty"},
		{"oven.r1/start", "'/'"},
		{"oven.r 1", "' '"},
		{"oven.*", "'*'"},
		{"oven.>", "'>'"},
		{"oven.µ", "'Â'"},
		{"oven.a\x00", `'\x00'`},
		{strings.Repeat("a", 199) + ".b", "longer than 200"},
	}
	for _, test := range tests {
		path, err := gateway.ParsePath(test.in)
		if test.message == "" {
			if err != nil || string(path) != test.in {
				t.Errorf("ParsePath(%q) = %q, %v; want it accepted", test.in, path, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.message) || gateway.KindOf(err) != gateway.KindMalformed {
			t.Errorf("ParsePath(%q): error %v; want one of kind malformed with %q", test.in, err, test.message)
		}
	}
}

func TestPathSplitsAtTheDevice(t *testing.T) {
	path := gateway.Path("oven.r1.start")
	if path.Device() != "oven" || path.Attribute() != "r1.start" {
		t.Errorf("got %q and %q", path.Device(), path.Attribute())
	}
}

func TestPatternMatchesLikeNATSSubjects(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"oven.r1.start", "oven.r1.start", true},
		{"oven.r1.start", "oven.r1.end", false},
		{"oven.r1.start", "oven.r1", false},
		{"oven.r1", "oven.r1.start", false},
		{"oven.*", "oven.power", true},
		{"oven.*", "oven.r1.start", false},
		{"oven.*.start", "oven.r1.start", true},
		{"*.*.start", "oven.r1.start", true},
		{"oven.>", "oven.power", true},
		{"oven.>", "oven.r1.start", true},
		{"oven.>", "oven", false},
		{">", "oven.power", true},
		{"oven.r1.start.>", "oven.r1.start", false},
		{"Oven.>", "oven.power", false},
	}
	for _, test := range tests {
		pattern, err := gateway.ParsePattern(test.pattern)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", test.pattern, err)
			continue
		}
		if got := pattern.Match(gateway.Path(test.path)); got != test.want {
			t.Errorf("pattern %q, path %q: got %v, want %v", test.pattern, test.path, got, test.want)
		}
	}
	if (gateway.Pattern{}).Match("oven.power") {
		t.Error("the zero pattern matches something")
	}
}

func TestParsePatternRefusesMisplacedWildcards(t *testing.T) {
	for _, in := range []string{"", "oven.>.start", "oven.r*", "a..b", ".", strings.Repeat("a", 201)} {
		if _, err := gateway.ParsePattern(in); gateway.KindOf(err) != gateway.KindMalformed {
			t.Errorf("ParsePattern(%q): error %v; want kind malformed", in, err)
		}
	}
}

func TestExactPatternNamesItsPath(t *testing.T) {
	if path, ok := gateway.PatternOf("oven.power").Exact(); !ok || path != "oven.power" {
		t.Errorf("got %q, %v", path, ok)
	}
	if _, ok := gateway.MatchAll.Exact(); ok {
		t.Error("'>' names one path")
	}
}

func TestCursorSurvivesItsText(t *testing.T) {
	want := gateway.Cursor{Epoch: 1<<64 - 1, N: 12345}
	got, err := gateway.ParseCursor(want.String())
	if err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if got, err := gateway.ParseCursor(""); err != nil || got != (gateway.Cursor{}) {
		t.Errorf("the empty cursor: got %v, %v", got, err)
	}
	for _, in := range []string{"x", "0-1", "1", "1-", "1-!", "1-1-1", strings.Repeat("z", 100) + "-1"} {
		if _, err := gateway.ParseCursor(in); gateway.KindOf(err) != gateway.KindMalformed {
			t.Errorf("ParseCursor(%q): error %v; want kind malformed", in, err)
		}
	}
}

func TestNamesOfKindsSurviveTheirText(t *testing.T) {
	for _, kind := range gateway.ErrorKinds() {
		if got := gateway.ParseErrorKind(kind.String()); got != kind {
			t.Errorf("error kind %v comes back as %v", kind, got)
		}
	}
	for _, name := range gateway.KindNames() {
		if kind, ok := gateway.ParseKind(name); !ok || kind.String() != name {
			t.Errorf("kind %q comes back as %v, %v", name, kind, ok)
		}
	}
	for s := gateway.NoAlarm; s <= gateway.Invalid; s++ {
		if got, ok := gateway.ParseSeverity(s.String()); !ok || got != s {
			t.Errorf("severity %v comes back as %v, %v", s, got, ok)
		}
	}
	for s := gateway.StatusNone; s <= gateway.StatusWriteAccess; s++ {
		if got, ok := gateway.ParseStatus(s.String()); !ok || got != s {
			t.Errorf("status %v comes back as %v, %v", s, got, ok)
		}
	}
}

func FuzzPathsAndPatterns(f *testing.F) {
	f.Add("oven.r1.start", "oven.*.start")
	f.Add("oven.power", ">")
	f.Add("a.b", "a.b.>")
	f.Fuzz(func(t *testing.T, name, text string) {
		path, pathErr := gateway.ParsePath(name)
		pattern, patternErr := gateway.ParsePattern(text)
		if pathErr != nil || patternErr != nil {
			return
		}
		if got, want := pattern.Match(path), matchBySegments(text, name); got != want {
			t.Errorf("pattern %q, path %q: got %v, want %v", text, name, got, want)
		}
		if !gateway.PatternOf(path).Match(path) {
			t.Errorf("%q does not match itself", name)
		}
	})
}

// matchBySegments is the rule written the slow way.
func matchBySegments(pattern, name string) bool {
	want, have := strings.Split(pattern, "."), strings.Split(name, ".")
	if last := len(want) - 1; want[last] == ">" {
		if len(have) <= last {
			return false
		}
		want, have = want[:last], have[:last]
	}
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != have[i] {
			return false
		}
	}
	return true
}
