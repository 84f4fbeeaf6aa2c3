package lease_test

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// length is long enough for a busy machine to renew in.
	length = 2 * time.Second
	limit  = 30 * time.Second
)

// A store is a NATS that can be restarted at its address.
type store struct {
	t    *testing.T
	opts server.Options
	srv  *server.Server
}

func newStore(t *testing.T, opts server.Options) *store {
	t.Helper()
	opts.Host, opts.Port, opts.NoSigs, opts.NoLog, opts.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	s := &store{t: t, opts: opts}
	s.start()
	s.opts.Port = s.srv.Addr().(*net.TCPAddr).Port
	t.Cleanup(s.stop)
	return s
}

func (s *store) start() {
	s.t.Helper()
	opts := s.opts
	var err error
	if s.srv, err = server.NewServer(&opts); err != nil {
		s.t.Fatal(err)
	}
	s.srv.Start()
	if !s.srv.ReadyForConnections(limit) {
		s.t.Fatal("NATS does not start")
	}
}

func (s *store) stop() { s.srv.Shutdown(); s.srv.WaitForShutdown() }

// forget restarts with nothing.
func (s *store) forget() {
	s.t.Helper()
	s.stop()
	s.opts.StoreDir = s.t.TempDir()
	s.start()
}

// A part is one process's part in the lease. Stop ends it well; cut takes its
// network away.
type part struct {
	*lease.Lease
	conn      *bus.Conn
	stop, cut func()
}

// join takes part until stop is called or the test ends.
func (s *store) join() *part {
	s.t.Helper()
	network := newNetwork(s.t, s.srv.Addr().String())
	conn := bustest.Dial(s.t, bus.Options{Config: bus.Config{URL: "nats://" + network.Addr().String()}})
	l := lease.New(func() *bus.Conn { return conn }, lease.Options{
		Prefix: "polygate", Name: "oven", Length: length, Log: zerolog.New(zerolog.NewTestWriter(s.t)),
	})
	if err := l.Listen(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.Serve(ctx) }()
	p := &part{Lease: l, conn: conn, cut: network.cut}
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(p.stop)
	return p
}

// await waits until the part holds the lease.
func (p *part) await(t *testing.T) (held context.Context, term uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	held, term, err := p.Await(ctx)
	if err != nil {
		t.Fatalf("no lease: %v, %+v", err, p.Status())
	}
	return held, term
}

// only fails if p may not talk, or any other may.
func (p *part) only(t *testing.T, others ...*part) {
	t.Helper()
	// In this order: who may talk later than another may not must be found out.
	for _, other := range others {
		if _, err := other.Check(); err == nil {
			t.Error("two may talk at the same time")
		}
	}
	if _, err := p.Check(); err != nil {
		t.Errorf("the holder may not talk: %v", err)
	}
}

func ended(t *testing.T, held context.Context) error { //nolint:revive // It is what is looked at, not the caller's.
	t.Helper()
	select {
	case <-held.Done():
		return context.Cause(held)
	case <-time.After(limit):
		t.Fatal("it is still held")
		return nil
	}
}

func jetStream() server.Options { return server.Options{JetStream: true} }

func TestTheLeaseIsHandedOverWhenItsHolderStops(t *testing.T) {
	t.Parallel()
	s := newStore(t, jetStream())
	first := s.join()
	held, term := first.await(t)
	second := s.join()
	first.only(t, second)
	until(t, "the second to know the first", func() bool { return second.Status().Holder == first.Status().Holder })
	first.stop()
	if err := ended(t, held); err == nil {
		t.Error("it ended without a reason")
	}
	_, next := second.await(t)
	if next <= term {
		t.Errorf("term %d after %d", next, term)
	}
	second.only(t, first)
	if status := second.Status(); !status.Held || status.Holder == "" || status.Fault != "" {
		t.Errorf("%+v", status)
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.After(limit); !done(); {
		select {
		case <-end:
			t.Fatalf("still waiting for %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAHolderThatIsCutOffStopsBeforeAnotherBegins(t *testing.T) {
	t.Parallel()
	s := newStore(t, jetStream())
	first := s.join()
	held, term := first.await(t)
	second := s.join()
	first.only(t, second)
	first.cut()
	_, next := second.await(t)
	second.only(t, first)
	if next <= term {
		t.Errorf("term %d after %d", next, term)
	}
	if err := ended(t, held); err == nil || !strings.Contains(err.Error(), "renewed") {
		t.Errorf("it ended since %v", err)
	}
}

func TestOneHoldsItAgainWhenNATSIsBack(t *testing.T) {
	t.Parallel()
	s := newStore(t, jetStream())
	first := s.join()
	held, _ := first.await(t)
	second := s.join()
	s.stop()
	_ = ended(t, held)
	if _, err := first.Check(); err == nil {
		t.Error("it may talk without having renewed")
	}
	s.start()
	got := make(chan *part, 2)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, p := range []*part{first, second} {
		go func() {
			if _, _, err := p.Await(ctx); err == nil {
				got <- p
			}
		}()
	}
	one := <-got
	if one == first {
		one.only(t, second)
	} else {
		one.only(t, first)
	}
}

// A server that has lost everything does not know who may believe to be the holder.
func TestWhatAServerHasForgottenProvesNothing(t *testing.T) {
	t.Parallel()
	t.Run("the holder goes on", func(t *testing.T) {
		t.Parallel()
		s := newStore(t, jetStream())
		first := s.join()
		_, _ = first.await(t)
		second := s.join()
		s.forget()
		held, _ := first.await(t)
		first.only(t, second)
		second.stop()
		first.stop()
		_ = ended(t, held)
	})
	t.Run("another waits until an earlier holder has stopped", func(t *testing.T) {
		t.Parallel()
		s := newStore(t, jetStream())
		first := s.join()
		held, _ := first.await(t)
		first.cut()
		s.forget()
		second := s.join()
		_, _ = second.await(t)
		second.only(t, first)
		_ = ended(t, held)
	})
	t.Run("the bucket is deleted", func(t *testing.T) {
		t.Parallel()
		s := newStore(t, jetStream())
		first := s.join()
		_, _ = first.await(t)
		js, err := first.conn.JetStream()
		if err == nil {
			err = js.DeleteKeyValue(t.Context(), "polygate-leases")
		}
		if err != nil {
			t.Fatal(err)
		}
		until(t, "a bucket", func() bool { _, err := js.KeyValue(t.Context(), "polygate-leases"); return err == nil })
		_, _ = first.await(t)
	})
}

func TestARecordThatSomebodySpoiltIsWrittenAnew(t *testing.T) {
	t.Parallel()
	s := newStore(t, jetStream())
	first := s.join()
	_, _ = first.await(t)
	js, err := first.conn.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "polygate-leases")
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func() error{
		func() error { return kv.Delete(t.Context(), "polygate.oven") },
		func() error { return kv.Purge(t.Context(), "polygate.oven") },
		func() error { _, err := kv.Put(t.Context(), "polygate.oven", []byte("mine")); return err },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		until(t, "a good record", func() bool {
			entry, err := kv.Get(t.Context(), "polygate.oven")
			return err == nil && strings.Contains(string(entry.Value()), first.Status().Holder)
		})
	}
	// Somebody who took it by force has it.
	held, _ := first.await(t)
	if _, err := kv.Put(t.Context(), "polygate.oven", []byte(`{"holder":"admin","term":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, held); err == nil || !strings.Contains(err.Error(), "admin has taken the lease") {
		t.Errorf("it ended since %v", err)
	}
	_, _ = first.await(t) // admin does not renew it
}

func TestWithoutJetStreamThereIsAnErrorAtTheStart(t *testing.T) {
	t.Parallel()
	s := newStore(t, server.Options{})
	conn := bustest.Dial(t, bus.Options{Config: bus.Config{URL: "nats://" + s.srv.Addr().String()}})
	l := lease.New(func() *bus.Conn { return conn }, lease.Options{Prefix: "polygate", Name: "oven"})
	if err := l.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "bus.lease") {
		t.Errorf("got %v", err)
	}
}

// Those who take part come, go and are cut off at any moment of each other's lives.
func TestNeverTwoMayTalk(t *testing.T) {
	t.Parallel()
	s := newStore(t, jetStream())
	random := rand.New(rand.NewPCG(1, 2))
	var parts []*part
	var last *part
	terms := uint64(0)
	for range 6 {
		for range 1 + random.IntN(2) {
			parts = append(parts, s.join())
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		got := make(chan *part, len(parts))
		for _, p := range parts {
			go func() {
				if _, term, err := p.Await(ctx); err == nil && term >= terms {
					got <- p
				}
			}()
		}
		var holder *part
		select {
		case holder = <-got:
		case <-ctx.Done():
			t.Fatal("nobody holds it")
		}
		cancel()
		var others []*part
		for _, p := range parts {
			if p != holder {
				others = append(others, p)
			}
		}
		holder.only(t, others...)
		_, term := holder.await(t)
		if term < terms || term == terms && holder != last {
			t.Errorf("term %d after %d", term, terms)
		}
		terms, last = term, holder
		switch random.IntN(3) {
		case 0:
			holder.stop()
		case 1:
			holder.cut()
		default:
			s.stop()
			s.start()
			continue
		}
		parts = others
	}
}
