package link_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway/device/link"
)

// pipes opens pipes and hands the far ends to the test.
type pipes chan net.Conn

func (p pipes) Open(context.Context) (link.Port, error) {
	near, far := net.Pipe()
	p <- far
	return near, nil
}

func (pipes) String() string { return "pipe" }

// A device that another process has taken over must let go of its port, or the
// other one never gets it.
func TestAPortThatNobodyUsesIsClosed(t *testing.T) { synctest.Test(t, portThatNobodyUses) }

func portThatNobodyUses(t *testing.T) {
	ports := make(pipes, 4)
	line := link.NewLine("line1", ports, link.OnlyWhileUsed(20*time.Millisecond), link.WithRetry(time.Millisecond, time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- line.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	take := func() net.Conn {
		t.Helper()
		select {
		case far := <-ports:
			return far
		case <-time.After(10 * time.Second):
			t.Fatal("the port is not opened")
			return nil
		}
	}

	first, second := line.NewUser("oven", link.UserOptions{}), line.NewUser("lamp", link.UserOptions{})
	far := take()
	synctest.Wait() // until the line knows that its port is open
	first.Close()
	third := line.NewUser("pump", link.UserOptions{})
	second.Close()
	third.Close()
	again := line.NewUser("pump", link.UserOptions{}) // within the time: the port stays
	exchanged := make(chan error)
	go func() {
		exchanged <- line.Do(ctx, again, link.Poll, func(c *link.Conn) error {
			_, err := c.Write([]byte("x"))
			return err
		})
	}()
	if _, err := far.Read(make([]byte, 8)); err != nil {
		t.Errorf("the port was closed although it was used: %v", err)
	}
	if err := <-exchanged; err != nil {
		t.Error(err)
	}
	again.Close()
	if _, err := far.Read(make([]byte, 8)); err != io.EOF {
		t.Errorf("got %v, want the end of a port that nobody uses", err)
	}
	if losses := line.State().Losses; losses != 0 {
		t.Errorf("%d losses counted", losses)
	}
	line.NewUser("oven", link.UserOptions{})
	take()
}
