package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/polygate/gateway/test/rig"
)

// handover is how long it may take until another process has the instrument.
const handover = 10 * time.Second

// A leased is a gateway in parts, whose drivers share a lease on the instrument.
type leased struct {
	split
	address string
	store   string // NATS's folder
	nats    *server.Server
}

func newLeased(t *testing.T) *leased {
	t.Helper()
	s := &leased{address: rig.FreePort(t), store: t.TempDir()}
	s.split = split{t: t, instrument: newInstrument(t), bus: s.address}
	s.start()
	t.Cleanup(s.stop)
	s.hub = program.Start(t, "hub", onBus(withREST, fmt.Sprintf("url: \"nats://%s\"", s.bus)))
	return s
}

func (s *leased) start() {
	s.t.Helper()
	var port int
	if _, err := fmt.Sscanf(s.address, "127.0.0.1:%d", &port); err != nil {
		s.t.Fatal(err)
	}
	opts := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: s.store, NoSigs: true, NoLog: true}
	var err error
	if s.nats, err = server.NewServer(opts); err != nil {
		s.t.Fatal(err)
	}
	s.nats.Start()
	if !s.nats.ReadyForConnections(rig.Limit) {
		s.t.Fatal("NATS does not start")
	}
}

func (s *leased) stop() { s.nats.Shutdown(); s.nats.WaitForShutdown() }

// driver starts a driver of the one instrument that takes part in the lease.
func (s *leased) driver() *rig.Gateway {
	s.t.Helper()
	s.drivers++
	bus := fmt.Sprintf("url: \"nats://%s\", lease: oven", s.bus)
	return program.Start(s.t, fmt.Sprintf("driver %d", s.drivers), onBus(noFrontends, bus)+oven(s.instrument.address()))
}

// handedOver waits until the instrument is read over a new connection, and the
// hub shows a value that was set meanwhile.
func (s *leased) handedOver(within time.Duration) {
	s.t.Helper()
	s.instrument.change(s.drivers * 100)
	s.hub.Await("oven.value", within, "what the instrument holds", is(s.drivers*100))
	s.oneAtATime()
}

// oneAtATime looks whether anybody has spoken after another began to.
func (s *leased) oneAtATime() {
	s.t.Helper()
	silenced, last := map[string]bool{}, ""
	for n, r := range s.instrument.got() {
		if r.from == last {
			continue
		}
		if silenced[r.from] {
			s.t.Fatalf("request %d, %q, is of %s, after another had begun to talk", n, r.text, r.from)
		}
		silenced[last], last = true, r.from
	}
}

// Processes with one lease are killed, held, stopped and cut off from NATS. The
// instrument never hears two, and clients of the hub, who stay connected, see the
// device as lost in between and good values after.
func TestALeaseLetsOneProcessTalkAtATime(t *testing.T) {
	s := newLeased(t)
	first := s.driver()
	s.hub.AwaitGood("oven.value")
	second := s.driver()

	t.Log("the owner is killed")
	first.Kill()
	s.hub.Await("oven.value", silence, "that of a lost driver", lostAs("driver_lost"))
	s.handedOver(handover)
	first = s.driver()

	t.Log("the owner is held in an exchange, and goes on when another has the instrument")
	release := s.instrument.stall("SLOW?")
	second.Hold()
	release()
	s.hub.Await("oven.value", silence, "that of a lost driver", lostAs("driver_lost"))
	s.handedOver(handover)
	second.Continue()
	second.AwaitLog("not holding the lease any more")
	s.oneAtATime()

	t.Log("the owner stops, and the one that was held takes over at once")
	first.Stop()
	s.drivers++
	s.handedOver(4 * time.Second) // the lease would last for longer
	first = s.driver()

	t.Log("NATS goes away: nobody may talk until it is back")
	s.stop()
	if !rig.Until(rig.Limit, func() bool { return s.instrument.connections() == 0 }) {
		t.Error("the instrument is still talked to")
	}
	s.start()
	s.handedOver(rig.Limit)

	t.Log("somebody takes the lease by force while a put is under way")
	s.hub.AwaitGood("oven.value")
	release = s.instrument.hold("V?") // its read-back, at the latest
	defer release()
	answers := make(chan rig.Reply, 1)
	go func() {
		reply, err := s.hub.TryPut("oven.value", "7", "budget=20s")
		if err != nil {
			t.Error(err)
		}
		answers <- reply
	}()
	s.instrument.await(0, "V=7 or what is before it", func(r request) bool { return r.held })
	s.takeByForce()
	v := verdict{value: 7, reply: <-answers}
	if v.reply.Status == http.StatusOK {
		t.Errorf("the verdict of a put whose lease was lost: %s", v.reply.Body)
	}
	release()
	v.check(t, s.instrument.writes(7))
	s.handedOver(rig.Limit)
	v.check(t, s.instrument.writes(7))
	first.Stop()
	second.Stop()
}

// takeByForce writes a record of a holder that does not exist.
func (s *leased) takeByForce() {
	s.t.Helper()
	nc, err := nats.Connect("nats://" + s.bus)
	if err != nil {
		s.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		s.t.Fatal(err)
	}
	kv, err := js.KeyValue(s.t.Context(), "polygate-leases")
	if err == nil {
		_, err = kv.Put(s.t.Context(), "polygate.oven", []byte(`{"holder":"nobody","term":1}`))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestALeaseWithoutJetStreamIsAnErrorAtTheStart(t *testing.T) {
	s := newSplit(t) // its bus is a gateway's own, which keeps nothing
	g := program.Launch(t, "driver", onBus(noFrontends, fmt.Sprintf("url: \"nats://%s\", lease: oven", s.bus))+oven(s.instrument.address()))
	if code := g.ExitCode(); code == 0 || !g.Said("bus.lease") {
		t.Errorf("it ended with %d and did not say why", code)
	}
	if n := len(s.instrument.got()); n != 0 {
		t.Errorf("the instrument got %d requests", n)
	}
}
