package cawire

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew; read the difference before you keep it")

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
		for i := range min(len(g), len(w)) {
			if !bytes.Equal(g[i], w[i]) {
				t.Fatalf("%s:%d\n got %s\nwant %s", path, i+1, g[i], w[i])
			}
		}
		t.Fatalf("%s: %d lines, want %d", path, len(g), len(w))
	}
}

// TestTracesOfCaptures pins what a trace looks like, and with it what every
// captured message says.
func TestTracesOfCaptures(t *testing.T) {
	for _, path := range captureFiles(t) {
		t.Run(captureName(path), func(t *testing.T) {
			var out []byte
			all, broken := frames(t, readCapture(t, path))
			for _, c := range all {
				out = append(append(out, c.conn...), ' ')
				out = append(AppendTrace(out, c.frame, c.from, c.on), '\n')
			}
			if len(broken) > 0 && captureName(path) != "softioc-raw" {
				t.Errorf("broken streams: %v", broken)
			}
			golden(t, "testdata/traces/"+captureName(path)+".txt", out)
		})
	}
}
