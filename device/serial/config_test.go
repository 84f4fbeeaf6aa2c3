package serial_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/serial"
	"github.com/polygate/gateway/internal/config"
)

var update = flag.Bool("update", false, "rewrite the expected problems in testdata/cases")

// TestCases reads each directory's config.yaml as a device and compares all
// that is wrong with it, with line and column, with the file problems. A
// configuration without a mistake has none.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*/config.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(problems(text), "\n")
			if got != "" {
				got += "\n"
			}
			wanted := filepath.Join(filepath.Dir(file), "problems")
			if *update {
				if err := os.WriteFile(wanted, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(wanted)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// problems returns what is wrong with a device's file, in the order of its lines.
func problems(text []byte) []string {
	indented := "devices:\n  dev:\n    " + strings.ReplaceAll(string(text), "\n", "\n    ")
	document := config.Parse("config.yaml", []byte(indented))
	at := []string{"devices", "dev"}
	var c serial.Config
	document.Decode(&c, at, "driver", "link")
	for _, p := range c.Check("dev") {
		msg := p.Msg
		if p.Warning {
			msg = "warning: " + msg
		}
		document.ProblemAt(slices.Concat(at, p.Path), p.Offset, "%s", msg)
	}
	var lines []string
	var errs config.Errors
	if errors.As(document.Err(), &errs) {
		for _, p := range errs {
			// Without the two lines and four columns that were put around the device.
			lines = append(lines, fmt.Sprintf("%d:%d: %s", max(p.Line-2, 1), max(p.Column-4, 1), p.Message))
		}
	}
	return lines
}

func TestSD42EmptyTerminatorIsNotUnset(t *testing.T) {
	tests := []struct{ own, want string }{
		{"", "X?\r\n"},
		{`out_terminator: ""`, "X?"},
		{`out_terminator: ";"`, "X?;"},
		{`out_terminator: '\x03'`, "X?\x03"},
	}
	for _, test := range tests {
		t.Run(test.own, func(t *testing.T) {
			r := wire(t, limit, head+test.own+"\nattributes:\n  x: {kind: float64, access: w, write: \"X?\"}\n")
			r.connect()
			// Twice, so that the end of the first shows.
			expect(t, r.put("x", "1"), "acknowledged")
			expect(t, r.put("x", "1"), "acknowledged")
			got := make([]byte, 2*len(test.want))
			if err := r.pair.SetReadDeadline(time.Now().Add(limit)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r.pair, got); err != nil {
				t.Fatal(err)
			}
			expect(t, string(got), test.want+test.want)
		})
	}
}

func TestModelOfTheExample(t *testing.T) {
	text, err := os.ReadFile("testdata/cases/everything/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var withoutOthers []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "driver:") && !strings.HasPrefix(line, "link:") {
			withoutOthers = append(withoutOthers, line)
		}
	}
	r := plug(t, strings.Join(withoutOthers, "\n"))
	all := r.model.Attributes[r.index["all"]]
	if all.Access != gateway.AccessReadWrite || all.Units != "V" || !all.Always || all.Annotations["ca.name"] != "A:B" ||
		all.Alarm.Low.Severity != gateway.Major || all.Alarm.High.Severity != gateway.Minor || all.Control.High.Value != 10 {
		t.Errorf("got %+v", all)
	}
	if v := r.model.Attributes[r.index["ch2.v"]]; v.Description != "Channel 2" || v.Annotations["ca.name"] != "CH2" {
		t.Errorf("got %+v", v)
	}
	if low := r.model.Attributes[r.index["low"]]; low.Poll.Seconds() != 2 {
		t.Errorf("an attribute of a query has period %v, want that of the query", low.Poll)
	}
	if mode := r.model.Attributes[r.index["mode"]]; mode.States[1] != (gateway.State{Label: "B", Raw: "2", Severity: gateway.Minor}) {
		t.Errorf("got %+v", mode.States)
	}
	if r.model.Info.Annotations["ca.prefix"] != "DEV" {
		t.Errorf("got %+v", r.model.Info)
	}
	run := r.model.Attributes[r.index["go"]]
	if !run.IsCommand() || run.Argument.Kind != gateway.Int32 || run.Result.Kind != gateway.Float64 {
		t.Errorf("got %+v", run)
	}
}

func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/cases/*/config.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var c serial.Config
		if yaml.Load(text, &c) != nil {
			return
		}
		for _, p := range c.Check("dev") {
			if p.Msg == "" || p.Offset < 0 {
				t.Errorf("a problem without words or with an impossible place: %+v", p)
			}
		}
		if i, _ := serial.NewInstrument("dev", c, 1); i != nil {
			for request := range strings.FieldsSeq(string(text)) {
				i.Handle(time.Unix(1, 0), request)
			}
		}
	})
}
