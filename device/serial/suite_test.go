package serial_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/device/serial"
)

// A bath is an instrument that outlives its cable: each plug is another
// pseudo-terminal behind the same name.
type bath struct {
	t    *testing.T
	port string // the name that stays

	// These belong to the test's goroutine. The instrument holds a lock while it
	// answers, so what answer uses has a lock of its own.
	pair   *pty.Pair
	now    *devicetest.Instrument
	silent bool

	mu     sync.Mutex
	target string
	writes int
}

func (b *bath) plug() {
	pair, err := pty.Open()
	if err != nil {
		b.t.Fatal(err)
	}
	b.pair = pair
	b.now = devicetest.StartInstrument(b.t, pair, devicetest.Line{RequestEnd: "\r\n", ReplyEnd: "\r\n"})
	b.now.SetSilent(b.silent)
	b.now.Handle(b.answer)
	if err := pty.Link(pair.Path, b.port); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bath) answer(request string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case request == "T?":
		return "T=" + b.target, true
	case request == "T=500.0":
		return "ERR 3", true
	case strings.HasPrefix(request, "T="):
		b.target = request[2:]
		b.writes++
		return "OK", true
	}
	return "", false
}

func (b *bath) cut() {
	if err := b.pair.Unplug(); err != nil {
		b.t.Error(err)
	}
}

func (b *bath) setSilent(silent bool) {
	b.silent = silent
	b.now.SetSilent(silent)
}

func (b *bath) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writes
}

func TestSuite(t *testing.T) {
	if pair, err := pty.Open(); err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatalf("no pseudo-terminals here: %v", err)
		}
		t.Skipf("no pseudo-terminals here: %v", err)
	} else if err := pair.Close(); err != nil {
		t.Fatal(err)
	}
	devicetest.Run(t, func(t *testing.T) *devicetest.Rig {
		t.Helper()
		b := &bath{t: t, port: filepath.Join(t.TempDir(), "port"), target: "20.0"}
		b.plug()
		line := link.NewLine("line1", link.Serial{Path: b.port})
		ctx, cancel := context.WithCancel(context.Background())
		var served sync.WaitGroup
		served.Go(func() { _ = line.Serve(ctx) })
		t.Cleanup(func() {
			cancel()
			served.Wait()
		})
		d, err := serial.New("bath", decode(t, head+`
refusals: ["ERR %*d"]
attributes:
  target: {kind: float64, access: rw, read: "T?", reply: "T=%f", write: "T=%.1f", write_reply: "OK", poll: 20ms}
  door: {kind: bool, listen: "door %d"}
`), line, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		return &devicetest.Rig{
			Name: "bath", Driver: d,
			Reads:     map[gateway.Path]gateway.Value{"bath.target": gateway.Of(20.0)},
			Put:       gateway.PutRequest{Path: "bath.target", Value: gateway.Of(25.0)},
			Refused:   &gateway.PutRequest{Path: "bath.target", Value: gateway.Of(500.0)},
			Writes:    b.written,
			SetSilent: b.setSilent,
			Cut:       b.cut,
			Mend:      b.plug,
			Speak: func() (gateway.Path, gateway.Value) {
				if err := b.now.Send("door 1\r\n"); err != nil {
					t.Error(err)
				}
				return "bath.door", gateway.Of(true)
			},
		}
	})
}
