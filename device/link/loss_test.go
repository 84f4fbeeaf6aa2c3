package link_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/linktest"
)

func TestDoWhileDown(t *testing.T) {
	l := link.NewLine("oven line", openerFunc(func(context.Context) (link.Port, error) {
		return nil, errors.New("no such port")
	}), link.WithRetry(time.Millisecond, 5*time.Millisecond))
	w := watch(l)
	if s := receive(t, w.states); s.Connected || s.Words != "not opened yet" {
		t.Errorf("at first %+v", s)
	}
	if _, err := query(l, w.User, "?"); !errors.Is(err, link.ErrNotOpen) {
		t.Errorf("before Serve: %v", err)
	}
	serve(t, l)
	if s := receive(t, w.states); s.Connected || s.Words != "no such port" {
		t.Errorf("then %+v", s)
	}
	_, err := query(l, w.User, "?")
	if !errors.Is(err, link.ErrNotOpen) || !strings.Contains(err.Error(), "oven line") ||
		!strings.Contains(err.Error(), "no such port") || !strings.Contains(err.Error(), " since ") {
		t.Errorf("while down: %v", err)
	}
	// The same reason again is told with each attempt: whoever keeps a log decides what is news.
	if s := receive(t, w.states); s.Connected || s.Words != "no such port" || s.Attempts != 2 {
		t.Errorf("and then %+v", s)
	}
}

func TestLossDuringAnExchange(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	queued := make(chan error, 1)
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		go func() {
			queued <- l.Do(context.Background(), w.User, link.Put, func(*link.Conn) error {
				t.Error("ran on a lost line")
				return nil
			})
		}()
		go mustWrite(t, c, "T?\n")
		mustRead(t, dev, "T?\n")
		go dev.Close()
		_, err := line(c, soon())
		return err
	})
	if !errors.Is(err, link.ErrLost) {
		t.Errorf("the exchange got %v", err)
	}
	if err := receive(t, queued); !errors.Is(err, link.ErrNotOpen) {
		t.Errorf("who waited got %v", err)
	}
	if s := w.until(t, false); s.Losses != 1 || s.Words == "" {
		t.Errorf("state %+v", s)
	}
}

func TestSD04AMinuteOffline(t *testing.T) { synctest.Test(t, aMinuteOffline) }

func aMinuteOffline(t *testing.T) {
	start := time.Now()
	var tries []time.Duration
	l := link.NewLine("line", openerFunc(func(context.Context) (link.Port, error) {
		tries = append(tries, time.Since(start))
		if time.Since(start) < time.Minute {
			return nil, errors.New("refused")
		}
		near, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		return near, nil
	}))
	w := watch(l)
	serve(t, l)
	var told []string
	up := <-w.states
	for ; !up.Connected; up = <-w.states {
		told = append(told, up.Words)
	}
	if want := append([]string{"not opened yet"}, slices.Repeat([]string{"refused"}, len(tries)-1)...); !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if late := up.Since.Sub(start) - time.Minute; late > time.Second {
		t.Errorf("noticed %s late that it is back", late)
	}
	if n := len(tries); n > 65 || tries[n-1]-tries[n-2] != time.Second {
		t.Errorf("tried at %s", tries)
	}
}

// TestFlappingPortIsNotReopenedAtOnce has a server that accepts and hangs up.
func TestFlappingPortIsNotReopenedAtOnce(t *testing.T) { synctest.Test(t, flappingPort) }

func flappingPort(t *testing.T) {
	opened := 0
	l := link.NewLine("line", openerFunc(func(context.Context) (link.Port, error) {
		opened++
		near, far := net.Pipe()
		far.Close()
		return near, nil
	}))
	serve(t, l)
	<-time.After(time.Minute)
	synctest.Wait()
	if opened > 65 {
		t.Errorf("opened %d times in a minute", opened)
	}
}

func TestPortThatReturnsNothingIsLost(t *testing.T) {
	l := link.NewLine("line", openerFunc(func(context.Context) (link.Port, error) { return emptyPort{}, nil }))
	w := watch(l)
	serve(t, l)
	w.until(t, true)
	w.until(t, false)
}

// emptyPort behaves as some drivers do when the adapter is pulled.
type emptyPort struct{}

func (emptyPort) Read([]byte) (int, error)         { return 0, nil }
func (emptyPort) Write(b []byte) (int, error)      { return len(b), nil }
func (emptyPort) Close() error                     { return nil }
func (emptyPort) SetReadDeadline(time.Time) error  { return nil }
func (emptyPort) SetWriteDeadline(time.Time) error { return nil }
