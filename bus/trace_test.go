package bus_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
)

// A stranger is on the bus without being one of us.
func stranger(t *testing.T, broker *embedded.Broker) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(broker))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// A following is what a test's follower was called with.
type following struct {
	ctx     context.Context
	request string
	say     func([]byte) error
	end     chan struct{} // closed to make the follower return
}

// serveTraces serves those of line1 until the test ends.
func serveTraces(t *testing.T, conn *bus.Conn) <-chan following {
	t.Helper()
	begun := make(chan following, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- conn.ServeTraces(ctx, "line1", func(ctx context.Context, request string, say func([]byte) error) {
			f := following{ctx, request, say, make(chan struct{})}
			begun <- f
			select {
			case <-f.end:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := take(t, done); err != nil {
			t.Error(err)
		}
	})
	return begun
}

// ask asks for the bytes of line1 until it is heard, since the subscription may
// not be there yet.
func ask(t *testing.T, nc *nats.Conn, request string) *nats.Subscription {
	t.Helper()
	for {
		inbox := nc.NewInbox()
		replies, err := nc.SubscribeSync(inbox)
		must(t, err)
		must(t, nc.PublishRequest("polygate.v1.trace.line1", inbox, []byte(request)))
		must(t, nc.Flush())
		if n, _, err := replies.Pending(); err != nil || n == 0 {
			return replies
		}
		must(t, replies.Unsubscribe()) // the server says that nobody listens
	}
}

func TestATraceIsSaidToWhoAsks(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	begun := serveTraces(t, bustest.Connect(t, broker))
	nc := stranger(t, broker)
	replies := ask(t, nc, "60")
	f := take(t, begun)
	if f.request != "60" {
		t.Errorf("the follower got the request %q", f.request)
	}
	must(t, f.say([]byte("one\n")))
	must(t, f.say([]byte("two\n")))
	close(f.end)
	for _, want := range []string{"one\n", "two\n", ""} {
		msg, err := replies.NextMsg(limit)
		must(t, err)
		if string(msg.Data) != want {
			t.Errorf("got %q, want %q", msg.Data, want)
		}
	}
	<-f.ctx.Done()
}

func TestATraceEndsWhenNobodyListens(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	begun := serveTraces(t, bustest.Connect(t, broker))
	nc := stranger(t, broker)
	staying := ask(t, nc, "")
	stays := take(t, begun)
	leaving := ask(t, nc, "")
	leaves := take(t, begun)
	must(t, leaving.Unsubscribe())
	must(t, nc.Flush())
	must(t, stays.say([]byte("heard")))
	must(t, leaves.say([]byte("unheard")))
	take(t, leaves.ctx.Done())
	if _, err := staying.NextMsg(limit); err != nil {
		t.Error(err)
	}
	if stays.ctx.Err() != nil {
		t.Error("the trace of who stayed has ended, too")
	}
}

func TestARequestForATraceThatNobodyCouldHearIsNotFollowed(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{})
	begun := serveTraces(t, bustest.Connect(t, broker))
	nc := stranger(t, broker)
	ask(t, nc, "first")
	take(t, begun)
	must(t, nc.Publish("polygate.v1.trace.line1", []byte("no reply")))
	ask(t, nc, "second")
	if f := take(t, begun); f.request != "second" {
		t.Errorf("followed %q", f.request)
	}
}

func TestNoTracesOfALinkThatIsNoPartOfASubject(t *testing.T) {
	err := bustest.New(t).ServeTraces(t.Context(), "line.*", nil)
	if gateway.KindOf(err) != gateway.KindMalformed {
		t.Errorf("got %v", err)
	}
}
