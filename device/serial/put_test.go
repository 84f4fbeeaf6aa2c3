package serial_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/devicetest"
)

// Replies may take long, so that a busy machine is not taken for a silent
// instrument.
const setpoint = `
terminator: "\r\n"
reply_timeout: 2s
read_timeout: 100ms
quiet_time: 60ms
refusals: ["ERR %*d"]
attributes:
  plain: {kind: float64, access: rw, read: "P?", reply: "%f", write: "V=%.2f"}
  acked: {kind: float64, access: rw, read: "V?", reply: "%f", write: "V=%.2f", write_reply: "OK"}
  blind: {kind: float64, access: rw, read: "B?", reply: "%f", write: "V=%.2f", write_reply: "OK", read_back: false}
  echoed: {kind: float64, access: rw, read: "E?", reply: "%f", write: "V=%.2f", write_reply: "V=%=.2f"}
  name: {kind: string, access: w, write: "N=%s", write_reply: "OK"}
commands:
  go: {send: "GO %d", argument: {kind: int32, limits: {low: 0, high: 5}}, send_reply: "OK"}
  measure: {send: "M", reply: "M=%f", result: {kind: float64}}
`

// TestPuts puts one value with the instrument's answer spoilt in some way. Its
// own answer is "OK", and every query says what was set last.
func TestPuts(t *testing.T) {
	tests := []struct {
		name, attribute, value string
		request                string // the one that is spoilt
		fault                  devicetest.Fault
		want                   string
	}{
		{"acknowledged and read back", "acked", "2.5", "", devicetest.Fault{}, "verified: acked=2.5"},
		{"acknowledged", "blind", "2.5", "", devicetest.Fault{}, "acknowledged"},
		{"answered with what was written", "echoed", "2.5", "V=2.50", devicetest.Fault{Raw: "V=2.50\r\n"}, "verified: echoed=2.5"},
		{"answered with something else", "echoed", "2.5", "V=2.50", devicetest.Fault{Raw: "V=2.49\r\n"}, `sent refused_by_device "V=2.49": echoed=2.5`},
		{"refused", "acked", "2.5", "V=2.50", devicetest.Fault{Raw: "ERR 17\r\n"}, `sent refused_by_device "ERR 17": acked=2.5`},
		{"refused in Latin-1", "name", "x", "N=x", devicetest.Fault{Raw: "ERR 1\r\n"}, `sent refused_by_device "ERR 1"`},
		{"SD-41(a) the acknowledgement is lost", "acked", "2.5", "V=2.50", devicetest.Fault{Silent: true}, "sent unknown_outcome: acked=2.5"},
		{"SD-41(a) half of it is lost", "acked", "2.5", "V=2.50", devicetest.Fault{Half: true}, "sent unknown_outcome: acked=2.5"},
		{"the read-back is lost", "acked", "2.5", "V?", devicetest.Fault{Silent: true}, "acknowledged: acked= INVALID/TIMEOUT"},
		{"the read-back is all there is, and lost", "plain", "2.5", "P?", devicetest.Fault{Silent: true}, "sent unknown_outcome: plain= INVALID/TIMEOUT"},
		{"only a refusal is answered", "plain", "2.5", "P?", devicetest.Fault{Before: "ERR 5\r\n"}, `sent refused_by_device "ERR 5": plain=2.5`},
		{"command with argument", "go", "3", "", devicetest.Fault{}, "acknowledged"},
		{"command refused", "go", "3", "GO 3", devicetest.Fault{Raw: "ERR 3\r\n"}, `sent refused_by_device "ERR 3"`},
		{"command without answer", "go", "3", "GO 3", devicetest.Fault{Silent: true}, "sent unknown_outcome"},
		{"read back to as many digits as were sent", "acked", "2.001", "", devicetest.Fault{}, "verified: acked=2"},
		{"acknowledged, and another value is read back", "acked", "2.5", "V?", devicetest.Fault{Raw: "2.25\r\n"}, "acknowledged: acked=2.25"},
		{"not taken, without a word", "plain", "2.5", "P?", devicetest.Fault{Raw: "0\r\n"}, "acknowledged: plain=0"},
		{"a text that holds the terminator", "name", "a\r\nV=7", "", devicetest.Fault{}, "accepted out_of_range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := plug(t, setpoint)
			value := "0"
			r.instrument.Handle(func(request string) (string, bool) {
				switch {
				case strings.HasSuffix(request, "?"):
					return value, true
				case strings.HasPrefix(request, "V="):
					value = request[2:]
				}
				return "OK", test.attribute != "plain"
			})
			r.connect()
			if test.request != "" {
				r.instrument.Spoil(test.request, test.fault)
			}
			expect(t, r.put(test.attribute, test.value), test.want)
		})
	}
}

func TestCommandReturnsItsResult(t *testing.T) {
	r := plug(t, setpoint)
	r.instrument.Handle(func(request string) (string, bool) { return "0", strings.HasSuffix(request, "?") })
	r.instrument.Answer("M", "M=1.5")
	r.connect()
	o := r.putContext(r.ctx, "measure", "")
	if o.Err != nil || o.Result.Float() != 1.5 {
		t.Errorf("got %v, %v", o.Result, o.Err)
	}
}

func TestSD41ToggleIsNotRepeated(t *testing.T) {
	r := plug(t, head+`
attributes:
  shutter: {kind: enum, access: rw, states: [Closed, Open], read: "ens?", reply: "%d", write: "ens", write_reply: "ens"}
`)
	state := 0
	r.instrument.Handle(func(request string) (string, bool) {
		if request == "ens" {
			state = 1 - state
			return "ens", true
		}
		return string(rune('0' + state)), true
	})
	r.connect()
	r.instrument.Spoil("ens", devicetest.Fault{Silent: true})
	expect(t, r.put("shutter", "Open"), "sent unknown_outcome: shutter=Open")
	toggles := 0
	for _, request := range r.instrument.Requests() {
		if request == "ens" {
			toggles++
		}
	}
	if toggles != 1 {
		t.Errorf("toggled %d times, want once", toggles)
	}
}

func TestSD41PulseIsCarriedThrough(t *testing.T) {
	r := plug(t, head+`
commands:
  pulse: {send: [{send: "P1", wait: 50ms}, "P0"]}
`)
	ctx, cancel := context.WithCancel(r.ctx)
	r.instrument.Handle(func(request string) (string, bool) {
		if request == "P1" {
			cancel() // The client goes away between the two.
		}
		return "", false
	})
	r.connect()
	expect(t, r.showOutcome(r.putContext(ctx, "pulse", "")), "acknowledged")
	r.asked("P1 P0")
}

func TestSD41FailedStepIsNamedAndCleanedUp(t *testing.T) {
	r := plug(t, head+`
attributes:
  v: {kind: int32, access: w, write: ["CAL ON", "A", "B=%d", "C", "CAL OFF"], write_reply: "OK", cleanup: ["CAL OFF", "LOCAL"]}
`)
	r.instrument.Handle(func(request string) (string, bool) {
		if request == "B=7" {
			return "NO", true
		}
		return "OK", true
	})
	r.connect()
	o := r.putContext(r.ctx, "v", "7")
	expect(t, r.showOutcome(o), `sent refused_by_device "NO"`)
	if !strings.Contains(o.Err.Error(), "step 3 of 5") {
		t.Errorf("%q does not name the step", o.Err)
	}
	r.asked("CAL ON A B=7 CAL OFF LOCAL")
}

func TestPutAfterItsBudgetIsNeverSent(t *testing.T) {
	r := plug(t, setpoint)
	r.instrument.Handle(func(request string) (string, bool) { return "0", strings.HasSuffix(request, "?") })
	r.connect()
	before := len(r.instrument.Requests())
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	expect(t, r.showOutcome(r.putContext(ctx, "acked", "1")), "accepted expired")
	expect(t, r.showOutcome(r.putContext(ctx, "go", "1")), "accepted expired")
	if asked := r.instrument.Requests()[before:]; len(asked) > 0 {
		t.Errorf("the instrument got %q", asked)
	}
}

func TestPutWhoseBudgetEndsWhileItWaitsForTheAnswer(t *testing.T) {
	r := plug(t, setpoint)
	r.instrument.Handle(func(request string) (string, bool) { return "0", strings.HasSuffix(request, "?") })
	r.connect()
	ctx, cancel := context.WithCancel(r.ctx)
	held := make(chan struct{})
	defer close(held)
	r.instrument.Spoil("GO 1", devicetest.Fault{Until: held})
	go func() {
		_ = r.instrument.Wait(r.ctx, func(requests []string) bool { return requests[len(requests)-1] == "GO 1" })
		cancel()
	}()
	expect(t, r.showOutcome(r.putContext(ctx, "go", "1")), "sent unknown_outcome")
}

func TestPutToALostLine(t *testing.T) {
	r := plug(t, setpoint)
	r.instrument.Handle(func(request string) (string, bool) { return "0", strings.HasSuffix(request, "?") })
	r.connect()
	if err := r.pair.Unplug(); err != nil {
		t.Fatal(err)
	}
	o := r.putContext(r.ctx, "acked", "1")
	if o.Err == nil || o.Lost == nil {
		t.Errorf("got %s, want it lost", r.showOutcome(o))
	}
}

func TestLateAcknowledgementIsNotTheNextOnes(t *testing.T) {
	r := plug(t, setpoint)
	value := "0"
	r.instrument.Handle(func(request string) (string, bool) {
		switch {
		case strings.HasSuffix(request, "?"):
			return value, true
		case strings.HasPrefix(request, "V="):
			value = request[2:]
		}
		return "OK", true
	})
	r.connect()
	late := make(chan struct{})
	r.instrument.Spoil("V=1.00", devicetest.Fault{Until: late})
	expect(t, r.put("blind", "1"), "sent unknown_outcome")
	close(late)
	r.instrument.Spoil("V=2.00", devicetest.Fault{Raw: "ERR 9\r\n"})
	// The refusal of this put, and not the late OK of the one before.
	expect(t, r.put("blind", "2"), `sent refused_by_device "ERR 9"`)
}

func TestPushOnConnect(t *testing.T) {
	r := plug(t, head+`
attributes:
  v: {kind: int32, access: rw, read: "V?", reply: "%d", write: "V=%d", on_connect: push}
`)
	r.instrument.Answer("V?", "0")
	r.connect()
	expect(t, r.put("v", "5"), "acknowledged: v=0")
	if err := r.driver.Close(); err != nil {
		t.Fatal(err)
	}
	r.connect()
	r.asked("V? V=5 V? V=5 V?")
}

func TestStartUpGoesOnWhenTheDeviceAnswers(t *testing.T) {
	r := plug(t, head+`
attributes:
  a: {kind: int32, access: rw, read: "A?", reply: "%d", write: "A=%d", poll: 100ms}
  b: {kind: int32, access: rw, read: "B?", reply: "%d", write: "B=%d"}
  c: {kind: int32, access: rw, read: "C?", reply: "%d", write: "C=%d"}
`)
	r.instrument.SetSilent(true)
	r.connect()
	r.instrument.SetSilent(false)
	for _, name := range []string{"A?", "B?", "C?"} {
		r.instrument.Answer(name, "7")
	}
	expect(t, r.poll("a"), "a=7")
	r.delivered("a=7, a(setpoint)=7")
	expect(t, r.poll("a"), "a=7")
	r.delivered("b=7, b(setpoint)=7")
	expect(t, r.poll("a"), "a=7")
	r.delivered("c=7, c(setpoint)=7")
}

// TestExpiredWhileTheLineIsBroughtInStep has a put wait for the quiet time
// that follows a lost reply, and its budget end meanwhile.
func TestExpiredWhileTheLineIsBroughtInStep(t *testing.T) {
	for _, write := range []string{`"G", write_reply: OK`, `["G", "H"], write_reply: OK`} {
		r := plug(t, `
terminator: "\r\n"
reply_timeout: 400ms
quiet_time: 10s
attributes:
  t: {kind: float64, read: "T?", reply: "%f", poll: 100ms}
  g: {kind: float64, access: w, write: `+write+`}
`)
		r.instrument.Answer("T?", "1")
		r.connect()
		r.instrument.Spoil("T?", devicetest.Fault{Silent: true})
		expect(t, r.poll("t"), "t= INVALID/TIMEOUT")
		ctx, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
		expect(t, r.showOutcome(r.putContext(ctx, "g", "1")), "accepted expired")
		cancel()
		r.asked("T? T?")
	}
}
