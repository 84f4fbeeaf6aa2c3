package link_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/linktest"
)

// A tracer reads a trace piece by piece.
type tracer struct {
	*link.Trace
	ready []link.Piece
}

func startTrace(t *testing.T, l *link.Line) *tracer {
	t.Helper()
	trace, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	return &tracer{Trace: trace}
}

// next returns the next piece without its time.
func next(t *testing.T, tr *tracer) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for len(tr.ready) == 0 {
		var err error
		if tr.ready, err = tr.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	text := string(tr.ready[0].AppendText(nil))
	tr.ready = tr.ready[1:]
	remark, line := "", text
	if strings.HasPrefix(text, "#") {
		i := strings.IndexByte(text, '\n')
		remark, line = text[:i+1], text[i+1:]
	}
	_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	return remark + rest
}

func TestTraceOfASlowReaderIsBounded(t *testing.T) {
	l, _, dev := pipeLine(t, linktest.Faults{})
	slow, quick := startTrace(t, l), startTrace(t, l)
	defer slow.Close()
	defer quick.Close()
	chunk := strings.Repeat("x", 4096)
	const chunks = 300 // more than a trace keeps
	for range chunks {
		mustWrite(t, dev, chunk)
		for got := 0; got < len(chunk); {
			text := next(t, quick)
			got += len(text) - len(`in  ""`)
		}
	}
	kept := 0
	pieces, err := slow.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		kept += len(p.Bytes)
	}
	if kept > 1<<20 || kept < 1<<19 {
		t.Errorf("kept %d bytes", kept)
	}
	mustWrite(t, dev, "y")
	pieces, err = slow.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lost := pieces[0].Lost; lost != chunks*len(chunk)-kept || string(pieces[0].Bytes) != "y" {
		t.Errorf("lost %d of %d, kept %d, then %q", lost, chunks*len(chunk), kept, pieces[0].Bytes)
	}
	if text := string(pieces[0].AppendText(nil)); !strings.HasPrefix(text, "# ") || !strings.Contains(text, "bytes are missing here") {
		t.Errorf("the loss is not told: %s", text)
	}
}

func TestTracesOfALineAreCounted(t *testing.T) {
	l := link.NewLine("line1", link.TCP{Address: "127.0.0.1:1"})
	var all []*link.Trace
	for {
		trace, err := l.Trace()
		if errors.Is(err, link.ErrTraced) {
			break
		}
		all = append(all, trace)
		if n := l.Counters().Traces; n != len(all) || n > 100 {
			t.Fatalf("%d traces are counted as %d", len(all), n)
		}
	}
	for _, trace := range all {
		trace.Close()
		trace.Close()
	}
	if n := l.Counters().Traces; n != 0 {
		t.Errorf("%d traces are left", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all[0].Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a trace with a context that ended: %v", err)
	}
}

func TestTraceText(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)
	pieces := []link.Piece{
		{Direction: link.Out, At: at, Bytes: []byte("S01=33\r\n")},
		{Direction: link.Out, At: at.Add(4 * time.Microsecond), Bytes: []byte("T?\r\n")},
		{Direction: link.In, At: at.Add(12 * time.Millisecond), Bytes: []byte("21.5\xb0C \"\\\r\n")},
		{Direction: link.In, At: at.Add(time.Second), Bytes: every},
	}
	text := []byte("# trace of line1\n")
	for i := range pieces {
		text = pieces[i].AppendText(text)
	}
	const golden = "testdata/trace.txt"
	want, err := os.ReadFile(golden)
	if err != nil || string(text) != string(want) {
		t.Errorf("got\n%swant\n%s%v", text, want, err)
	}
	back, err := link.ParseTrace(string(text))
	if err != nil || !reflect.DeepEqual(back, pieces) {
		t.Errorf("read back: %v %v", back, err)
	}
}

func TestMistakesInATraceAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"\nhello":                                 "line 2 of the trace",
		`2026-03-01T12:00:00.250000Z up "x"`:      "neither in nor out",
		`2026-03-01T12:00:00.250000Z out x`:       "do not stand in quotes",
		`2026-03-01T12:00:00.250000Z out "x" "y"`: "do not stand in quotes",
	} {
		if _, err := link.ParseTrace(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("2026-03-01T12:00:00.250000Z out \"T?\\r\\n\"\n# a remark\n")
	f.Add("2026-03-01T12:00:00.250000Z in  \"\\xff\\u1234\"")
	f.Fuzz(func(t *testing.T, text string) {
		pieces, err := link.ParseTrace(text)
		if err != nil {
			return
		}
		var written []byte
		for i := range pieces {
			written = pieces[i].AppendText(written)
		}
		again, err := link.ParseTrace(string(written))
		if err != nil || !reflect.DeepEqual(again, pieces) {
			t.Errorf("%q became %q: %v", text, written, err)
		}
	})
}
