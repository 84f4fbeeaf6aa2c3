package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// startOven runs a gateway with the one instrument.
func startOven(t *testing.T) (*instrument, *rig.Gateway) {
	t.Helper()
	i := newInstrument(t)
	g := program.Start(t, "oven", onBus(withREST, "")+oven(i.address()))
	g.AwaitGood("oven.value")
	return i, g
}

func TestAPutWhoseBudgetEndsBehindASlowExchangeIsNeverWritten(t *testing.T) {
	i, g := startOven(t)
	release := i.stall("SLOW?")
	r := g.Put("oven.value", "7", "budget=300ms")
	if r.Status != http.StatusServiceUnavailable || r.Code != "expired" || r.Stage != "accepted" {
		t.Errorf("the verdict: %d %s", r.Status, r.Body)
	}
	after := g.Get("oven.value")
	if after.Setpoint.Number() != 7 || after.Setpoint.Alarm.Severity != "INVALID" || after.Setpoint.Alarm.Status != "COMM" {
		t.Errorf("the setpoint keeps what was asked, with an alarm: %s", after.Body)
	}
	release()
	// Puts run in the order in which they came, so what this one proves is
	// that the other was not sent late.
	if r := g.Put("oven.value", "8", ""); r.Status != http.StatusOK || r.Number() != 8 || !r.Setpoint.Good() {
		t.Errorf("the next put: %d %s", r.Status, r.Body)
	}
	if n := i.writes(7); n != 0 {
		t.Errorf("it was written %d times", n)
	}
}

// The slow exchange ends at times around the budget. Whichever comes first, the
// verdict and the instrument agree.
func TestAroundTheEndOfTheBudgetVerdictAndInstrumentAgree(t *testing.T) {
	i, g := startOven(t)
	const budget = 200 * time.Millisecond
	outcomes := map[string]int{}
	for n := range 60 {
		value := 100 + n
		release := i.stall("SLOW?")
		// The driver's own budget is a fifth shorter, so that its verdict arrives.
		at := budget*8/10 + time.Duration(n-30)*time.Millisecond
		timer := time.AfterFunc(at, release)
		v := verdict{value: value, reply: g.Put("oven.value", fmt.Sprint(value), "budget="+budget.String())}
		timer.Stop()
		release()
		if r := g.Put("oven.value", "1", ""); r.Status != http.StatusOK {
			t.Fatalf("the put behind it: %d %s", r.Status, r.Body)
		}
		v.check(t, i.writes(value))
		outcomes[v.reply.Code+" "+v.reply.Stage]++
	}
	t.Log(outcomes)
	if outcomes[" verified"] == 0 || outcomes["expired accepted"] == 0 {
		t.Errorf("not both sides of the end were seen: %v", outcomes)
	}
}

// A put that was sent and gets no answer in time is not known to have failed.
func TestAPutThatWasSentAndIsNotAnsweredInTimeIsUnknown(t *testing.T) {
	i, g := startOven(t)
	release := i.hold("V?")
	v := verdict{value: 9, reply: g.Put("oven.value", "9", "budget=500ms")}
	release()
	switch v.reply.Code {
	case "unknown_outcome":
		if v.reply.Status != http.StatusGatewayTimeout || v.reply.Stage != "sent" {
			t.Errorf("the verdict: %d %s", v.reply.Status, v.reply.Body)
		}
	case "expired": // it waited behind a poll
	default:
		t.Errorf("the verdict: %d %s", v.reply.Status, v.reply.Body)
	}
	// The readback shows what became of it.
	if v.reply.Sent() {
		g.Await("oven.value", rig.Limit, "9", func(r *rig.Reply) bool { return r.Good() && r.Number() == 9 })
	}
	if r := g.Put("oven.value", "10", ""); r.Status != http.StatusOK {
		t.Errorf("the next put: %d %s", r.Status, r.Body)
	}
	v.check(t, i.writes(9))
}
