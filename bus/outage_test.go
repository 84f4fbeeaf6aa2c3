package bus_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
)

// outside starts a broker on a port and returns a proxy to it.
func outside(t *testing.T) *proxy {
	t.Helper()
	broker := bustest.Broker(t, embedded.Options{Listen: "127.0.0.1:0"})
	return newProxy(t, strings.TrimPrefix(broker.URL(), "nats://"))
}

func dial(tb testing.TB, url string) *bus.Conn {
	tb.Helper()
	return bustest.Dial(tb, bus.Options{Config: bus.Config{URL: url}})
}

func TestBUS07NothingIsSentLate(t *testing.T) {
	p := outside(t)
	gate, driver := dial(t, p.url()), dial(t, p.url())
	hub := listen(t, gate)
	handler := newRecorder()
	own(t, driver, oven, handler)
	if !take(t, handler.states).Connected {
		t.Error("the first state is not the present one")
	}
	must(t, driver.Update(update(oven, gateway.Of(1.0), 1)))
	next[*gateway.Update](hub)

	p.setDown(true)
	if s := next[*gateway.BusState](hub); s.Connected || s.Words == "" || s.Since.IsZero() {
		t.Errorf("got %+v", s)
	}
	if take(t, handler.states).Connected {
		t.Error("the driver believes that the bus is there")
	}
	for n := range uint64(50) {
		wantKind(t, driver.Update(update(oven, gateway.Of(2.0), 2+n)), gateway.KindBusDown)
		wantKind(t, driver.State(&gateway.DeviceState{Owner: oven}), gateway.KindBusDown)
		wantKind(t, driver.Announce(announcement(1, 1)), gateway.KindBusDown)
		wantKind(t, hub.SendPut(put(oven, n)), gateway.KindBusDown)
		wantKind(t, hub.Describe(), gateway.KindBusDown)
	}

	p.setDown(false)
	if !next[*gateway.BusState](hub).Connected || !take(t, handler.states).Connected {
		t.Error("not connected again")
	}
	settle(t, gate, driver)
	must(t, driver.Update(update(oven, gateway.Of(3.0), 99)))
	if got := next[*gateway.Update](hub).Samples[0].Sample.Seq; got != 99 {
		t.Errorf("number %d came late", got)
	}
	must(t, hub.SendPut(put(oven, 100)))
	if got := take(t, handler.puts); got.ID.N != 100 {
		t.Errorf("put %d came late", got.ID.N)
	}
	nothing(t, handler.describes)
	if s := gate.Stats(); s.Reconnects != 1 || s.LastError == "" || !s.State.Connected {
		t.Errorf("%+v", s)
	}
}

func TestABusThatIsAwayAtTheStart(t *testing.T) {
	p := outside(t)
	p.setDown(true)
	conn := dial(t, p.url())
	s, err := conn.Subscribe()
	must(t, err)
	t.Cleanup(s.Close)
	handler := newRecorder()
	own(t, conn, oven, handler)
	hub := &ear{Subscription: s, t: t, ctx: t.Context()}
	if next[*gateway.BusState](hub).Connected || take(t, handler.states).Connected {
		t.Error("connected too early")
	}
	wantKind(t, hub.Describe(), gateway.KindBusDown)
	p.setDown(false)
	if !next[*gateway.BusState](hub).Connected || !take(t, handler.states).Connected {
		t.Error("not connected")
	}
	must(t, hub.Describe())
	take(t, handler.describes)
	must(t, conn.Update(update(oven, gateway.Of(1.0), 1)))
	next[*gateway.Update](hub)
}

func TestCloseDoesNotWaitForABusThatIsAway(t *testing.T) {
	p := outside(t)
	conn := dial(t, p.url())
	hub := listen(t, conn)
	own(t, conn, oven, newRecorder())
	p.setDown(true)
	if next[*gateway.BusState](hub).Connected {
		t.Error("still connected")
	}
	must(t, conn.Close())
	if _, err := hub.Receive(t.Context(), nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("got %v", err)
	}
	wantKind(t, conn.Update(update(oven, gateway.Of(1.0), 1)), gateway.KindBusDown)
}

func TestBUS11ConnectionsCutAnywhere(t *testing.T) {
	p := outside(t)
	gate, driver := dial(t, p.url()), dial(t, p.url())
	hub := listen(t, gate)
	handler := newRecorder()
	own(t, driver, oven, handler)
	take(t, handler.states)

	// Each text belongs to its number, so a message made of two shows.
	text := func(n uint64) string { return strings.Repeat(fmt.Sprint(n, "-"), int(n%97)) }
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := uint64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := driver.Update(update(oven, gateway.Of(text(n)), n)); err != nil {
				for !take(t, handler.states).Connected {
				}
			}
		}
	}()
	random := rand.New(rand.NewPCG(1, 2))
	latest := uint64(0)
	check := func(m gateway.Message) {
		u, ok := m.(*gateway.Update)
		if !ok {
			return
		}
		if s := u.Samples[0].Sample; s.Value.Text() != text(s.Seq) || s.Seq <= latest {
			t.Fatalf("number %d (%q) behind %d", s.Seq, s.Value.Text(), latest)
		} else {
			latest = s.Seq
		}
	}
	const cuts = 40
	for i := range cuts {
		if i%2 == 0 {
			p.cutAfter(random.IntN(20000), -1)
		} else {
			p.cutAfter(-1, random.IntN(20000))
		}
		for cut := false; !cut; {
			check(hub.next())
			select {
			case <-p.cuts:
				cut = true
			default:
			}
		}
		for before := latest; latest == before; { // the next value repairs it
			check(hub.next())
		}
	}
	close(stop)
	take(t, stopped)
	for _, conn := range []*bus.Conn{gate, driver} {
		if s := conn.Stats(); s.Malformed != 0 {
			t.Errorf("%+v", s)
		}
	}
	if n := gate.Stats().Reconnects + driver.Stats().Reconnects; n == 0 {
		t.Error("nothing was cut")
	}
}

func TestBUS01LostMessagesAreSaid(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	driver, gate := bustest.Connect(t, broker), bustest.Connect(t, broker)
	hub := listen(t, gate)
	const all = 100_000 // more than wait for a hub that does not read
	for n := uint64(1); n <= all; n++ {
		must(t, driver.Update(update(oven, gateway.Of(1.0), n)))
	}
	// Own waits for the server: first until it has everything from the
	// driver, then until the hub's side has everything from the server.
	own(t, driver, oven, newRecorder())
	own(t, gate, oven, newRecorder())

	got, lost := uint64(0), uint64(0)
	for got+lost < all {
		switch m := hub.next().(type) {
		case *gateway.Update:
			got++
		case *gateway.Dropped:
			lost += m.Count
		default:
			t.Fatalf("got %T", m)
		}
	}
	if lost == 0 || got+lost != all || gate.Stats().Dropped != lost {
		t.Errorf("%d received, %d lost of %d; %+v", got, lost, all, gate.Stats())
	}
	must(t, driver.Update(update(oven, gateway.Of(1.0), all+1)))
	if seq := await[*gateway.Update](hub).Samples[0].Sample.Seq; seq != all+1 {
		t.Errorf("got number %d", seq)
	}
}

func TestWhatCannotBeReadIsCountedAndPassedOver(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{Listen: "127.0.0.1:0"})
	conn := bustest.Connect(t, broker)
	hub := listen(t, conn)
	handler := newRecorder()
	own(t, conn, oven, handler)
	raw := rawClient(t, broker.URL())
	for i := range 3 {
		for _, subject := range []string{"update.oven", "announce.oven", "state.oven", "put.oven.i1", "update.a.b"} {
			must(t, raw.Publish("polygate.v1."+subject, []byte{0xff, byte(i)}))
		}
	}
	must(t, raw.Publish("polygate.v1.describe", []byte("whatever")))
	must(t, raw.Flush())
	take(t, handler.describes)
	must(t, conn.Update(update(gateway.Owner{Device: "lamp", Instance: "i"}, gateway.Of(1.0), 1)))
	next[*gateway.Update](hub)
	// 4 subjects of the hub, 3 of the owner.
	if s := conn.Stats(); s.Malformed != 3*(4+3) || s.LastError == "" {
		t.Errorf("%+v", s)
	}
}
