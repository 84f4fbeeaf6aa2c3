package connlimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/polygate/gateway/internal/connlimit"
)

func TestWhatIsTooManyIsClosedAndRoomComesBack(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := connlimit.New(inner, 1)
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	first := <-accepted
	if _, err := dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("one too many: got %v, want it closed", err)
	}
	if n := l.Count(); n != 1 {
		t.Errorf("%d connections counted", n)
	}
	_, _ = first.Close(), first.Close()
	if n := l.Count(); n != 0 {
		t.Errorf("%d connections counted after the only one was closed twice", n)
	}
	dial()
	_ = (<-accepted).Close()
	_ = l.Close()
	if _, open := <-accepted; open {
		t.Error("something was accepted after the end")
	}
}
