package link_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/polygate/gateway/device/link"
)

// limit bounds what a test waits for; nothing takes nearly as long.
const limit = 10 * time.Second

func TestMain(m *testing.M) {
	if path := os.Getenv("LINK_TEST_HOLD"); path != "" {
		holdPort(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// holdPort is the other process of TestOPS07TwoProcessesOnePort.
func holdPort(path string) {
	p, err := link.Serial{Path: path}.Open(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin) // Until it is closed.
	p.Close()
}

// serve runs the line until the test ends.
func serve(tb testing.TB, l *link.Line) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := receive(tb, done); err != nil {
			tb.Error(err)
		}
	})
}

// receive waits for a value.
func receive[T any](tb testing.TB, c <-chan T) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		tb.Fatalf("nothing came in %s", limit)
		panic("unreachable")
	}
}

// watched is a user whose states and bytes can be waited for.
type watched struct {
	*link.User
	states chan link.State
	bytes  chan []byte
}

func watch(l *link.Line) *watched {
	w := &watched{states: make(chan link.State, 10000), bytes: make(chan []byte, 10000)}
	w.User = l.NewUser("watcher", link.UserOptions{
		OnState: func(s link.State) { w.states <- s },
		OnBytes: func(b []byte, _ time.Time) { w.bytes <- bytes.Clone(b) },
	})
	return w
}

// fastRetry keeps tests that lose ports short.
func fastRetry() link.Option { return link.WithRetry(time.Millisecond, 5*time.Millisecond) }

// until waits for a state with the given condition.
func (w *watched) until(tb testing.TB, connected bool) link.State {
	tb.Helper()
	for {
		if s := receive(tb, w.states); s.Connected == connected {
			return s
		}
	}
}

// hear waits for unsolicited bytes and wants these.
func (w *watched) hear(tb testing.TB, want string) {
	tb.Helper()
	var got []byte
	for len(got) < len(want) {
		got = append(got, receive(tb, w.bytes)...)
	}
	if string(got) != want {
		tb.Errorf("heard %q, want %q", got, want)
	}
}

// soon is a deadline for what will happen.
func soon() time.Time { return time.Now().Add(limit) }

// shortly is a deadline for what will not.
func shortly() time.Time { return time.Now().Add(20 * time.Millisecond) }

// line reads up to LF.
func line(c *link.Conn, deadline time.Time) (string, error) {
	var got []byte
	buf := make([]byte, 64)
	for !bytes.HasSuffix(got, []byte("\n")) {
		n, _, err := c.Read(buf, deadline)
		if err != nil {
			return string(got), err
		}
		got = append(got, buf[:n]...)
	}
	return string(got), nil
}

// query sends text and reads a reply.
func query(l *link.Line, u *link.User, text string) (reply string, err error) {
	err = l.Do(context.Background(), u, link.Poll, func(c *link.Conn) error {
		if _, err := c.Write([]byte(text)); err != nil {
			return err
		}
		reply, err = line(c, soon())
		return err
	})
	return reply, err
}

// echo answers everything with itself until the port ends.
func echo(p io.ReadWriter) {
	buf := make([]byte, 4096)
	for {
		n, err := p.Read(buf)
		if err != nil {
			return
		}
		if _, err := p.Write(buf[:n]); err != nil {
			return
		}
	}
}

// openerFunc is an opener for tests.
type openerFunc func(context.Context) (link.Port, error)

func (f openerFunc) Open(ctx context.Context) (link.Port, error) { return f(ctx) }
func (f openerFunc) String() string                              { return "test port" }

// mustWrite writes as the instrument.
func mustWrite(tb testing.TB, w io.Writer, text string) {
	tb.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		tb.Error(err)
	}
}

// mustRead reads exactly this as the instrument.
func mustRead(tb testing.TB, r io.Reader, want string) {
	tb.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		tb.Errorf("the instrument read %q (%v), want %q", got, err, want)
	}
}
