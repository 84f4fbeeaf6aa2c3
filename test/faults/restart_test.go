package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// A driver that is killed says nothing of it. Its successor is right at once,
// and what was known before is never shown as good after the hub knew better.
func TestADriverThatWasKilledAndStartedAnew(t *testing.T) {
	s := newSplit(t)
	driver := s.driver()
	s.instrument.change(10)
	s.known(10)
	before := s.hub.Get("oven.value")
	for value := 11; value <= 14; value++ {
		stream := s.hub.Watch("oven.value")
		driver.Kill()
		s.instrument.change(value)
		if value%2 == 0 { // also after the hub has noticed
			s.hub.Await("oven.value", silence, "that of a lost driver", lostAs("driver_lost"))
		}
		driver = s.driver()
		after := s.hub.Await("oven.value", able, fmt.Sprint(value), is(value))
		if after.Seq <= before.Seq || !after.Time.After(before.Time) {
			t.Errorf("%s\ndoes not follow %s", after.Body, before.Body)
		}
		before = after
		noReturn(t, stream.Waiting(), value-1)
		if r := s.hub.Put("oven.value", fmt.Sprint(value), ""); r.Status != http.StatusOK {
			t.Errorf("a put to the new driver: %d %s", r.Status, r.Body)
		}
	}
}

// noReturn checks that an old value is not shown as good behind an event that
// says that it is not.
func noReturn(t *testing.T, events []rig.Reply, old int) {
	t.Helper()
	seenLost := false
	for _, event := range events {
		if event.Role == "setpoint" {
			continue
		}
		if !event.Good() {
			seenLost = true
		} else if seenLost && event.Number() == float64(old) {
			t.Errorf("the old value is shown as good again: %s", event.Body)
		}
	}
	if !seenLost {
		t.Error("the stream did not tell of the loss")
	}
}

func TestADriverThatLeavesSaysSo(t *testing.T) {
	s := newSplit(t)
	driver := s.driver()
	s.known(0)
	driver.Stop()
	s.hub.Await("oven.value", able, "that of a driver that left", lostAs("driver_lost"))
	s.instrument.change(3)
	s.driver()
	s.hub.Await("oven.value", able, "3", is(3))
}

func TestAHubThatJoinsLateHasTheWholeTable(t *testing.T) {
	s := newSplit(t)
	s.driver()
	soft := program.Start(t, "soft", onBus(noFrontends, fmt.Sprintf("url: \"nats://%s\"", s.bus))+"devices: {soft: {driver: soft, count: 1000}}\n")
	defer soft.Stop()
	s.known(0)
	if r := s.hub.Put("oven.value", "21", ""); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := s.hub.Await("soft.v00999", rig.Limit, "there", is(0)); r.Status != http.StatusOK {
		t.Fatal(r.Body)
	}
	if r := s.hub.Put("soft.v00999", "4.5", ""); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for range 3 {
		late := program.Start(t, "late", onBus(withREST, fmt.Sprintf("url: \"nats://%s\"", s.bus)))
		began := time.Now()
		late.Await("oven.value", able, "21", is(21))
		got := late.Await("soft.v00999", able, "there", func(r *rig.Reply) bool { return r.Good() && r.Number() == 4.5 })
		if first := s.hub.Get("soft.v00999"); got.Seq != first.Seq || !got.Time.Equal(first.Time) || got.Setpoint.Seq != first.Setpoint.Seq {
			t.Errorf("two hubs differ:\n%s\n%s", got.Body, first.Body)
		}
		if n := len(late.Names("soft.>")); n != 1000 {
			t.Errorf("%d attributes of 1000", n)
		}
		t.Logf("the late hub was right after %v", time.Since(began))
		if r := late.Put("oven.value", "21", ""); r.Status != http.StatusOK {
			t.Errorf("a put by the late hub: %d %s", r.Status, r.Body)
		}
		late.Stop()
	}
}

// The bus is a process of its own here. Attempts to reach it again are at most
// a second apart.
func TestTheBusGoesAwayAndComesBack(t *testing.T) {
	const reconnect = time.Second
	i, address := newInstrument(t), rig.FreePort(t)
	bus := startBus(t, address)
	url := fmt.Sprintf("url: \"nats://%s\"", address)
	driver := program.Start(t, "driver", onBus(noFrontends, url)+oven(i.address()))
	hub := program.Start(t, "hub", onBus(withREST, url))
	i.change(30)
	hub.Await("oven.value", rig.Limit, "30", is(30))
	for value := 31; value <= 33; value++ {
		stream := hub.Watch("oven.value")
		if value == 32 {
			bus.Stop()
		} else {
			bus.Kill()
		}
		lost := hub.Await("oven.value", able, "that of a lost bus", lostAs("bus_lost"))
		if lost.Number() != float64(value-1) {
			t.Errorf("the last value does not stay: %s", lost.Body)
		}
		v := verdict{value: 7000 + value, reply: hub.Put("oven.value", fmt.Sprint(7000+value), "")}
		if v.reply.Code != "bus_down" || v.reply.Stage != "refused" {
			t.Errorf("a put without a bus: %d %s", v.reply.Status, v.reply.Body)
		}
		i.change(value)
		// The driver goes on to read meanwhile.
		i.await(len(i.got()), "a poll", func(r request) bool { return r.text == "V?" })
		bus = startBus(t, address)
		began := time.Now()
		hub.Await("oven.value", reconnect+able, fmt.Sprint(value), is(value))
		t.Logf("right after %v", time.Since(began))
		noReturn(t, stream.Waiting(), value-1)
		if r := hub.Put("oven.value", fmt.Sprint(value), ""); r.Status != http.StatusOK {
			t.Errorf("a put: %d %s", r.Status, r.Body)
		}
		v.check(t, i.writes(v.value))
	}
	driver.Stop()
	hub.Stop()
}

func startBus(t *testing.T, address string) *rig.Gateway {
	t.Helper()
	return program.Start(t, "bus", onBus(noFrontends, fmt.Sprintf("listen: %q", address)))
}
