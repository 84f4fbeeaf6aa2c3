package serial_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
)

// head is the line that most tests speak: short timeouts, CR LF.
const head = `
terminator: "\r\n"
reply_timeout: 400ms
read_timeout: 100ms
quiet_time: 60ms
`

const bare = head + `
attributes:
  t: {kind: float64, read: "T?", reply: "%f", poll: 100ms}
  p: {kind: float64, read: "P?", reply: "%f", poll: 100ms}
`

func TestReadsAndWritesWithReadBack(t *testing.T) {
	r := plug(t, head+`
attributes:
  rate: {kind: float64, access: rw, read: "R?", reply: "%f", write: "R=%f", poll: 100ms}
  mode: {kind: enum, access: rw, states: [Off, On], read: "N?", reply: "%d", write: "N=%d"}
  quiet: {kind: int32, access: w, write: "Q=%d"}
commands:
  stop: {send: ["A", "B"]}
`)
	rate, mode := "1", "0"
	r.instrument.Handle(func(request string) (string, bool) {
		switch {
		case request == "R?":
			return rate, true
		case request == "N?":
			return mode, true
		case strings.HasPrefix(request, "R="):
			rate = request[2:]
		case strings.HasPrefix(request, "N="):
			mode = request[2:]
		}
		return "", false
	})
	r.connect()
	r.delivered("mode=Off, mode(setpoint)=Off")
	r.delivered("rate=1, rate(setpoint)=1")
	expect(t, r.poll("rate"), "rate=1")
	expect(t, r.put("rate", "2.5"), "verified: rate=2.5")
	expect(t, r.put("mode", "On"), "verified: mode=On")
	expect(t, r.put("quiet", "7"), "acknowledged")
	expect(t, r.put("stop", ""), "acknowledged")
	r.asked("N? R? R? R=2.500000 R? N=1 N? Q=7 A B")
}

func TestSD01LateReplyIsNotTheNextOnes(t *testing.T) {
	r := plug(t, bare)
	r.instrument.Answer("T?", "21.5")
	r.instrument.Answer("P?", "1013")
	r.connect()
	late := make(chan struct{})
	r.instrument.Spoil("T?", devicetest.Fault{Until: late})
	expect(t, r.poll("t"), "t= INVALID/TIMEOUT")
	close(late)
	for range 10 {
		expect(t, r.poll("p"), "p=1013")
		expect(t, r.poll("t"), "t=21.5")
	}
}

func TestSD02LateReplyAfterTheNextRequestIsDropped(t *testing.T) {
	tests := []struct {
		name  string
		fault devicetest.Fault
	}{
		{"whole, together with the next", devicetest.Fault{Behind: 1}},
		{"never", devicetest.Fault{Silent: true}},
		{"in two halves", devicetest.Fault{Half: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := plug(t, bare)
			r.instrument.Answer("T?", "21.5")
			r.instrument.Answer("P?", "1013")
			r.connect()
			r.instrument.Spoil("T?", test.fault)
			if got := r.poll("t"); got != "t= INVALID/TIMEOUT" && got != "t= INVALID/READ" {
				t.Errorf("got %s", got)
			}
			if test.fault.Half {
				if err := r.instrument.Send(".5\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				expect(t, r.poll("p"), "p=1013")
				expect(t, r.poll("t"), "t=21.5")
			}
		})
	}
}

func TestSD02PrefixTellsALateReply(t *testing.T) {
	r := plug(t, head+`
attributes:
  t: {kind: float64, read: "T?", reply: "T=%f", poll: 100ms}
  p: {kind: float64, read: "P?", reply: "P=%f", poll: 100ms}
`)
	r.instrument.Answer("T?", "T=21.5")
	r.instrument.Answer("P?", "P=1013")
	r.connect()
	r.instrument.Spoil("T?", devicetest.Fault{Behind: 1})
	expect(t, r.poll("t"), "t= INVALID/TIMEOUT")
	before := len(r.instrument.Requests())
	expect(t, r.poll("p"), "p=1013")
	if asked := len(r.instrument.Requests()) - before; asked != 1 {
		t.Errorf("asked %d times, want once: the prefix tells the replies apart", asked)
	}
	expect(t, r.poll("t"), "t=21.5")
}

func TestFaultsByCause(t *testing.T) {
	tests := []struct {
		name  string
		fault devicetest.Fault
		want  string
	}{
		{"nothing came", devicetest.Fault{Silent: true}, "t= INVALID/TIMEOUT"},
		{"stopped in mid-reply", devicetest.Fault{Half: true}, "t= INVALID/READ"},
		{"did not match", devicetest.Fault{Raw: "ERROR\r\n"}, "t= INVALID/CALC"},
		{"partly matches", devicetest.Fault{Raw: "1.5 rest\r\n"}, "t= INVALID/CALC"},
		{"bytes before", devicetest.Fault{Before: "\x9e\x00\xff\x92"}, "t= INVALID/CALC"},
		{"empty lines before", devicetest.Fault{Before: "\r\n\r\n"}, "t=21.5"},
		{"several lines", devicetest.Fault{After: "7\r\n8\r\n"}, "t=21.5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := plug(t, bare)
			r.instrument.Answer("T?", "21.5")
			r.instrument.Answer("P?", "1013")
			r.connect()
			r.instrument.Spoil("T?", test.fault)
			expect(t, r.poll("t"), test.want)
			expect(t, r.poll("p"), "p=1013")
			expect(t, r.poll("t"), "t=21.5")
		})
	}
}

func TestLostLine(t *testing.T) {
	r := plug(t, bare)
	r.instrument.Answer("T?", "21.5")
	r.instrument.Answer("P?", "1013")
	r.connect()
	if err := r.pair.Unplug(); err != nil {
		t.Fatal(err)
	}
	for {
		r.sink.mu.Lock()
		lost := r.sink.lost
		r.sink.mu.Unlock()
		if lost != nil {
			if !errors.Is(lost, device.ErrLost) {
				t.Errorf("got %v, want an ErrLost", lost)
			}
			break
		}
		select {
		case <-r.sink.changed:
		case <-r.ctx.Done():
			t.Fatal("the loss was not reported")
		}
	}
	if _, err := r.driver.Poll(r.ctx, 0, nil); !errors.Is(err, device.ErrLost) {
		t.Errorf("poll: got %v, want an ErrLost", err)
	}
}

// Who waits for a port is told why it does not open.
func TestReasonIsToldWhileConnectWaits(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	line := link.NewLine("line1", link.Serial{Path: filepath.Join(t.TempDir(), "none")})
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	served.Go(func() { _ = line.Serve(ctx) })
	driver, err := serial.New("dev", decode(t, bare), line, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	sink, connected := newSink(), make(chan error, 1)
	served.Go(func() { connected <- driver.Connect(ctx, sink) })
	for told := 0; told < 2; { // the same again with each attempt
		select {
		case <-sink.changed:
		case err := <-connected:
			t.Fatal(err)
		}
		sink.mu.Lock()
		told = len(sink.down)
		if told > 0 && !strings.Contains(sink.down[0], "no such file") {
			t.Errorf("told %q", sink.down)
		}
		sink.mu.Unlock()
	}
	cancel()
	served.Wait()
	if err := driver.Close(); err != nil {
		t.Error(err)
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	r := plug(t, bare)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if err := r.pair.Unplug(); err != nil {
		t.Fatal(err)
	}
	if err := r.driver.Connect(ctx, r.sink); err == nil {
		return // The line was open before it was unplugged.
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
