package link_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/linktest"
)

// pipeLine is a served line whose instrument is the other end of a pipe.
func pipeLine(t *testing.T, faults linktest.Faults) (*link.Line, *watched, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	opened := false
	l := link.NewLine("line", openerFunc(func(context.Context) (link.Port, error) {
		if opened {
			return nil, errors.New("unplugged")
		}
		opened = true
		return linktest.Wrap(near, faults), nil
	}), link.WithRetry(time.Millisecond, 10*time.Millisecond))
	w := watch(l)
	serve(t, l)
	w.until(t, true)
	t.Cleanup(func() { far.Close() })
	return l, w, far
}

func TestSD12RepliesInPieces(t *testing.T) {
	const reply = "ch=7,val=4123,sn=ab12cd34ef\r\n"
	for split := 1; split <= len(reply); split++ {
		l, w, dev := pipeLine(t, linktest.Faults{Split: split})
		go func() {
			mustRead(t, dev, "?\r\n")
			mustWrite(t, dev, reply)
		}()
		got, err := query(l, w.User, "?\r\n")
		if err != nil || got != reply {
			t.Errorf("in pieces of %d: %q, %v", split, got, err)
		}
	}
}

func TestReadTellsArrivalTime(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{Split: 1})
	go echo(dev)
	before := time.Now()
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		mustWrite(t, c, "abc")
		last := before
		for range 3 {
			_, at, err := c.Read(make([]byte, 10), soon())
			if err != nil {
				return err
			}
			if !at.After(last) || at.After(time.Now()) {
				t.Errorf("arrived at %s, after %s", at, last)
			}
			last = at
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSD01LateReplyIsNotTakenForTheNext(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		go mustWrite(t, c, "T?\n")
		mustRead(t, dev, "T?\n")
		_, err := line(c, shortly())
		return err
	})
	if !errors.Is(err, link.ErrTimeout) {
		t.Fatalf("no reply gave %v", err)
	}
	mustWrite(t, dev, "21.5\n")
	w.hear(t, "21.5\n") // So it is in before the next begins.
	go func() {
		mustRead(t, dev, "P?\n")
		mustWrite(t, dev, "1013\n")
	}()
	got, err := query(l, w.User, "P?\n")
	if got != "1013\n" || err != nil {
		t.Errorf("P? gave %q, %v", got, err)
	}
}

func TestSD02DrainWaitsForLateBytes(t *testing.T) {
	synctest.Test(t, drainWaitsForLateBytes)
}

func drainWaitsForLateBytes(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		go func() { // Two halves.
			mustWrite(t, dev, "21")
			<-time.After(40 * time.Millisecond)
			mustWrite(t, dev, ".5\n")
		}()
		start := time.Now()
		n, err := c.Drain(50 * time.Millisecond)
		if took := time.Since(start); n != 5 || err != nil || took != 90*time.Millisecond {
			t.Errorf("drained %d in %s, %v", n, took, err)
		}
		go mustWrite(t, c, "P?\n")
		mustRead(t, dev, "P?\n")
		go mustWrite(t, dev, "1013\n")
		got, err := line(c, soon())
		if got != "1013\n" {
			t.Errorf("got %q", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if n := l.Counters().Discarded; n != 5 {
		t.Errorf("%d bytes were counted as discarded", n)
	}
}

func TestDrainOfANoisyLineEnds(t *testing.T) { synctest.Test(t, noisyLine) }

func noisyLine(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	go func() {
		for {
			select {
			case <-time.After(15 * time.Millisecond):
			case <-t.Context().Done():
				return
			}
			if _, err := dev.Write([]byte("noise")); err != nil {
				return
			}
		}
	}()
	start := time.Now()
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		_, err := c.Drain(20 * time.Millisecond)
		return err
	})
	if took := time.Since(start); !errors.Is(err, link.ErrNoisy) || took > 220*time.Millisecond {
		t.Errorf("got %v after %s", err, took)
	}
}

func TestUnsolicitedBytesGoToListeners(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	mustWrite(t, dev, "door open\n")
	w.hear(t, "door open\n")
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		go mustWrite(t, dev, "door shut\n")
		got, err := line(c, soon())
		c.PassOn([]byte(got), time.Now())
		return err
	})
	if err != nil {
		t.Error(err)
	}
	w.hear(t, "door shut\n")
}

func TestBytesThatNobodyWantsAreCounted(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	w.Close()
	trace := startTrace(t, l)
	mustWrite(t, dev, "hello")
	if got := next(t, trace); got != `in  "hello"` {
		t.Errorf("traced %s", got)
	}
	go func() {
		mustRead(t, dev, "?")
		mustWrite(t, dev, "!\n")
	}()
	if _, err := query(l, w.User, "?"); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`out "?"`, `in  "!\n"`} {
		if got := next(t, trace); got != want {
			t.Errorf("traced %s, want %s", got, want)
		}
	}
	trace.Close()
	if c := l.Counters(); c != (link.Counters{BytesIn: 7, BytesOut: 1, Exchanges: 1, Discarded: 5, Traced: 8}) {
		t.Errorf("counted %+v", c)
	}
}

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

func TestContextOfAnExchange(t *testing.T) {
	l, w, dev := pipeLine(t, linktest.Faults{})
	hold, held := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- l.Do(context.Background(), w.User, link.Poll, func(*link.Conn) error {
			close(held)
			<-hold
			return nil
		})
	}()
	receive(t, held)
	ctx, cancel := context.WithCancelCause(context.Background())
	spent := errors.New("the budget is spent")
	done := make(chan error, 1)
	go func() {
		done <- l.Do(ctx, w.User, link.Put, func(*link.Conn) error {
			t.Error("ran after its context ended")
			return nil
		})
	}()
	cancel(spent)
	if err := receive(t, done); !errors.Is(err, spent) {
		t.Errorf("waiting: %v", err)
	}
	close(hold)
	if err := receive(t, first); err != nil {
		t.Error(err)
	}

	// A blocked read ends, too, and the line is as good as before.
	ctx, cancel = context.WithCancelCause(context.Background())
	var kept *link.Conn
	err := l.Do(ctx, w.User, link.Put, func(c *link.Conn) error {
		kept = c
		go cancel(spent)
		_, _, err := c.Read(make([]byte, 1), time.Time{})
		if n, werr := c.Write([]byte("late")); n != 0 || !errors.Is(werr, spent) {
			t.Errorf("wrote %d, %v", n, werr)
		}
		return err
	})
	if !errors.Is(err, spent) {
		t.Errorf("reading: %v", err)
	}
	go echo(dev)
	if got, err := query(l, w.User, "still\n"); got != "still\n" || err != nil {
		t.Errorf("afterwards %q, %v", got, err)
	}
	if _, _, err := kept.Read(make([]byte, 1), soon()); err == nil {
		t.Error("read after the exchange")
	}
}

func TestConnEndsWithItsExchange(t *testing.T) {
	l, w, _ := pipeLine(t, linktest.Faults{})
	var kept *link.Conn
	if err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error { kept = c; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := kept.Read(make([]byte, 1), soon()); !errors.Is(err, link.ErrEnded) {
		t.Errorf("read: %v", err)
	}
	if _, err := kept.Write([]byte("x")); !errors.Is(err, link.ErrEnded) {
		t.Errorf("write: %v", err)
	}
	if _, err := kept.Drain(0); !errors.Is(err, link.ErrEnded) {
		t.Errorf("drain: %v", err)
	}
}

// inOrder holds the line until all requests wait, and returns who ran when.
func inOrder(t *testing.T, l *link.Line, holder *link.User, ask []func(run func(*link.Conn) error) error, names []string) []string {
	t.Helper()
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	err := l.Do(context.Background(), holder, link.Poll, func(*link.Conn) error {
		for i, do := range ask {
			all.Go(func() {
				if err := do(func(*link.Conn) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, names[i])
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // Until it has queued.
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	return order
}

func TestTurnsArePriorityThenFair(t *testing.T) { synctest.Test(t, turnsArePriorityThenFair) }

func turnsArePriorityThenFair(t *testing.T) {
	l, w, _ := pipeLine(t, linktest.Faults{})
	users := map[string]*link.User{}
	for _, name := range []string{"a", "b", "c"} {
		users[name] = l.NewUser(name, link.UserOptions{})
	}
	names := []string{"a1", "a2", "a3", "b1", "b2", "c1", "c2 put", "a4 put", "b3 urgent"}
	var ask []func(func(*link.Conn) error) error
	for _, n := range names {
		prio := link.Poll
		switch {
		case strings.HasSuffix(n, "put"):
			prio = link.Put
		case strings.HasSuffix(n, "urgent"):
			prio = link.Urgent
		}
		ask = append(ask, func(f func(*link.Conn) error) error {
			return l.Do(context.Background(), users[n[:1]], prio, f)
		})
	}
	got := inOrder(t, l, w.User, ask, names)
	want := []string{"b3 urgent", "c2 put", "a4 put", "b1", "c1", "a1", "b2", "a2", "a3"}
	if !slices.Equal(got, want) {
		t.Errorf("ran  %q\nwant %q", got, want)
	}
}

func TestOneExchangeAtATime(t *testing.T) {
	l, _, dev := pipeLine(t, linktest.Faults{})
	go echo(dev)
	var inside atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		u := l.NewUser(fmt.Sprint(i), link.UserOptions{})
		all.Go(func() {
			for k := range 50 {
				text := fmt.Sprintf("%d-%d\n", i, k)
				err := l.Do(context.Background(), u, link.Priority(k%2), func(c *link.Conn) error {
					if inside.Add(1) != 1 {
						t.Error("two at a time")
					}
					defer inside.Add(-1)
					if _, err := c.Write([]byte(text)); err != nil {
						return err
					}
					got, err := line(c, soon())
					if got != text {
						t.Errorf("asked %q, got %q", text, got)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
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

// TestLineAtRestDoesNothing relies on the clock of the bubble: it stands still
// while anything runs, and jumps to the next timer when nothing does.
func TestLineAtRestDoesNothing(t *testing.T) { synctest.Test(t, lineAtRest) }

func lineAtRest(t *testing.T) {
	near, far := net.Pipe()
	reads := &countingPort{Port: near}
	l := link.NewLine("line", openerFunc(func(context.Context) (link.Port, error) { return reads, nil }))
	w := watch(l)
	serve(t, l)
	t.Cleanup(func() { far.Close() })
	w.until(t, true)
	if err := l.Do(context.Background(), w.User, link.Poll, func(*link.Conn) error { return nil }); err != nil {
		t.Error(err)
	}
	<-time.After(time.Second)
	before := reads.calls.Load()
	<-time.After(time.Hour)
	if n := reads.calls.Load() - before; n != 0 {
		t.Errorf("%d reads in an hour", n)
	}
}

// countingPort counts the calls of Read.
type countingPort struct {
	link.Port
	calls atomic.Int32
}

func (p *countingPort) Read(b []byte) (int, error) {
	p.calls.Add(1)
	return p.Port.Read(b)
}

func TestServeIsForOnce(t *testing.T) {
	l, _, _ := pipeLine(t, linktest.Faults{})
	if err := l.Serve(context.Background()); err == nil {
		t.Error("served twice")
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
