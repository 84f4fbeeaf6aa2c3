package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/internal/config"
)

// simulatedExample is a file of deploy/examples, with its instruments simulated.
func simulatedExample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return local + regexp.MustCompile(`(?m)^  line1: \{.*$`).ReplaceAllLiteralString(string(text), "  line1: {sim: devices}")
}

func TestAnExampleRunsWithItsInstrumentSimulated(t *testing.T) {
	tests := []struct {
		file, attribute, put, want string
	}{
		{"lakeshore336.yaml", "cryo.output1.setpoint", "77.35", "77.35"},
		{"lakeshore336.yaml", "cryo.inputA.name", `"cold plate"`, "cold plate"},
		{"keithley2400.yaml", "smu.voltage_level", "1.5", "1.5"},
		{"sc10.yaml", "shutter.mode", "Repeat", "Repeat"},
		{"genesys.yaml", "magnet1.voltage_setting", "12.5", "12.5"},
		{"julabo.yaml", "bath.setpoint", "30", "30"},
	}
	for _, test := range tests {
		t.Run(test.attribute, func(t *testing.T) {
			p := start(t, simulatedExample(t, test.file))
			at := p.rest(t) + "/attributes/" + test.attribute
			eventually(t, at, func(r reading) bool { return r.Time != "" && r.Alarm.Severity == "NO_ALARM" })
			status, answer, text := request(t, http.MethodPut, at, test.put)
			if status != http.StatusOK || answer.Stage != "verified" || plain(answer.Value) != test.want {
				t.Errorf("put: %d %s", status, text)
			}
		})
	}
}

func TestASavedTraceIsReplayed(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "line1.trace")
	p := startProcess(t, withOps+demoDevice)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// By the second question the first was answered.
	out := &heard{want: `out "A01?\r\n"`, times: 2, then: cancel}
	if code := execute(ctx, []string{"watch", "--bytes", "line1", "--save", saved, "--ops", "http://" + p.ops.Addr().String()}, out, &bytes.Buffer{}); code != exitOK {
		t.Fatal(code, out)
	}
	again := start(t, local+strings.Replace(demoDevice, "{sim: temperature-controller}", "{replay: "+saved+"}", 1))
	eventually(t, again.rest(t)+"/attributes/demo.r1.actual", func(r reading) bool {
		return strings.HasPrefix(plain(r.Value), "20.0") || strings.HasPrefix(plain(r.Value), "19.9")
	})
}

func TestMistakesInSimulatedLinks(t *testing.T) {
	const device = `{driver: serial, link: line1, attributes: {v: {kind: int32, read: "V?", reply: "%d"}}, terminator: `
	tests := []struct{ file, want string }{
		{`links: {line1: {sim: devices}}
devices:
  a: ` + device + `"\r"}
  b: ` + device + `"\n"}`, "the same terminators"},
		{`links: {line1: {sim: devices, baud: 9600}}`, "need port or rfc2217"},
		{`links: {line1: {sim: nonesuch}}`, "no simulated instrument"},
		{`links: {line1: {replay: /nonesuch}}`, "no such file"},
		{`links: {line1: {replay: /nonesuch, sim: devices}}`, "exactly one"},
	}
	for _, test := range tests {
		if _, err := plan(config.Parse("test", []byte(test.file))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\ngot %v, want %q", test.file, err, test.want)
		}
	}
}
