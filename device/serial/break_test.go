package serial_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
)

// A board is brought to its senses by a break, and asked behind one.
const board = head + `
attributes:
  v: {kind: float64, access: rw, read: [{break: 1ms, send: HELLO, reply: HI}, "V?"], reply: "%f", write: [{break: 1ms}, "V=%f"], poll: 1s}
  w: {kind: float64, read: "W?", reply: "%f"}
commands:
  reset: {send: {break: 20ms}}
`

func TestBreaks(t *testing.T) {
	r := plug(t, board)
	r.instrument.Answer("HELLO", "HI")
	r.instrument.Answer("V?", "1.5")
	r.instrument.Answer("W?", "2.5")
	r.connect()
	expect(t, r.poll("v"), "v=1.5")
	expect(t, r.put("v", "1.5"), "verified: v=1.5")
	start := time.Now()
	expect(t, r.put("reset", ""), "acknowledged")
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("the break took %v", took)
	}
	expect(t, strings.Join(r.instrument.Requests()[3:], " "), "HELLO V? V=1.500000 HELLO V?")
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	expect(t, r.showOutcome(r.putContext(ctx, "reset", "")), "accepted expired")
}

// A link without breaks fails what needs one, and nothing else.
func TestBreakOnALinkThatHasNone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	line := link.NewLine("line1", link.TCP{Address: listener.Addr().String()})
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	served.Go(func() { _ = line.Serve(ctx) })
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	instrument := devicetest.StartInstrument(t, conn, devicetest.Line{RequestEnd: "\r\n", ReplyEnd: "\r\n"})
	instrument.Answer("W?", "2.5")
	driver, err := serial.New("dev", decode(t, board), line, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	sink := newSink()
	if err := driver.Connect(ctx, sink); err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	for i, a := range driver.Model().Attributes {
		readings, err := driver.Refresh(ctx, i, nil)
		switch {
		case err != nil:
			t.Error(err)
		case a.Path == "dev.v" && (len(readings) != 1 || readings[0].Alarm.Status != gateway.StatusComm),
			a.Path == "dev.w" && (len(readings) != 1 || readings[0].Value.Float() != 2.5):
			t.Errorf("%s reads %+v", a.Path, readings)
		}
		if !a.CanWrite() && a.Access != gateway.AccessExecute {
			continue
		}
		o := driver.Put(ctx, i, gateway.Of(1.0))
		if o.Err == nil || !strings.Contains(o.Err.Error(), "a break cannot be sent on tcp") || o.Stage != gateway.StageAccepted {
			t.Errorf("put of %s: %v %v", a.Path, o.Stage, o.Err)
		}
	}
	if got := strings.Join(instrument.Requests(), " "); strings.Contains(got, "V") || strings.Contains(got, "HELLO") {
		t.Errorf("it was told %q", got)
	}
}
