package link_test

import (
	"context"
	"errors"
	"net"
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
