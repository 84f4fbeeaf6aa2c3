package device_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

// answering is a driver whose polls answer, except those that silent lists.
func answering(m device.Model) (script *devicetest.Script, silent *setting[[]int]) {
	silent = new(setting[[]int])
	script = &devicetest.Script{Has: m}
	script.OnPoll = func(_ context.Context, poll int, into []device.Reading) ([]device.Reading, error) {
		for _, index := range m.Polls[poll].Indices {
			if !slices.Contains(silent.get(), poll) {
				into = append(into, good(index, gateway.Of(1.5)))
			} else {
				into = append(into, fault(index, gateway.StatusTimeout))
			}
		}
		return into, nil
	}
	return script, silent
}

func count(calls []string, call string) int {
	n := 0
	for _, c := range calls {
		if c == call {
			n++
		}
	}
	return n
}

func countMessages[T gateway.Message](messages []gateway.Message) int {
	n := 0
	for _, m := range messages {
		if _, ok := m.(T); ok {
			n++
		}
	}
	return n
}

// Behind an open link the device loses its power, comes back with other
// settings, and is set up again.
func TestSD29SilentDeviceIsAwayAndSetUpAgain(t *testing.T) {
	script, silent := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		silent.set([]int{0})
		after(2 * time.Second)
		if state := r.state(); !state.Connected {
			t.Fatalf("away after two polls without an answer: %+v", state)
		}
		if s := r.table()["oven.temperature"].Readback; s.Alarm.Status != gateway.StatusTimeout || s.Value.Float() != 1.5 {
			t.Errorf("readback %+v", s)
		}
		after(time.Second)
		if state := r.state(); state.Connected || state.Words != "no answer" {
			t.Fatalf("after three: %+v", state)
		}
		r.check(r.verdict(r.put("oven.ramp", gateway.Of(1.0))), gateway.StageRefused, gateway.KindNotConnected)
		after(30 * time.Second)
		if n := count(script.Calls(), "connect"); n != 1 {
			t.Errorf("connected %d times while it was silent", n)
		}
		silent.set(nil)
		after(time.Second)
		if state := r.state(); !state.Connected || count(script.Calls(), "connect") != 2 {
			t.Errorf("after its return: %+v, calls %q", state, script.Calls())
		}
		after(5 * time.Second)
		if n := count(script.Calls(), "connect"); n != 2 {
			t.Errorf("connected %d times", n)
		}
	})
}

// One query that the device does not know says nothing about the device.
func TestSingleSilentPollIsNotTheDevice(t *testing.T) {
	m := model()
	m.Polls = []device.Poll{
		{Period: 100 * time.Millisecond, Indices: []int{temperature}},
		{Period: 100 * time.Millisecond, Indices: []int{temperature}},
		{Period: 100 * time.Millisecond, Indices: []int{temperature}},
		{Period: 10 * time.Second, Indices: []int{ramp}},
	}
	script, silent := answering(m)
	silent.set([]int{0, 1, 2})
	start(t, script, device.Options{}, func(r *rig) {
		if !r.state().Connected {
			t.Fatalf("state %+v", r.state())
		}
		after(60 * time.Second)
		if n := count(script.Calls(), "connect"); n != 1 || !r.state().Connected {
			t.Errorf("connected %d times, state %+v", n, r.state())
		}
		if n := count(script.Calls(), "poll 3"); n != 7 {
			t.Errorf("the good poll ran %d times", n)
		}
	})
}

// A device that speaks by itself is not away, even if it never answers.
func TestUnansweredPollsOfATalkingDevice(t *testing.T) {
	script, silent := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		silent.set([]int{0})
		r.script.Out().Lost(device.ErrLost)
		after(time.Second)
		for range 20 {
			r.script.Out().Deliver([]device.Reading{good(temperature, gateway.Of(1.0))})
			after(5 * time.Second)
		}
		if n := count(script.Calls(), "connect"); n != 2 || !r.state().Connected {
			t.Errorf("connected %d times, state %+v", n, r.state())
		}
	})
}

// A link that is gone costs little: back-off, one line, one state.
func TestSD04LostLinkBacksOff(t *testing.T) {
	script, _ := answering(model())
	var unplugged setting[bool]
	script.OnConnect = func(context.Context, device.Sink) error {
		if unplugged.get() {
			return fmt.Errorf("/dev/ttyUSB0: no such device: %w", device.ErrLost)
		}
		return nil
	}
	start(t, script, device.Options{}, func(r *rig) {
		before, sample := r.log.lines(), r.table()["oven.temperature"].Readback
		unplugged.set(true)
		r.script.Out().Lost(fmt.Errorf("read: input/output error: %w", device.ErrLost))
		messages := len(r.bus.Messages())
		after(time.Hour)
		if n := count(script.Calls(), "connect"); n < 3600 || n > 3605 {
			t.Errorf("%d attempts in an hour", n)
		}
		if lines := r.log.lines() - before; lines < 55 || lines > 61 {
			t.Errorf("%d log lines in an hour", lines)
		}
		published := r.bus.Messages()[messages:]
		if len(published) != 2 || r.state().Connected || !strings.Contains(r.state().Words, "no such device") {
			t.Errorf("published:\n%s", devicetest.Transcript(published))
		}
		if r.table()["oven.temperature"].Readback != sample {
			t.Error("the sample did not stay")
		}
		since := r.state().Since
		before = r.log.lines()
		unplugged.set(false)
		after(time.Second)
		if state := r.state(); !state.Connected || !state.Since.After(since) || r.log.lines() != before+1 {
			t.Errorf("state %+v, log:\n%s", state, r.log.text())
		}
	})
}

// A link that was never open, and one that is gone, tell why while Connect waits.
func TestReasonIsToldWhileConnectWaits(t *testing.T) {
	script, _ := answering(model())
	var open setting[chan struct{}]
	script.OnConnect = func(ctx context.Context, _ device.Sink) error {
		opened := make(chan struct{})
		open.set(opened)
		select {
		case <-opened:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	start(t, script, device.Options{}, func(r *rig) {
		for range 2 { // never open, and lost
			before := r.log.lines()
			for i := range 600 {
				r.script.Out().Down(fmt.Errorf("/dev/ttyUSB0: no such device"))
				after(time.Second)
				if state := r.state(); i == 0 && (state.Connected || !strings.Contains(state.Words, "no such device")) {
					t.Errorf("state %+v", state)
				}
			}
			if lines := r.log.lines() - before; lines < 10 || lines > 11 {
				t.Errorf("%d log lines in ten minutes:\n%s", lines, r.log.text())
			}
			r.check(r.verdict(r.put("oven.ramp", gateway.Of(1.0))), gateway.StageRefused, gateway.KindNotConnected)
			close(open.get())
			after(time.Second)
			r.script.Out().Down(fmt.Errorf("late words")) // says nothing any more
			if !r.state().Connected {
				t.Errorf("state %+v", r.state())
			}
			r.script.Out().Lost(device.ErrLost)
			after(time.Second)
		}
	})
}

func TestNextOutageIsLoggedAtOnce(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		for range 2 {
			lines := r.log.lines()
			r.script.Out().Lost(device.ErrLost)
			after(time.Second)
			if n := r.log.lines() - lines; n != 2 {
				t.Errorf("%d lines of a loss and a return:\n%s", n, r.log.text())
			}
			r.script.Out().Lost(device.ErrLost) // and again, which is part of it
			after(2 * time.Minute)
		}
	})
}

func TestLinkThatComesAndGoesIsLoggedOnceAMinute(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		for range 100 {
			r.script.Out().Lost(device.ErrLost)
			after(3 * time.Second)
		}
		if lines := r.log.lines(); lines > 13 {
			t.Errorf("%d lines in five minutes:\n%s", lines, r.log.text())
		}
	})
}

func TestLossEndsWaitingPuts(t *testing.T) {
	g := gated()
	put := g.script.OnPut
	g.script.OnPut = func(ctx context.Context, index int, v gateway.Value) device.Outcome {
		put(ctx, index, v)
		return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "unplugged"), Lost: device.ErrLost}
	}
	start(t, g.script, device.Options{}, func(r *rig) {
		running, waiting := r.put("oven.ramp", gateway.Of(1.0)), r.put("oven.ramp", gateway.Of(2.0))
		g.open <- struct{}{}
		r.check(r.verdict(running), gateway.StageSent, gateway.KindUnknownOutcome)
		r.check(r.verdict(waiting), gateway.StageAccepted, gateway.KindNotConnected)
		// The link is away for the back-off; nothing is accepted meanwhile (WEB-17).
		setpoint := r.table()["oven.ramp"].Setpoint
		r.check(r.verdict(r.put("oven.ramp", gateway.Of(3.0))), gateway.StageRefused, gateway.KindNotConnected)
		if r.table()["oven.ramp"].Setpoint != setpoint {
			t.Error("a refused put changed the setpoint")
		}
		after(time.Second)
		if got := g.floats(); !slices.Equal(got, []float64{1}) {
			t.Errorf("sent %v", got)
		}
	})
}

// The faults of the exchange in which the link was lost are not the attributes'.
func TestLossDuringAPoll(t *testing.T) {
	script, _ := answering(model())
	poll := script.OnPoll
	var lose setting[bool]
	script.OnPoll = func(ctx context.Context, i int, into []device.Reading) ([]device.Reading, error) {
		if lose.take() {
			return append(into, good(temperature, gateway.Of(9.0)), fault(ramp, gateway.StatusComm)), device.ErrLost
		}
		return poll(ctx, i, into)
	}
	start(t, script, device.Options{}, func(r *rig) {
		lose.set(true)
		after(time.Second)
		if a := r.table(); a["oven.temperature"].Readback.Value.Float() != 9 || a["oven.ramp"].Readback.Alarm != (gateway.Alarm{}) {
			t.Errorf("temperature %+v, ramp %+v", a["oven.temperature"].Readback, a["oven.ramp"].Readback)
		}
		if r.state().Connected {
			t.Error("still connected")
		}
	})
}

func TestUnsolicitedValues(t *testing.T) {
	script := &devicetest.Script{Has: quiet()}
	script.OnConnect = func(_ context.Context, out device.Sink) error {
		out.Deliver([]device.Reading{good(temperature, gateway.Of(1.0))})
		return nil
	}
	start(t, script, device.Options{}, func(r *rig) {
		old := r.script.Out()
		old.Deliver([]device.Reading{good(temperature, gateway.Of(2.0)), good(ramp, gateway.Of(3.0))})
		updates := r.bus.Messages()
		if last := updates[len(updates)-1].(*gateway.Update); len(last.Samples) != 2 {
			t.Errorf("one message of the device became:\n%s", devicetest.Transcript(updates))
		}
		after(24 * time.Hour)
		if state := r.state(); !state.Connected || len(state.Stale) != 0 {
			t.Errorf("a device that speaks by itself went stale: %+v", state)
		}
		old.Lost(device.ErrLost)
		after(time.Second)
		old.Deliver([]device.Reading{good(temperature, gateway.Of(99.0))})
		if v := r.table()["oven.temperature"].Readback.Value.Float(); v != 1 {
			t.Errorf("a session that has ended delivered %g", v)
		}
	})
}

func TestFreshnessByDeadline(t *testing.T) {
	tests := map[string]struct {
		poll  device.Poll
		reply time.Duration
		limit time.Duration
	}{
		"three periods":            {device.Poll{Period: time.Second}, 500 * time.Millisecond, 3 * time.Second},
		"a period and the timeout": {device.Poll{Period: time.Second}, 5 * time.Second, 6 * time.Second},
		"its own":                  {device.Poll{Period: time.Second, MaxAge: 1500 * time.Millisecond}, 5 * time.Second, 1500 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := model()
			test.poll.Indices = []int{temperature, ramp}
			m.Polls, m.ReplyTimeout = []device.Poll{test.poll}, test.reply
			script, _ := answering(m)
			var open chan struct{}
			script.OnConnect = func(context.Context, device.Sink) error { open = make(chan struct{}); return nil }
			script.OnPut = func(context.Context, int, gateway.Value) device.Outcome {
				<-open
				return device.Outcome{Stage: gateway.StageAcknowledged}
			}
			start(t, script, device.Options{}, func(r *rig) {
				after(10 * time.Second) // a poll has just ended
				r.request(gateway.PutRequest{Path: "oven.level", Value: gateway.Of(1.0), Budget: time.Minute})
				after(test.limit - 1)
				if stale := r.state().Stale; len(stale) != 0 {
					t.Fatalf("stale too early: %v", stale)
				}
				after(1)
				if stale := r.state().Stale; !slices.Equal(stale, []uint32{temperature, ramp}) {
					t.Fatalf("stale %v", stale)
				}
				messages := len(r.bus.Messages())
				after(20 * time.Second)
				if n := len(r.bus.Messages()) - messages; n != 0 {
					t.Errorf("%d messages about nothing", n)
				}
				close(open)
				after(0)
				if stale := r.state().Stale; len(stale) != 0 {
					t.Errorf("stale after a poll: %v", stale)
				}
				if poll := r.sup.Stats().Polls[0]; poll.Skipped == 0 || poll.Wanted != time.Second {
					t.Errorf("stats %+v", poll)
				}
			})
		})
	}
}

func TestHeartbeat(t *testing.T) {
	for period, want := range map[time.Duration]int{0: 0, time.Second: 10} {
		script := &devicetest.Script{Has: quiet()}
		start(t, script, device.Options{Heartbeat: period}, func(r *rig) {
			before := len(r.bus.Messages())
			after(10 * time.Second)
			if n := len(r.bus.Messages()) - before; n != want {
				t.Errorf("%d states in 10 s with a heartbeat of %v", n, period)
			}
		})
	}
}

func TestSequenceNumbersStartAtTheTime(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		// The bubble's clock has not moved since the start.
		now := uint64(time.Now().UnixMicro())
		s := r.table()["oven.temperature"].Readback
		if s.Seq != now || r.bus.Owner().Term != now {
			t.Errorf("seq %d, term %d, started at %d", s.Seq, r.bus.Owner().Term, now)
		}
		first := r.bus.Messages()[0].(*gateway.Announcement).Attributes[temperature].Readback
		if first.Seq != 0 || !first.Time.IsZero() || first.Alarm != gateway.Undefined {
			t.Errorf("before the first poll: %+v", first)
		}
		after(5 * time.Second)
		later := r.table()["oven.temperature"].Readback
		if later.Seq != s.Seq || later.Mask != 0 || !later.Time.After(s.Time) {
			t.Errorf("an unchanged poll made %+v of %+v", later, s)
		}
	})
}

func TestStats(t *testing.T) {
	script, silent := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		r.verdict(r.put("oven.ramp", gateway.Of(1.0)))
		silent.set([]int{0})
		after(2 * time.Second)
		stats := r.sup.Stats()
		if !stats.Connected || stats.Errors[gateway.StatusTimeout] != 4 || stats.Puts[gateway.StageAcknowledged] != 1 ||
			stats.Connects != 1 || stats.Polls[0].Exchanges != 3 || stats.Polls[0].Achieved != time.Second {
			t.Errorf("%+v", stats)
		}
	})
}

// The read-back of a put says what a poll would have said, so puts in a row do
// not make stale what they read.
func TestAReadBackKeepsFresh(t *testing.T) {
	m := model()
	m.Polls = []device.Poll{{Period: time.Second, Indices: []int{temperature}}, {Period: time.Second, Indices: []int{ramp}}}
	script, _ := answering(m)
	script.OnPut = func(_ context.Context, index int, v gateway.Value) device.Outcome {
		<-time.After(2 * time.Second)
		return device.Outcome{Stage: gateway.StageVerified, Readings: []device.Reading{good(index, v)}}
	}
	start(t, script, device.Options{}, func(r *rig) {
		after(5 * time.Second)
		for i := range 4 {
			r.request(gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(float64(i)), Urgent: true, Budget: time.Minute})
		}
		after(7 * time.Second)
		if stale := r.state().Stale; !slices.Equal(stale, []uint32{temperature}) {
			t.Errorf("stale %v, want what no put has read back", stale)
		}
	})
}

func TestCA04AStateThatIsNoneIsLoggedOnceWithWhatTheDeviceSaid(t *testing.T) {
	m := model()
	m.Polls = []device.Poll{{Period: time.Second, Indices: []int{heater}}}
	script := &devicetest.Script{Has: m}
	script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
		r := fault(heater, gateway.StatusState)
		r.Alarm.Text = "the device says 7, which is no state"
		return append(into, r), nil
	}
	start(t, script, device.Options{}, func(r *rig) {
		after(10 * time.Second)
		if got := r.table()["oven.heater"].Readback.Alarm; got.Severity != gateway.Invalid || got.Text != "the device says 7, which is no state" {
			t.Errorf("the alarm is %+v", got)
		}
		if log := r.log.text(); strings.Count(log, "says 7") != 1 {
			t.Errorf("log:\n%s", log)
		}
	})
}
