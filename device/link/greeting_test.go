package link_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/linktest"
)

// saying waits for a text.
func saying(text string, limit time.Duration) link.Option {
	return link.AwaitGreeting(link.Greeting{Limit: limit, Find: func(heard []byte) (int, bool) {
		i := bytes.Index(heard, []byte(text))
		return i + len(text), i >= 0
	}})
}

// greetedLine is a served line that waits for a text on pipes, whose far ends
// it hands out.
func greetedLine(t *testing.T, limit time.Duration, opts ...link.Option) (*link.Line, *watched, pipes) {
	t.Helper()
	ports := make(pipes, 100)
	l := link.NewLine("line", ports, append(opts, fastRetry(), saying("ready\r\n> ", limit))...)
	w := watch(l)
	serve(t, l)
	return l, w, ports
}

func TestNothingIsSentBeforeTheGreeting(t *testing.T) {
	const banner, behind = "\x00\xffboot 1.2\r\nready\r\n> ", "T=1\r\n"
	for split := 1; split < len(banner); split++ {
		l, w, ports := greetedLine(t, limit)
		dev := receive(t, ports)
		if _, err := query(l, w.User, "?"); err == nil || !strings.Contains(err.Error(), "down") {
			t.Errorf("before the greeting: %v", err)
		}
		for _, piece := range []string{banner[:split], banner[split:] + behind} {
			if l.State().Connected {
				t.Errorf("split at %d: open after half of the greeting", split)
			}
			mustWrite(t, dev, piece)
		}
		w.until(t, true)
		w.hear(t, behind)
		go func() {
			mustRead(t, dev, "?\n")
			mustWrite(t, dev, "21\n")
		}()
		if got, err := query(l, w.User, "?\n"); got != "21\n" || err != nil {
			t.Errorf("after the greeting: %q, %v", got, err)
		}
		if n := l.Counters().Discarded; n != uint64(len(banner)) {
			t.Errorf("%d bytes dropped of %d", n, len(banner))
		}
	}
}

func TestGreetingThatDoesNotComeIsALinkThatIsDown(t *testing.T) {
	l, w, ports := greetedLine(t, 300*time.Millisecond)
	receive(t, w.states) // not opened yet
	// The first instrument is silent, the second says something else, the
	// third hangs up, the fourth never stops talking, and the fifth is well.
	expect := func(want string) {
		t.Helper()
		if s := receive(t, w.states); s.Connected || !strings.Contains(s.Words, want) {
			t.Errorf("state %+v, want %q", s, want)
		}
	}
	receive(t, ports)
	expect("did not come within 300ms: nothing came")
	mustWrite(t, receive(t, ports), "login: ")
	expect(`only "login: " came`)
	quitter := receive(t, ports)
	mustWrite(t, quitter, "login: ") // taken by who waits for more
	quitter.Close()
	expect(io.EOF.Error())
	talker, talked := receive(t, ports), make(chan struct{})
	go func() {
		defer close(talked)
		for {
			if _, err := io.WriteString(talker, strings.Repeat("ready\r\n>", 1000)); err != nil {
				return // hung up on
			}
		}
	}()
	expect(`the last that came is "`)
	receive(t, talked)
	mustWrite(t, receive(t, ports), strings.Repeat("x", 5000)+"ready\r\n> ")
	w.until(t, true)
	if s := l.State(); s.Attempts != 0 || s.Losses != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestGreetingShowsInTraces(t *testing.T) {
	l, w, ports := greetedLine(t, limit)
	trace, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	mustWrite(t, receive(t, ports), "ready\r\n> ")
	w.until(t, true)
	pieces, err := trace.Next(context.Background())
	if err != nil || len(pieces) != 1 || string(pieces[0].Bytes) != "ready\r\n> " {
		t.Errorf("traced %v, %v", pieces, err)
	}
}

// Neither an instrument that says nothing nor a host that does not answer keeps
// a port open that nobody uses any more.
func TestOpeningThatNobodyNeedsIsGivenUp(t *testing.T) {
	for _, test := range []struct {
		what string
		open func(ctx context.Context, near link.Port) (link.Port, error)
		opts []link.Option
	}{
		{"silent instrument", func(_ context.Context, near link.Port) (link.Port, error) {
			return near, nil
		}, []link.Option{saying("ready", time.Hour)}},
		{"host that does not answer", func(ctx context.Context, near link.Port) (link.Port, error) {
			<-ctx.Done()
			near.Close()
			return nil, ctx.Err()
		}, nil},
		{"host that answers at the last moment", func(ctx context.Context, near link.Port) (link.Port, error) {
			<-ctx.Done()
			return near, nil
		}, nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			ports := make(chan net.Conn, 10)
			l := link.NewLine("line", openerFunc(func(ctx context.Context) (link.Port, error) {
				near, far := net.Pipe()
				ports <- far
				return test.open(ctx, near)
			}), append(test.opts, link.OnlyWhileUsed(time.Millisecond), fastRetry())...)
			serve(t, l)
			for range 3 {
				user := l.NewUser("oven", link.UserOptions{})
				dev := receive(t, ports)
				user.Close()
				if _, err := dev.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("the port ended with %v", err)
				}
				if s := l.State(); s.Connected || s.Attempts != 0 || s.Losses != 0 {
					t.Errorf("state %+v", s)
				}
			}
		})
	}
}

func TestGreetingEndsWithItsContext(t *testing.T) {
	_, _, ports := greetedLine(t, time.Hour)
	receive(t, ports) // and serve waits for the end
}

func TestGreetingWithFaultyPieces(t *testing.T) {
	near, far := net.Pipe()
	opened := false
	l := link.NewLine("line", openerFunc(func(context.Context) (link.Port, error) {
		if opened {
			return nil, io.ErrClosedPipe
		}
		opened = true
		return linktest.Wrap(near, linktest.Faults{Split: 1}), nil
	}), fastRetry(), saying("ready\r\n> ", limit))
	w := watch(l)
	serve(t, l)
	defer far.Close()
	mustWrite(t, far, "readready\r\nready\r\n> ")
	w.until(t, true)
}
