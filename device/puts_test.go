package device_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

// quiet is a model whose polls do not get in the way.
func quiet() device.Model {
	m := model()
	m.Polls = nil
	return m
}

// A gate is a driver's Put that waits until it is let through. It keeps a list
// of the values that reached the device.
type gate struct {
	script *devicetest.Script
	sent   []gateway.Value
	open   chan struct{} // one token lets one put through
}

func gated() *gate {
	g := &gate{script: &devicetest.Script{Has: quiet()}}
	g.script.OnConnect = func(context.Context, device.Sink) error {
		g.open = make(chan struct{}, 1000) // in the bubble, so that waiting for it counts as rest
		return nil
	}
	g.script.OnPut = func(ctx context.Context, _ int, v gateway.Value) device.Outcome {
		g.sent = append(g.sent, v)
		select {
		case <-g.open:
			return device.Outcome{Stage: gateway.StageAcknowledged}
		case <-ctx.Done():
			return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "no answer")}
		}
	}
	return g
}

func (g *gate) floats() []float64 {
	var out []float64
	for _, v := range g.sent {
		out = append(out, v.Float())
	}
	return out
}

func TestRefusedPutsChangeNothing(t *testing.T) {
	tests := map[string]struct {
		request gateway.PutRequest
		kind    gateway.ErrorKind
	}{
		"unknown":           {gateway.PutRequest{Path: "oven.nope", Value: gateway.Of(1.0)}, gateway.KindNotFound},
		"read-only":         {gateway.PutRequest{Path: "oven.temperature", Value: gateway.Of(1.0)}, gateway.KindReadOnly},
		"wrong type":        {gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(int32(1))}, gateway.KindWrongType},
		"nothing":           {gateway.PutRequest{Path: "oven.ramp"}, gateway.KindWrongType},
		"out of range":      {gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(100.5)}, gateway.KindOutOfRange},
		"no state":          {gateway.PutRequest{Path: "oven.heater", Value: gateway.EnumOf(2)}, gateway.KindNotALabel},
		"argument's type":   {gateway.PutRequest{Path: "oven.cancel_all", Value: gateway.Of("x")}, gateway.KindWrongType},
		"no budget is left": {gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: -1}, gateway.KindExpired},
	}
	g := gated()
	start(t, g.script, device.Options{}, func(r *rig) {
		before := len(r.bus.Messages())
		for name, test := range tests {
			v := r.verdict(r.request(test.request))
			t.Run(name, func(t *testing.T) {
				r := *r
				r.t = t
				r.check(v, gateway.StageRefused, test.kind)
			})
		}
		for _, to := range []gateway.Owner{{}, {Device: "oven", Instance: "another"}} {
			put := &gateway.Put{To: to, PutRequest: gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0)}}
			r.check(r.verdict(r.bus.Send(put)), gateway.StageRefused, gateway.KindConflict)
		}
		for _, m := range r.bus.Messages()[before:] {
			if _, ok := m.(*gateway.PutVerdict); !ok {
				t.Errorf("a refusal published:\n%s", devicetest.Transcript([]gateway.Message{m}))
			}
		}
		if len(g.sent) != 0 {
			t.Errorf("sent %v", g.sent)
		}
	})
}

func TestOutcomesShowOnTheSetpoint(t *testing.T) {
	lost := fmt.Errorf("unplugged: %w", device.ErrLost)
	failure := func(stage gateway.Stage, kind gateway.ErrorKind) device.Outcome {
		return device.Outcome{Stage: stage, Err: gateway.Errorf(kind, "it failed")}
	}
	tests := map[string]struct {
		outcome device.Outcome
		stage   gateway.Stage
		kind    gateway.ErrorKind
		status  gateway.Status
	}{
		"refused by device": {failure(gateway.StageSent, gateway.KindRefusedByDevice), gateway.StageSent, gateway.KindRefusedByDevice, gateway.StatusWrite},
		"unknown outcome":   {failure(gateway.StageSent, gateway.KindUnknownOutcome), gateway.StageSent, gateway.KindUnknownOutcome, gateway.StatusTimeout},
		"expired":           {failure(gateway.StageAccepted, gateway.KindExpired), gateway.StageAccepted, gateway.KindExpired, gateway.StatusComm},
		"not connected": {
			device.Outcome{Stage: gateway.StageAccepted, Err: gateway.Errorf(gateway.KindNotConnected, "gone"), Lost: lost},
			gateway.StageAccepted, gateway.KindNotConnected, gateway.StatusComm,
		},
		"the driver says nothing": {device.Outcome{}, gateway.StageAccepted, gateway.KindInternal, gateway.StatusWrite},
		"good":                    {device.Outcome{Stage: gateway.StageVerified}, gateway.StageVerified, gateway.KindOK, gateway.StatusNone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			script := &devicetest.Script{Has: quiet()}
			next := setting[device.Outcome]{v: test.outcome}
			script.OnPut = func(context.Context, int, gateway.Value) device.Outcome { return next.get() }
			start(t, script, device.Options{}, func(r *rig) {
				v := r.verdict(r.put("oven.ramp", gateway.Of(5.0)))
				r.check(v, test.stage, test.kind)
				s := r.table()["oven.ramp"].Setpoint
				if s.Value.Float() != 5 || s.Alarm.Status != test.status || s != v.Setpoint {
					t.Errorf("setpoint %+v; the verdict's %+v", s, v.Setpoint)
				}
				if rb := r.table()["oven.ramp"].Readback; rb.Alarm != gateway.Undefined {
					t.Errorf("the readback changed: %+v", rb)
				}
				// The alarm stands until the next good put.
				after(3 * time.Second)
				next.set(device.Outcome{Stage: gateway.StageAcknowledged})
				r.verdict(r.put("oven.ramp", gateway.Of(5.0)))
				if s := r.table()["oven.ramp"].Setpoint; s.Alarm != (gateway.Alarm{}) {
					t.Errorf("after a good put: %+v", s)
				}
			})
		})
	}
}

// What a device says may be any bytes; what is passed on is text.
func TestSD22DeviceWordsBecomeText(t *testing.T) {
	script := &devicetest.Script{Has: quiet()}
	script.OnPut = func(context.Context, int, gateway.Value) device.Outcome {
		err := gateway.Errorf(gateway.KindRefusedByDevice, "refused: E\xa8")
		err.DeviceWords = "\x9e\x00"
		bad := fault(ramp, gateway.StatusCalc)
		bad.Alarm.Text = "no match: \xff"
		return device.Outcome{Stage: gateway.StageSent, Err: err, Readings: []device.Reading{bad}}
	}
	start(t, script, device.Options{}, func(r *rig) {
		v := r.verdict(r.put("oven.ramp", gateway.Of(1.0)))
		for _, text := range []string{v.Err.Msg, v.Err.DeviceWords, v.Setpoint.Alarm.Text, v.Readback.Alarm.Text} {
			if text == "" || !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

func TestWaitingPutExpiresAndIsNeverSent(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{}, func(r *rig) {
		first := r.put("oven.ramp", gateway.Of(1.0))
		second := r.request(gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(2.0), Budget: time.Second})
		after(time.Second - 1)
		if len(second) != 0 {
			t.Fatal("ended before its budget")
		}
		after(1)
		v := r.verdict(second)
		r.check(v, gateway.StageAccepted, gateway.KindExpired)
		if s := r.table()["oven.ramp"].Setpoint; s.Value.Float() != 2 || s.Alarm.Status != gateway.StatusComm {
			t.Errorf("setpoint %+v", s)
		}
		g.open <- struct{}{}
		r.check(r.verdict(first), gateway.StageAcknowledged, gateway.KindOK)
		if got := g.floats(); !slices.Equal(got, []float64{1}) {
			t.Errorf("sent %v", got)
		}
	})
}

// A put that a hung process or bus held on its way counts by the owner's clock,
// which the hub has learned from its states.
func TestAPutThatWasHeldOnItsWayIsNotRun(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{Heartbeat: time.Second}, func(r *rig) {
		after(10 * time.Second)
		clock := r.state().Clock
		if clock < 9*time.Second || clock > 10*time.Second {
			t.Fatalf("after 10 s the owner's clock shows %v", clock)
		}
		send := func(notAfter time.Duration) <-chan *gateway.PutVerdict {
			return r.bus.Send(&gateway.Put{
				ID: gateway.PutID{Hub: 1, N: uint64(notAfter)}, To: r.bus.Owner(), NotAfter: notAfter,
				PutRequest: gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: time.Minute},
			})
		}
		r.check(r.verdict(send(clock-time.Second)), gateway.StageRefused, gateway.KindExpired)
		blocking := r.put("oven.ramp", gateway.Of(2.0))
		waiting := send(clock + 3*time.Second)
		after(4 * time.Second)
		r.check(r.verdict(waiting), gateway.StageAccepted, gateway.KindExpired)
		g.open <- struct{}{}
		r.check(r.verdict(blocking), gateway.StageAcknowledged, gateway.KindOK)
		if got := g.floats(); !slices.Equal(got, []float64{2}) {
			t.Errorf("sent %v", got)
		}
	})
}

// The budget of a put that was sent ends in an outcome that is not known, and
// the device is asked for what it has; the put is not repeated (SD-41).
func TestSD41UnknownOutcomeIsReadNotRepeated(t *testing.T) {
	g := gated()
	g.script.OnRefresh = func(_ context.Context, index int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(index, gateway.Of(3.0))), nil
	}
	start(t, g.script, device.Options{}, func(r *rig) {
		answers := r.request(gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(9.0), Budget: time.Second})
		after(time.Second)
		r.check(r.verdict(answers), gateway.StageSent, gateway.KindUnknownOutcome)
		ramp := r.table()["oven.ramp"]
		if ramp.Readback.Value.Float() != 3 || ramp.Setpoint.Alarm.Status != gateway.StatusTimeout {
			t.Errorf("readback %+v, setpoint %+v", ramp.Readback, ramp.Setpoint)
		}
		if got := r.script.Calls(); !slices.Equal(got, []string{"connect", "put 1", "refresh 1"}) {
			t.Errorf("calls %q", got)
		}
	})
}

func TestCommand(t *testing.T) {
	g := gated()
	put := g.script.OnPut
	g.script.OnPut = func(ctx context.Context, index int, v gateway.Value) device.Outcome {
		outcome := put(ctx, index, v)
		if v.Int() == 13 {
			return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindRefusedByDevice, "unlucky")}
		}
		outcome.Result = gateway.Of("done")
		return outcome
	}
	start(t, g.script, device.Options{}, func(r *rig) {
		running := func() *gateway.Sample { return r.table()["oven.cancel_all"].Setpoint }
		if s := running(); s.Value.Bool() || s.Alarm != (gateway.Alarm{}) {
			t.Errorf("before: %+v", s)
		}
		first := r.put("oven.cancel_all", gateway.Of(int32(1)))
		second := r.put("oven.cancel_all", gateway.Of(int32(13)))
		if !running().Value.Bool() {
			t.Errorf("while it runs: %+v", running())
		}
		g.open <- struct{}{}
		if v := r.verdict(first); v.Result.Text() != "done" || !running().Value.Bool() {
			t.Errorf("after the first: %+v; %+v", v, running())
		}
		g.open <- struct{}{}
		r.check(r.verdict(second), gateway.StageSent, gateway.KindRefusedByDevice)
		if s := running(); s.Value.Bool() || s.Alarm.Status != gateway.StatusWrite {
			t.Errorf("after the second: %+v", s)
		}
	})
}

func TestStopFinishesTheRunningPut(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{}, func(r *rig) {
		running := r.put("oven.ramp", gateway.Of(1.0))
		waiting := r.put("oven.ramp", gateway.Of(2.0))
		r.stop()
		r.check(r.verdict(waiting), gateway.StageAccepted, gateway.KindShuttingDown)
		r.check(r.verdict(r.put("oven.ramp", gateway.Of(3.0))), gateway.StageRefused, gateway.KindShuttingDown)
		after(4 * time.Second)
		g.open <- struct{}{}
		r.check(r.verdict(running), gateway.StageAcknowledged, gateway.KindOK)
		if got := g.floats(); !slices.Equal(got, []float64{1}) {
			t.Errorf("sent %v", got)
		}
		if !r.state().Leaving {
			t.Error("it did not say that it leaves")
		}
	})
}

func TestStopCutsThePutThatTakesTooLong(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{Drain: time.Second}, func(r *rig) {
		running := r.request(gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: time.Minute})
		r.stop()
		after(time.Second)
		r.check(r.verdict(running), gateway.StageSent, gateway.KindUnknownOutcome)
	})
}

func TestCrashOfTheDriverCostsTheConnection(t *testing.T) {
	for _, call := range []string{"put", "poll", "connect", "refresh", "close"} {
		t.Run(call, func(t *testing.T) {
			script := &devicetest.Script{Has: model()}
			var crash setting[bool]
			maybe := func(in string) {
				if in == call && crash.take() {
					panic("index out of range")
				}
			}
			script.OnConnect = func(context.Context, device.Sink) error { maybe("connect"); return nil }
			script.OnClose = func() error { maybe("close"); return nil }
			script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
				maybe("poll")
				return append(into, good(temperature, gateway.Of(1.0))), nil
			}
			script.OnRefresh = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
				maybe("refresh")
				return into, nil
			}
			script.OnPut = func(context.Context, int, gateway.Value) device.Outcome {
				maybe("put")
				return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "no answer")}
			}
			start(t, script, device.Options{}, func(r *rig) {
				crash.set(true)
				if call == "connect" || call == "close" {
					script.Out().Lost(errors.New("unplugged"))
				}
				v := r.verdict(r.put("oven.ramp", gateway.Of(1.0)))
				if call == "put" {
					r.check(v, gateway.StageSent, gateway.KindInternal)
				}
				after(10 * time.Second)
				if crash.get() || !r.state().Connected {
					t.Errorf("not crashed yet %t, state %+v, log:\n%s", crash.get(), r.state(), r.log.text())
				}
				if got := r.log.text(); (call == "put" || call == "poll") && !strings.Contains(got, "index out of range") {
					t.Errorf("log:\n%s", got)
				}
			})
		})
	}
}

// Whatever happens, a put is answered once, and what was answered as never sent
// was not sent.
func TestEveryPutIsAnsweredOnce(t *testing.T) {
	for seed := range uint64(30) {
		random, chance := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2)) // the test's, the driver's
		script := &devicetest.Script{Has: model()}
		sent := make(map[float64]int)
		script.OnPut = func(ctx context.Context, _ int, v gateway.Value) device.Outcome {
			sent[v.Float()]++
			timer := time.NewTimer(time.Duration(chance.IntN(400)) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "no answer")}
			}
			switch chance.IntN(12) {
			case 0:
				panic("crash")
			case 1:
				return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "lost"), Lost: device.ErrLost}
			case 2:
				return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindRefusedByDevice, "no")}
			}
			return device.Outcome{Stage: gateway.StageAcknowledged}
		}
		script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
			return append(into, good(temperature, gateway.Of(1.0))), nil
		}
		start(t, script, device.Options{MaxQueued: 6}, func(r *rig) {
			answers := make(map[float64]<-chan *gateway.PutVerdict)
			for n := range 200 {
				v := float64(n) / 10
				answers[v] = r.bus.Put(gateway.PutRequest{
					Path: "oven.ramp", Value: gateway.Of(v), Mode: gateway.Mode(random.IntN(2)),
					Urgent: random.IntN(5) == 0, Budget: time.Duration(1+random.IntN(1000)) * time.Millisecond,
				})
				switch random.IntN(40) {
				case 0:
					r.script.Out().Lost(device.ErrLost)
				case 1:
					r.bus.SetDown(true)
				case 2:
					r.bus.SetDown(false)
				}
				after(time.Duration(random.IntN(100)) * time.Millisecond)
			}
			if seed%2 == 0 {
				r.bus.Rival(gateway.Owner{Device: "oven", Instance: "rival", Term: r.bus.Owner().Term + 1})
			}
			r.end()
			for value, ch := range answers {
				v := r.verdict(ch)
				never := v.Stage == gateway.StageRefused || v.Stage == gateway.StageSuperseded || v.Stage == gateway.StageAccepted
				if n := sent[value]; never && n != 0 || !never && n != 1 {
					t.Errorf("seed %d: put of %g ended as %s (%v) and was sent %d times", seed, value, v.Stage, v.Err, n)
				}
			}
		})
	}
}
