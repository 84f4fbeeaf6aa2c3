package bus_test

import (
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
)

func optionsWithPrefix(broker *embedded.Broker, prefix string) bus.Options {
	return bus.Options{Config: bus.Config{Prefix: prefix}, Broker: broker}
}

func TestALateHubAsksAndGetsEverything(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver := bustest.Connect(t, broker)
	handler := newRecorder()
	own(t, driver, oven, handler)
	must(t, driver.Announce(announcement(3, 1)))
	hub := listen(t, bustest.Connect(t, broker))
	must(t, hub.Describe())
	take(t, handler.describes)
	must(t, driver.Announce(announcement(3, 1)))
	if paths, _, _ := announced(hub); len(paths) != 3 {
		t.Errorf("%v", paths)
	}
}

func TestBUS02WhatIsPublishedAfterSubscribeArrives(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, gate := bustest.Connect(t, broker), bustest.Connect(t, broker)
	for n := range uint64(500) {
		s, err := gate.Subscribe()
		must(t, err)
		must(t, driver.Update(update(oven, gateway.Of(1.0), n)))
		hub := &ear{Subscription: s, t: t, ctx: t.Context()}
		next[*gateway.BusState](hub)
		if got := next[*gateway.Update](hub).Samples[0].Sample.Seq; got != n {
			t.Fatalf("got %d, want %d", got, n)
		}
		s.Close()
	}
}

func TestBUS02WhatIsAskedAfterOwnArrives(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, hub := bustest.Connect(t, broker), listen(t, bustest.Connect(t, broker))
	for range 100 {
		handler := newRecorder()
		release := own(t, driver, oven, handler)
		must(t, hub.Describe())
		take(t, handler.describes)
		release()
	}
}

func TestRivalsHearOfEachOther(t *testing.T) {
	tests := []struct {
		name  string
		rival gateway.Owner
		heard bool
	}{
		{"ourselves", oven, false},
		{"an older owner", gateway.Owner{Device: "oven", Instance: "i0", Term: 3}, true},
		{"one of the same term", gateway.Owner{Device: "oven", Instance: "i2", Term: 4}, true},
		{"a newer owner", gateway.Owner{Device: "oven", Instance: "i3", Term: 5}, true},
		{"another device", gateway.Owner{Device: "lamp", Instance: "i4", Term: 9}, false},
	}
	say := map[string]func(*bus.Conn, gateway.Owner) error{
		"announces": func(c *bus.Conn, o gateway.Owner) error { return c.Announce(&gateway.Announcement{Owner: o}) },
		"lives":     func(c *bus.Conn, o gateway.Owner) error { return c.State(&gateway.DeviceState{Owner: o}) },
	}
	broker := bustest.Broker(t, embedded.Options{})
	conn, other := bustest.Connect(t, broker), bustest.Connect(t, broker)
	handler := newRecorder()
	own(t, conn, oven, handler)
	hub := listen(t, other)
	for _, tt := range tests {
		for verb, speak := range say {
			t.Run(tt.name+" "+verb, func(t *testing.T) {
				must(t, speak(other, tt.rival))
				must(t, hub.Describe()) // comes behind it
				take(t, handler.describes)
				if !tt.heard {
					nothing(t, handler.rivals)
				} else if got := take(t, handler.rivals); got != (heardRival{owner: tt.rival}) {
					t.Errorf("got %v", got)
				}
			})
		}
	}
	t.Run("one that leaves", func(t *testing.T) {
		must(t, other.State(&gateway.DeviceState{Owner: tests[3].rival, Leaving: true}))
		must(t, hub.Describe())
		take(t, handler.describes)
		if got := take(t, handler.rivals); got != (heardRival{tests[3].rival, true}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestARestartedDriverTakesOver(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	hub := listen(t, bustest.Connect(t, broker))
	before := bustest.Connect(t, broker)
	oldHandler, newHandler := newRecorder(), newRecorder()
	own(t, before, oven, oldHandler)
	must(t, before.Close()) // as if it was killed

	after := gateway.Owner{Device: "oven", Instance: "i2", Term: 5}
	conn := bustest.Connect(t, broker)
	own(t, conn, after, newHandler)
	must(t, conn.Announce(&gateway.Announcement{Owner: after, Revision: 1}))
	if a := next[*gateway.Announcement](hub); a.Owner != after {
		t.Errorf("got %+v", a)
	}
	must(t, hub.SendPut(put(oven, 1)))
	if v := next[*gateway.PutVerdict](hub); v.Verdict.Err.Kind != gateway.KindNotConnected {
		t.Errorf("the old owner answered: %+v", v)
	}
	must(t, hub.SendPut(put(after, 2)))
	if p := take(t, newHandler.puts); p.ID.N != 2 {
		t.Errorf("got %+v", p)
	}
	nothing(t, oldHandler.puts)
}

func TestOwnRefusesNamesThatAreNoSubjects(t *testing.T) {
	conn := bustest.New(t)
	for _, o := range []gateway.Owner{{}, {Device: "a.b", Instance: "i"}, {Device: "a", Instance: "*"}, {Device: "a"}} {
		if _, err := conn.Own(o, newRecorder()); gateway.KindOf(err) != gateway.KindMalformed {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestAnOwnerThatMissedMessagesIsAskedToAnnounce(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	conn, other := bustest.Connect(t, broker), bustest.Connect(t, broker)
	handler := newRecorder()
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	handler.onPut = func(*gateway.Put, func(*gateway.PutVerdict)) {
		entered <- struct{}{}
		<-leave
	}
	own(t, conn, oven, handler)
	hub := listen(t, other)
	must(t, hub.SendPut(put(oven, 1)))
	take(t, entered) // the handler is held up
	for range 10_000 {
		must(t, other.State(&gateway.DeviceState{Owner: oven}))
	}
	own(t, other, gateway.Owner{Device: "lamp", Instance: "i"}, newRecorder()) // waits until the server has all,
	own(t, conn, gateway.Owner{Device: "fan", Instance: "i"}, newRecorder())   // and then until we have
	close(leave)
	take(t, handler.describes)
	if conn.Stats().Dropped == 0 {
		t.Error("nothing was dropped")
	}
}
