package sim_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/sim"
)

const savedTrace = `# trace of line1
2026-03-01T12:00:00.000000Z in  "noise"
2026-03-01T12:00:00.100000Z out "S=1"
2026-03-01T12:00:00.200000Z out "S?"
2026-03-01T12:00:00.300000Z in  "1"
2026-03-01T12:00:00.310000Z in  "\r\n"
2026-03-01T12:00:00.400000Z out "S?"
2026-03-01T12:00:00.500000Z in  "2\r\n"
2026-03-01T12:00:00.600000Z out "S?X"
2026-03-01T12:00:00.700000Z in  "3\r\n"
`

func TestReplayOfASavedTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "line1.trace")
	if err := os.WriteFile(name, []byte(savedTrace), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := sim.NewReplayOpener(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(o.String(), "simulated replay of ") {
		t.Errorf("it is called %s", o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	port, err := o.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	for _, step := range []struct{ say, want string }{
		{"S=1S?", "1\r\n"}, // two requests at once
		{"S?", "2\r\n"},
		{"S?", "1\r\n"}, // the first again
		{"S?X", "3\r\n"},
	} {
		write(t, port, step.say)
		read(t, port, step.want)
	}
}

func TestWhatCannotBeReplayed(t *testing.T) {
	for text, want := range map[string]string{
		"": "no request",
		`2026-03-01T12:00:00.000000Z in  "noise"`: "no request",
		"hello": "line 1",
	} {
		name := filepath.Join(t.TempDir(), "line1.trace")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sim.NewReplayOpener(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := sim.NewReplayOpener(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is replayed")
	}
}
