package faults_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

// A split is a gateway in parts: a bus with a frontend, and drivers beside it.
type split struct {
	t          *testing.T
	instrument *instrument
	bus        string // its address
	hub        *rig.Gateway
	drivers    int
}

// newSplit starts the part with bus and frontend.
func newSplit(t *testing.T) *split {
	t.Helper()
	s := &split{t: t, instrument: newInstrument(t), bus: rig.FreePort(t)}
	s.hub = program.Start(t, "hub", onBus(withREST, fmt.Sprintf("listen: %q", s.bus)))
	return s
}

// driver starts a driver of the one instrument, with a link of its own.
func (s *split) driver() *rig.Gateway {
	s.t.Helper()
	s.drivers++
	return program.Start(s.t, fmt.Sprintf("driver %d", s.drivers), s.driverFile())
}

func (s *split) driverFile() string {
	return onBus(noFrontends, fmt.Sprintf("url: \"nats://%s\"", s.bus)) + oven(s.instrument.address())
}

// known waits until the hub shows what the instrument holds.
func (s *split) known(value int) {
	s.t.Helper()
	s.hub.Await("oven.value", rig.Limit, fmt.Sprint(value), is(value))
}

// is wants a good value.
func is(value int) func(*rig.Reply) bool {
	return func(r *rig.Reply) bool { return r.Status == http.StatusOK && r.Good() && r.Number() == float64(value) }
}

// lostAs wants an availability that is not good.
func lostAs(state string) func(*rig.Reply) bool {
	return func(r *rig.Reply) bool { return r.Availability.State == state && !r.Good() }
}

func TestAHungDriverIsLostAndItsOldValuesAreNotShownAsGoodAfterwards(t *testing.T) {
	s := newSplit(t)
	driver := s.driver()
	s.instrument.change(1)
	s.known(1)
	stream := s.hub.Watch("oven.value")

	driver.Hold()
	s.instrument.change(2)
	lost := s.hub.Await("oven.value", silence, "that of a lost driver", lostAs("driver_lost"))
	if lost.Number() != 1 {
		t.Errorf("the last value does not stay: %s", lost.Body)
	}
	if put := s.hub.Put("oven.value", "3", ""); put.Code != "not_connected" || put.Stage != "refused" {
		t.Errorf("a put to a lost driver: %d %s", put.Status, put.Body)
	}
	driver.Continue()
	// If it was held in an exchange, the line is brought back in step first.
	s.hub.Await("oven.value", 2*able, "what the instrument holds", is(2))
	noReturn(t, stream.Waiting(), 1)
	if n := s.instrument.writes(3); n != 0 {
		t.Errorf("the refused put was written %d times", n)
	}
}

// A reply that came while the driver hung is as old as that: too late to be taken.
func TestAReplyThatWaitedInAHungDriverIsNotTakenForNew(t *testing.T) {
	s := newSplit(t)
	driver := s.driver()
	s.instrument.change(1)
	s.known(1)
	stream := s.hub.Watch("oven.value")
	release := s.instrument.stall("V?")
	driver.Hold()
	release()
	release = s.instrument.hold("V?") // so that the reply cannot hide behind that of the next poll
	s.instrument.change(2)
	s.hub.Await("oven.value", silence, "that of a lost driver", lostAs("driver_lost")) // longer than the reply timeout
	driver.Continue()
	back := s.hub.Await("oven.value", rig.Limit, "connected", func(r *rig.Reply) bool { return r.Availability.State != "driver_lost" })
	if back.Good() {
		t.Errorf("a value of before the driver hung is shown as good: %s", back.Body)
	}
	release()
	s.hub.Await("oven.value", rig.Limit, "what the instrument holds", is(2))
	noReturn(t, stream.Waiting(), 1)
}

// Who hangs cannot look at a clock. When everything goes on, what has become late
// meanwhile is not done.
func TestNoPutIsWrittenAfterItsBudgetWhateverHung(t *testing.T) {
	t.Run("the driver, while it waited for its turn", func(t *testing.T) {
		s := newSplit(t)
		driver := s.driver()
		s.known(0)
		release := s.instrument.stall("SLOW?")
		answers := make(chan rig.Reply, 1)
		go func() {
			reply, err := s.hub.TryPut("oven.value", "5", "budget=1s")
			if err != nil {
				t.Error(err)
			}
			answers <- reply
		}()
		s.hub.Await("oven.value", able, "accepted", func(r *rig.Reply) bool { return r.Setpoint.Number() == 5 })
		driver.Hold()
		release()
		v := verdict{value: 5, reply: <-answers}
		if v.reply.Code != "unknown_outcome" {
			t.Errorf("the verdict while the driver hangs: %d %s", v.reply.Status, v.reply.Body)
		}
		driver.Continue()
		s.neverWritten(&v)
	})
	t.Run("the driver, while it was on its way", func(t *testing.T) {
		s := newSplit(t)
		driver := s.driver()
		s.known(0)
		driver.Hold()
		v := verdict{value: 6, reply: s.hub.Put("oven.value", "6", "budget=1s")}
		if v.reply.Code != "unknown_outcome" {
			t.Errorf("the verdict while the driver hangs: %d %s", v.reply.Status, v.reply.Body)
		}
		driver.Continue()
		s.neverWritten(&v)
	})
	t.Run("the bus, while it was on its way", func(t *testing.T) {
		s := &split{t: t, instrument: newInstrument(t), bus: rig.FreePort(t)}
		bus := startBus(t, s.bus)
		s.hub = program.Start(t, "hub", onBus(withREST, fmt.Sprintf("url: \"nats://%s\"", s.bus)))
		s.driver()
		s.known(0)
		bus.Hold()
		v := verdict{value: 8, reply: s.hub.Put("oven.value", "8", "budget=1s")}
		if v.reply.Code != "unknown_outcome" {
			t.Errorf("the verdict while the bus hangs: %d %s", v.reply.Status, v.reply.Body)
		}
		bus.Continue()
		s.neverWritten(&v)
	})
	t.Run("the driver, while it was written", func(t *testing.T) {
		s := newSplit(t)
		driver := s.driver()
		s.known(0)
		release := s.instrument.hold("V=7")
		answers := make(chan rig.Reply, 1)
		go func() {
			reply, err := s.hub.TryPut("oven.value", "7", "budget=1s")
			if err != nil {
				t.Error(err)
			}
			answers <- reply
		}()
		s.instrument.await(0, "V=7", func(r request) bool { return r.text == "V=7" })
		driver.Hold()
		release()
		v := verdict{value: 7, reply: <-answers}
		if v.reply.Code != "unknown_outcome" || v.reply.Stage != "sent" {
			t.Errorf("the verdict while the driver hangs: %d %s", v.reply.Status, v.reply.Body)
		}
		driver.Continue()
		s.marker()
		v.check(t, s.instrument.writes(7))
	})
}

// marker puts a value and waits until it was written: puts run in the order in
// which they came, so whatever came before it has been written, or never will be.
func (s *split) marker() {
	s.t.Helper()
	s.hub.AwaitGood("oven.value")
	if r := s.hub.Put("oven.value", "1000", ""); r.Status != http.StatusOK || r.Number() != 1000 {
		s.t.Errorf("the put behind it: %d %s", r.Status, r.Body)
	}
}

func (s *split) neverWritten(v *verdict) {
	s.t.Helper()
	s.marker()
	if n := s.instrument.writes(v.value); n != 0 {
		s.t.Errorf("%d was written %d times, after its budget", v.value, n)
	}
	v.check(s.t, s.instrument.writes(v.value))
}
