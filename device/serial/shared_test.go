package serial_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/device/serial"
)

// TestSD01LateReplyOnASharedLine has two devices on one line, whose replies
// nothing tells apart.
func TestSD01LateReplyOnASharedLine(t *testing.T) {
	pair, err := pty.Open()
	if err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatalf("no pseudo-terminals here: %v", err)
		}
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	line := link.NewLine("line1", link.Serial{Path: pair.Path})
	var served sync.WaitGroup
	served.Go(func() { _ = line.Serve(ctx) })
	t.Cleanup(served.Wait)
	t.Cleanup(cancel)
	instrument := devicetest.StartInstrument(t, pair, devicetest.Line{RequestEnd: "\r\n", ReplyEnd: "\r\n"})
	instrument.Answer("1X?", "11")
	instrument.Answer("2X?", "22")

	var lines serial.Lines
	var rigs []*rig
	for _, address := range []string{"1", "2"} {
		d, err := lines.New("dev", decode(t, head+"address: "+address+`
attributes:
  x: {kind: int32, read: "{address}X?", reply: "%d", poll: 100ms}
`), line, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		rigs = append(rigs, (&rig{t: t, ctx: ctx, driver: d, sink: newSink(), model: d.Model(), index: map[string]int{"x": 0}}).connect())
	}
	late := make(chan struct{})
	instrument.Spoil("1X?", devicetest.Fault{Until: late})
	expect(t, rigs[0].poll("x"), "x= INVALID/TIMEOUT")
	close(late)
	for range 5 {
		expect(t, rigs[1].poll("x"), "x=22")
		expect(t, rigs[0].poll("x"), "x=11")
	}
}

func TestEchoIsStripped(t *testing.T) {
	tests := []struct{ name, config, reply string }{
		{"as a line", head, "X?\r\n5\r\n"},
		{"in front of the reply", "in_terminator: \"\\r\\n> \"\nout_terminator: \"\\r\\n\"\n", "X?\r\n5\r\n> "},
		{"not there this time", head, "5\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := plug(t, test.config+"\necho: true\nattributes:\n  x: {kind: int32, read: \"X?\", reply: \"%d\", poll: 1s}\n")
			r.instrument.Answer("X?", "")
			r.instrument.Spoil("X?", devicetest.Fault{Raw: test.reply}, devicetest.Fault{Raw: test.reply})
			r.connect()
			expect(t, r.poll("x"), "x=5")
		})
	}
}
