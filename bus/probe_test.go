package bus_test

import (
	"slices"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

// A server that hangs, or a network that loses what is sent, tells nobody. Who misses
// an owner's beat asks, and leaves the connection long before the pings would.
func TestAServerThatDoesNotAnswerIsLeftWhenAnOwnerIsMissed(t *testing.T) {
	for name, lost := range map[string]directions{
		"nothing passes":     {toServer: true, toClient: true},
		"nothing reaches it": {toServer: true},
		"nothing comes back": {toClient: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := outside(t)
			hub := listen(t, dial(t, p.url()))
			p.swallow(lost)
			must(t, hub.Ask(oven))
			if s := next[*gateway.BusState](hub); s.Connected || s.Words != "NATS does not answer" {
				t.Errorf("got %+v", s)
			}
			wantKind(t, hub.SendPut(put(oven, 1)), gateway.KindBusDown)
			p.swallow(directions{})
			if s := next[*gateway.BusState](hub); !s.Connected {
				t.Errorf("got %+v", s)
			}
			must(t, hub.Ask(oven))
			next[*gateway.Absent](hub)
		})
	}
}

// With several servers it is left for one of the others, although it still takes
// connections.
func TestAServerThatDoesNotAnswerIsLeftForAnother(t *testing.T) {
	t.Parallel()
	servers := []*proxy{outside(t), outside(t)}
	hub := listen(t, dial(t, servers[0].url()+","+servers[1].url()))
	first := slices.IndexFunc(servers, func(p *proxy) bool { return p.connections() > 0 })
	servers[first].swallow(directions{toServer: true, toClient: true})
	must(t, hub.Ask(oven))
	if s := next[*gateway.BusState](hub); s.Connected {
		t.Errorf("got %+v", s)
	}
	if s := next[*gateway.BusState](hub); !s.Connected || s.Words != "connected to "+servers[1-first].url() {
		t.Errorf("got %+v", s)
	}
	must(t, hub.Ask(oven))
	next[*gateway.Absent](hub)
}

// Where nobody listens to owners, they miss themselves.
func TestAnOwnerThatDoesNotHearItselfLeavesTheServer(t *testing.T) {
	t.Parallel()
	p := outside(t)
	conn := dial(t, p.url())
	handler := newRecorder()
	own(t, conn, oven, handler)
	take(t, handler.states)
	must(t, conn.State(&gateway.DeviceState{Owner: oven}))
	p.swallow(directions{toServer: true})
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for left := false; !left; {
		select {
		case s := <-handler.states:
			left = !s.Connected
			if s.Words != "NATS does not answer" {
				t.Errorf("got %+v", s)
			}
		case <-beat.C:
			_ = conn.State(&gateway.DeviceState{Owner: oven})
		case <-time.After(limit):
			t.Fatal("the server was not left")
		}
	}
	p.swallow(directions{})
	if !take(t, handler.states).Connected {
		t.Error("not connected again")
	}
}

// One that answers is not left, however silent the owners are.
func TestAServerThatAnswersIsNotLeft(t *testing.T) {
	t.Parallel()
	conn := dial(t, outside(t).url())
	hub := listen(t, conn)
	own(t, conn, oven, newRecorder())
	for range 100 {
		must(t, hub.Ask(oven))
	}
	must(t, hub.Echo())
	next[*gateway.Echo](hub)
	must(t, conn.Close()) // waits for what was asked
	if s := conn.Stats(); s.Reconnects != 0 || s.LastError != "" {
		t.Errorf("%+v", s)
	}
}
