package bus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
)

func TestAPutAndItsVerdict(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, gate := bustest.Connect(t, broker), bustest.Connect(t, broker)
	hub, otherHub := listen(t, gate), listen(t, gate)
	handler := newRecorder()
	answers := make(chan func(*gateway.PutVerdict), 1)
	handler.onPut = func(_ *gateway.Put, answer func(*gateway.PutVerdict)) { answers <- answer }
	own(t, driver, oven, handler)

	p := put(oven, 1<<63)
	p.ID.Hub = 1<<64 - 1
	p.Caller = gateway.Caller{Identity: "anna", Protocol: "rest"}
	must(t, hub.SendPut(p))
	if diff := cmp.Diff(p, take(t, handler.puts)); diff != "" {
		t.Error(diff)
	}
	answer := take(t, answers)
	refresh := put(oven, 8)
	refresh.Value, refresh.Refresh = gateway.Value{}, true
	must(t, hub.SendPut(refresh))
	if diff := cmp.Diff(refresh, take(t, handler.puts)); diff != "" {
		t.Error(diff)
	}
	take(t, answers)
	want := &gateway.PutVerdict{Owner: oven, ID: p.ID, Revision: 3, Index: 2, Verdict: gateway.Verdict{
		Stage: gateway.StageVerified, Readback: sample(gateway.Of(1.0), 3),
	}}
	answer(want)
	answer(&gateway.PutVerdict{Owner: oven, ID: p.ID}) // the second does nothing
	if diff := cmp.Diff(want, next[*gateway.PutVerdict](hub)); diff != "" {
		t.Error(diff)
	}
	must(t, driver.State(&gateway.DeviceState{Owner: oven}))
	next[*gateway.DeviceState](hub)      // and no second verdict
	next[*gateway.DeviceState](otherHub) // and no verdict at all
}

func TestBUS12NobodyListens(t *testing.T) {
	conn := bustest.New(t)
	hub := listen(t, conn)
	must(t, hub.SendPut(put(oven, 5)))
	got := next[*gateway.PutVerdict](hub)
	if got.ID != (gateway.PutID{Hub: 77, N: 5}) || got.Verdict.Stage != gateway.StageRefused ||
		got.Verdict.Err.Kind != gateway.KindNotConnected || got.Verdict.Err.Stage != gateway.StageRefused {
		t.Errorf("got %+v", got)
	}
}

func TestBUS12AReleasedOwnerRefusesWhatItHasNotSeen(t *testing.T) {
	conn := bustest.New(t)
	hub := listen(t, conn)
	handler := newRecorder()
	entered, leave := make(chan struct{}, 3), make(chan struct{})
	handler.onPut = func(_ *gateway.Put, answer func(*gateway.PutVerdict)) {
		entered <- struct{}{}
		<-leave
		answer(&gateway.PutVerdict{Owner: oven, Verdict: gateway.Verdict{Stage: gateway.StageSent}})
	}
	release := own(t, conn, oven, handler)
	for n := range uint64(3) {
		must(t, hub.SendPut(put(oven, n)))
	}
	take(t, entered)
	released := make(chan struct{})
	go func() { release(); close(released) }()
	nothing(t, released) // a call is in progress
	close(leave)
	take(t, released)
	sent := 0
	for range 3 { // no put is left without a verdict
		switch v := next[*gateway.PutVerdict](hub); v.Verdict.Stage {
		case gateway.StageSent:
			sent++
		case gateway.StageRefused:
		default:
			t.Errorf("got %+v", v)
		}
	}
	if seen := len(handler.puts); seen != sent {
		t.Errorf("the handler saw %d puts, %d were sent", seen, sent)
	}
	must(t, hub.SendPut(put(oven, 9)))
	if v := next[*gateway.PutVerdict](hub); v.Verdict.Err.Kind != gateway.KindNotConnected {
		t.Errorf("got %+v", v)
	}
}

func TestBUS06AVerdictNeverOvertakesItsUpdate(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, hub := bustest.Connect(t, broker), listen(t, bustest.Connect(t, broker))
	handler := newRecorder()
	handler.onPut = func(p *gateway.Put, answer func(*gateway.PutVerdict)) {
		if err := driver.Update(update(oven, p.Value, p.ID.N)); err != nil {
			t.Error(err)
		}
		answer(&gateway.PutVerdict{Owner: oven, Verdict: gateway.Verdict{Stage: gateway.StageVerified}})
	}
	own(t, driver, oven, handler)
	const all = 3000
	for n := uint64(1); n <= all; n++ {
		must(t, hub.SendPut(put(oven, n)))
	}
	latest := uint64(0)
	for done := 0; done < all; {
		switch m := hub.next().(type) {
		case *gateway.Update:
			latest = m.Samples[0].Sample.Seq
		case *gateway.PutVerdict:
			if m.ID.N > latest {
				t.Fatalf("verdict of put %d came before its update; the latest was %d", m.ID.N, latest)
			}
			done++
		}
	}
}

func TestPutsThatCannotBeReadAreRefused(t *testing.T) {
	conn := bustest.New(t)
	hub := listen(t, conn)
	handler := newRecorder()
	own(t, conn, oven, handler)
	p := put(oven, 1)
	p.Path = "lamp.x" // of another device
	must(t, hub.SendPut(p))
	v := next[*gateway.PutVerdict](hub)
	if v.ID != p.ID || v.Verdict.Stage != gateway.StageRefused || v.Verdict.Err.Kind != gateway.KindMalformed {
		t.Errorf("got %+v", v)
	}
	nothing(t, handler.puts)
	if conn.Stats().Malformed != 1 {
		t.Errorf("%+v", conn.Stats())
	}
}

// Only of an owner that is not there something is said: at once, and for certain.
func TestAnOwnerThatIsAskedFor(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, gate := bustest.Connect(t, broker), bustest.Connect(t, broker)
	hub := listen(t, gate)
	handler := newRecorder()
	own(t, driver, oven, handler)
	must(t, hub.Ask(oven))
	must(t, hub.Echo()) // comes behind what would be said
	next[*gateway.Echo](hub)

	older := gateway.Owner{Device: "oven", Instance: "i0", Term: 3}
	must(t, hub.Ask(older))
	if got := next[*gateway.Absent](hub); got.Owner != older {
		t.Errorf("got %v", got.Owner)
	}
	must(t, driver.Close())
	must(t, hub.Ask(oven))
	if got := next[*gateway.Absent](hub); got.Owner != oven {
		t.Errorf("got %v", got.Owner)
	}
	nothing(t, handler.puts)
	for _, conn := range []*bus.Conn{gate, driver} {
		if s := conn.Stats(); s.Malformed != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A hub that does not read hears its echo behind everything that was sent before.
func TestAnEchoComesBehindWhatWasSentBefore(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, gate := bustest.Connect(t, broker), bustest.Connect(t, broker)
	hub := listen(t, gate)
	const all = 1000
	for n := uint64(1); n <= all; n++ {
		must(t, driver.Update(update(oven, gateway.Of(1.0), n)))
	}
	own(t, driver, oven, newRecorder()) // waits until the server has everything
	must(t, hub.Echo())
	for range all {
		next[*gateway.Update](hub)
	}
	next[*gateway.Echo](hub)
}
