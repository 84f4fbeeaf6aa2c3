package link_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link"
)

func TestAGuardKeepsThePortFromBeingUsed(t *testing.T) {
	ports := make(pipes, 4)
	refusal := errors.New("somebody else has it")
	var refuse atomic.Bool
	guard := func() (time.Time, error) {
		if refuse.Load() {
			return time.Time{}, refusal
		}
		return time.Now().Add(time.Minute), nil
	}
	line := link.NewLine("line1", ports, link.Guarded(guard), link.OnlyWhileUsed(time.Hour), link.WithRetry(time.Millisecond, time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- line.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	limit := time.After(10 * time.Second)
	states := make(chan link.State, 100)
	await := func(wanted func(link.State) bool) {
		t.Helper()
		for {
			select {
			case s := <-states:
				if wanted(s) {
					return
				}
			case <-limit:
				t.Fatal("the state does not come")
			}
		}
	}
	connected := func(s link.State) bool { return s.Connected }
	down := func(s link.State) bool { return !s.Connected }
	closed := func(far net.Conn) {
		t.Helper()
		if far.SetReadDeadline(time.Now().Add(10*time.Second)) != nil {
			return // a pipe says so at once
		}
		if n, err := far.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, link.ErrTimeout) {
			t.Errorf("got %d bytes, %v", n, err)
		}
	}

	refuse.Store(true)
	user := line.NewUser("oven", link.UserOptions{OnState: func(s link.State) { states <- s }})
	await(func(s link.State) bool { return s.Words == "not ours to use: somebody else has it" })
	if len(ports) != 0 {
		t.Error("the port was opened")
	}
	refuse.Store(false)
	far := <-ports
	await(connected)

	// In the middle of an exchange: what is not out by then stays in.
	refuse.Store(true)
	err := line.Do(ctx, user, link.Put, func(c *link.Conn) error {
		n, err := c.Write([]byte("V=1\n"))
		if n != 0 {
			t.Errorf("%d bytes were written", n)
		}
		return err
	})
	if !errors.Is(err, link.ErrLost) || !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	closed(far)
	await(down)

	// Without a user the port is closed at once: another process may wait for it.
	refuse.Store(false)
	far = <-ports
	await(connected)
	refuse.Store(true)
	user.Close()
	closed(far)
}
