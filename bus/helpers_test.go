package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is how long a test waits for what must happen.
const limit = 10 * time.Second

var oven = gateway.Owner{Device: "oven", Instance: "i1", Term: 4}

// heardRival is what an owner was told of another one.
type heardRival struct {
	owner   gateway.Owner
	leaving bool
}

// recorder is a handler that hands on what it is called with.
type recorder struct {
	puts      chan *gateway.Put
	describes chan struct{}
	rivals    chan heardRival
	states    chan gateway.BusState
	// onPut answers; nil to keep the put unanswered.
	onPut func(*gateway.Put, func(*gateway.PutVerdict))
}

func newRecorder() *recorder {
	return &recorder{
		puts: make(chan *gateway.Put, 1<<12), describes: make(chan struct{}, 1<<12),
		rivals: make(chan heardRival, 1<<12), states: make(chan gateway.BusState, 1<<12),
	}
}

func (r *recorder) HandlePut(p *gateway.Put, answer func(*gateway.PutVerdict)) {
	if r.onPut != nil {
		r.onPut(p, answer)
	}
	r.puts <- p
}
func (r *recorder) HandleDescribe() { r.describes <- struct{}{} }
func (r *recorder) HandleRival(o gateway.Owner, leaving bool) {
	r.rivals <- heardRival{o, leaving}
}
func (r *recorder) HandleBus(s gateway.BusState) { r.states <- s }

func own(tb testing.TB, c *bus.Conn, o gateway.Owner, h bus.Handler) func() {
	tb.Helper()
	release, err := c.Own(o, h)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return release
}

// take waits for something on a channel.
func take[T any](tb testing.TB, from <-chan T) T {
	tb.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(limit):
		tb.Fatalf("no %T came", *new(T))
	}
	return *new(T)
}

// nothing fails if something is there already.
func nothing[T any](tb testing.TB, from <-chan T) {
	tb.Helper()
	select {
	case v := <-from:
		tb.Errorf("unexpected: %+v", v)
	default:
	}
}

// ear is a hub's subscription.
type ear struct {
	*bus.Subscription
	t   testing.TB
	ctx context.Context
}

// listen subscribes and takes the first message, which says that the bus is there.
func listen(tb testing.TB, c *bus.Conn) *ear {
	tb.Helper()
	s, err := c.Subscribe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 6*limit)
	tb.Cleanup(cancel)
	e := &ear{Subscription: s, t: tb, ctx: ctx}
	next[*gateway.BusState](e)
	return e
}

// settle waits until the server knows all that the connections have subscribed to:
// after a loss it may hear one of them earlier than the other.
func settle(tb testing.TB, conns ...*bus.Conn) {
	tb.Helper()
	for _, c := range conns {
		s, err := c.Subscribe() // waits for the server
		if err != nil {
			tb.Fatal(err)
		}
		s.Close()
	}
}

func (e *ear) next() gateway.Message {
	e.t.Helper()
	m, err := e.Receive(e.ctx, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return m
}

// next waits for a message that must be an M.
func next[M gateway.Message](e *ear) M {
	e.t.Helper()
	m := e.next()
	want, ok := m.(M)
	if !ok {
		e.t.Fatalf("got %T %+v, want %T", m, m, want)
	}
	return want
}

// await skips all messages before the first M.
func await[M gateway.Message](e *ear) M {
	e.t.Helper()
	for {
		if want, ok := e.next().(M); ok {
			return want
		}
	}
}

func sample(v gateway.Value, seq uint64) *gateway.Sample {
	return &gateway.Sample{Value: v, Time: gateway.Time(time.Second) + gateway.Time(seq), Seq: seq, Mask: gateway.MaskValue}
}

// update has one readback of attribute 0.
func update(o gateway.Owner, v gateway.Value, seq uint64) *gateway.Update {
	return &gateway.Update{Owner: o, Revision: 1, Samples: []gateway.SampleUpdate{
		{Role: gateway.Readback, Sample: sample(v, seq)},
	}}
}

// put asks o for a new setpoint.
func put(o gateway.Owner, n uint64) *gateway.Put {
	return &gateway.Put{
		ID: gateway.PutID{Hub: 77, N: n}, To: o,
		PutRequest: gateway.PutRequest{Path: gateway.Path(o.Device + ".x"), Value: gateway.Of(int64(n))},
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func wantKind(tb testing.TB, err error, kind gateway.ErrorKind) {
	tb.Helper()
	if gateway.KindOf(err) != kind {
		tb.Errorf("got %v (%v), want %v", gateway.KindOf(err), err, kind)
	}
}

// rawClient is someone else on the bus.
func rawClient(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(url)
	must(tb, err)
	tb.Cleanup(nc.Close)
	return nc
}
