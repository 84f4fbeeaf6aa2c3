package api

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// scriptedListener fails as its script says, and is then closed.
type scriptedListener struct {
	net.Listener
	script []error
	asked  int
}

func (l *scriptedListener) Accept() (net.Conn, error) {
	l.asked++
	if len(l.script) == 0 {
		return nil, net.ErrClosed
	}
	err := l.script[0]
	l.script = l.script[1:]
	return nil, &net.OpError{Op: "accept", Err: err}
}

func TestAcceptOutlastsWhatPasses(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		script []error
		want   error
		asked  int
	}{
		{nil, net.ErrClosed, 1},
		{[]error{syscall.EMFILE, syscall.ECONNABORTED, syscall.ENFILE}, net.ErrClosed, 4},
		{[]error{syscall.EMFILE, broken, syscall.EMFILE}, broken, 2},
	} {
		inner := &scriptedListener{script: test.script}
		l := newListener(1, 0)
		l.Listener = inner
		if err := l.serve(nil); !errors.Is(err, test.want) || inner.asked != test.asked {
			t.Errorf("%v: ended with %v after %d, want %v after %d", test.script, err, inner.asked, test.want, test.asked)
		}
	}
}

func TestAcceptDoesNotPauseBeyondTheEnd(t *testing.T) {
	l := newListener(1, 0)
	close(l.closed)
	if l.pause(lastPause) {
		t.Error("a closed listener goes on")
	}
}
