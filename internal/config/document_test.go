package config_test

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway/internal/config"
)

type link struct {
	Port  string        `yaml:"port"`
	Baud  int           `yaml:"baud"`
	Poll  time.Duration `yaml:"poll"`
	Reply time.Duration `yaml:"reply_timeout"`
	On    bool          `yaml:"on"`
	List  []int         `yaml:"list"`
	State []state       `yaml:"states"`
}

type state struct {
	Label string `yaml:"label"`
	Raw   string `yaml:"raw"`
}

// UnmarshalYAML also takes a plain label.
func (s *state) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		s.Label = node.Value
		return nil
	}
	type plain state
	return node.Load((*plain)(s))
}

func TestEveryMistakeIsReportedAtItsPlace(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"fine", "a: {port: /dev/x, baud: 9600, poll: 200ms, states: [Off, {label: On, raw: '1'}]}", nil},
		{"empty", "", nil},
		{"comment only", "# nothing\n", nil},
		{"unknown keys with what was meant", "a:\n  prot: x\n  timeout: 1s\n  zzz: 1\n", []string{
			`f.yaml:2:3: unknown key "prot"; did you mean "port"?`,
			`f.yaml:3:3: unknown key "timeout"; did you mean "reply_timeout"?`,
			`f.yaml:4:3: unknown key "zzz"`,
		}},
		{"below a type with several forms", "a:\n  states: [Off, {label: On, rwa: 1}]\n", []string{
			`f.yaml:2:29: unknown key "rwa"; did you mean "raw"?`,
		}},
		{"wrong types, all at once", "a:\n  baud: fast\n  poll: 5x\n  on: maybe\n  list: 3\n  port: [1]\n", []string{
			`f.yaml:2:9: want a whole number, got "fast"`,
			`f.yaml:3:9: want a time such as 200ms or 5s, got "5x"`,
			`f.yaml:4:7: want true or false, got "maybe"`,
			`f.yaml:5:9: want a list, got "3"`,
			`f.yaml:6:9: want text, got a list`,
		}},
		{"repeated key beside another mistake", "a:\n  baud: 1\n  baud: 2\n  poll: x\n", []string{
			`f.yaml:3:3: key "baud" is already set in line 2`,
			`f.yaml:4:9: want a time such as 200ms or 5s, got "x"`,
		}},
		{"merged", "b: &b {prot: x, baud: 1, baud: 2}\na:\n  <<: *b\n  buad: 1\n", []string{
			`f.yaml:1:8: unknown key "prot"; did you mean "port"?`,
			`f.yaml:1:26: key "baud" is already set in line 1`,
			`f.yaml:4:3: unknown key "buad"; did you mean "baud"?`,
		}},
		{"merged with what is no mapping", "a: {<<: 3}\n", []string{`f.yaml:1:9: map merge requires map or sequence of maps as the value`}},
		{"merged with itself", "a: &a {<<: *a, port: p}\n", []string{`f.yaml:1:12: merge-key: cyclic merge alias`}},
		{"not a mapping", "a: 3\n", []string{`f.yaml:1:4: want a mapping of settings here, got "3"`}},
		{"syntax", "a: [1\nb: 2", []string{`f.yaml:2:2: did not find expected ',' or ']'`}},
		{"a list at the top", "- a\n", []string{`f.yaml:1:1: want keys such as "links:" and "devices:" here, got a list`}},
		{"two documents", "a: {}\n---\nb: {}\n", []string{`f.yaml:2:1: a second YAML document begins here; only one is read`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			document := config.Parse("f.yaml", []byte(test.text))
			var into link
			document.Decode(&into, []string{"a"})
			got := ""
			if err := document.Err(); err != nil {
				got = err.Error()
			}
			if want := strings.Join(test.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDefaultsStayWhereTheFileIsSilent(t *testing.T) {
	into := link{Baud: 9600, Port: "p"}
	document := config.Parse("f.yaml", []byte("a: {port: q}"))
	document.Decode(&into, []string{"a"})
	if into.Baud != 9600 || into.Port != "q" || document.Err() != nil {
		t.Errorf("got %+v, %v", into, document.Err())
	}
}

func TestProblemsOfPartsFindTheirPlace(t *testing.T) {
	document := config.Parse("f.yaml", []byte("devices:\n  oven:\n    attributes:\n      power: {reply: '%q', list: [1, 2]}\n"))
	document.Problem([]string{"devices", "oven", "attributes", "power", "reply"}, "bad format")
	document.ProblemAt([]string{"devices", "oven", "attributes", "power", "reply"}, 1, "bad converter")
	document.Problem([]string{"devices", "oven", "attributes", "power", "kind"}, "kind is missing")
	document.Problem([]string{"devices", "oven", "attributes", "power", "list", "1"}, "second element")
	document.Problem([]string{"links"}, "no links")
	want := strings.Join([]string{
		"f.yaml:1:1: no links",
		"f.yaml:4:7: kind is missing",
		"f.yaml:4:22: bad format",
		"f.yaml:4:24: bad converter",
		"f.yaml:4:38: second element",
	}, "\n")
	if got := document.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestKeysKeepTheOrderOfTheFile(t *testing.T) {
	document := config.Parse("f.yaml", []byte("devices: {b: {}, a: {}}"))
	if got := strings.Join(document.Keys("devices"), " "); got != "b a" {
		t.Errorf("got %s", got)
	}
	if document.Keys("links") != nil || document.Has("links") || !document.Has("devices", "b") {
		t.Error("what is not in the file is found, or the other way round")
	}
}

func TestMergedKeysCountWhereTheMappingHasNoneOfItsOwn(t *testing.T) {
	document := config.Parse("f.yaml", []byte(`
links:
  one: &one {port: p, baud: 9600, poll: 1s}
  two: &two {<<: *one, baud: 115200, list: [1]}
  three: {<<: [*two, {baud: 1, reply_timeout: 2s}], on: true, poll: 3s}
  four: &four {<<: *four, port: q}
more:
  <<: {five: {port: r}, six: {}}
  six: {<<: {port: s}}
`))
	if got := strings.Join(document.Keys("more"), " "); got != "six five" {
		t.Errorf("keys %s", got)
	}
	for path, want := range map[string]string{"links three port": "p", "links three baud": "115200", "links three poll": "3s", "more five port": "r", "more six port": "s", "links one list": ""} {
		if got := document.Text(strings.Fields(path)...); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	var three link
	document.Decode(&three, []string{"links", "three"})
	if three.Port != "p" || three.Baud != 115200 || three.Poll != 3*time.Second || three.Reply != 2*time.Second || !three.On || len(three.List) != 1 {
		t.Errorf("decoded %+v", three)
	}
	if err := document.Err(); err != nil {
		t.Error(err)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte("a: {port: /dev/x, baud: 9600, states: [Off, {label: On}]}"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("a: {<<: {b: 1}}\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		document := config.Parse("f.yaml", data)
		var into link
		document.Decode(&into, []string{"a"})
		document.Problem([]string{"a", "states", "0"}, "x")
		if document.Err() == nil {
			t.Error("a reported problem got lost")
		}
	})
}
