// Package linktest makes links misbehave on purpose, for tests.
package linktest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/polygate/gateway/device/link"
)

// Faults say what happens to the bytes that a port delivers. They are applied
// in the order of the fields; the zero value does nothing.
type Faults struct {
	// Drop says whether the i-th byte since opening is lost.
	Drop func(i int) bool
	// CutAfter ends the port after so many bytes were delivered, if it is not 0.
	CutAfter int
	// Split delivers in pieces of at most so many bytes, if it is not 0.
	Split int
	// Delay holds each piece back for so long.
	Delay func() time.Duration
}

// Opener opens the ports of another link and applies faults to what they deliver.
type Opener struct {
	link.Opener
	Faults Faults
}

// Open opens the port below. Its goroutines end when the port is closed.
func (o Opener) Open(ctx context.Context) (link.Port, error) {
	p, err := o.Opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	return Wrap(p, o.Faults), nil
}

// Wrap applies faults to what p delivers. It takes p over and closes it when
// the port that it returns is closed, or cut off.
func Wrap(p link.Port, f Faults) link.Port {
	near, far := net.Pipe()
	w := &faulty{Conn: near, inner: p, closed: make(chan struct{})}
	w.pumps.Add(2)
	go func() {
		defer w.pumps.Done()
		defer far.Close()
		f.pump(far, p, w.closed)
	}()
	go func() {
		defer w.pumps.Done()
		defer p.Close()
		pass(p, far)
	}()
	return w
}

// faulty is the near end of a pipe whose far end two goroutines connect with
// the port. The pipe supplies the deadlines.
type faulty struct {
	net.Conn
	inner link.Port
	pumps sync.WaitGroup

	once   sync.Once
	closed chan struct{}
}

// Close closes the port below, too, and waits for the goroutines.
func (f *faulty) Close() error {
	f.once.Do(func() { close(f.closed) })
	err := f.Conn.Close()
	f.inner.Close()
	f.pumps.Wait()
	return err
}

// pump carries bytes from the port to the user, with faults, until either ends.
func (f Faults) pump(to net.Conn, from link.Port, closed <-chan struct{}) {
	buf := make([]byte, 4096)
	seen, delivered := 0, 0
	for {
		n, err := from.Read(buf)
		piece := buf[:0]
		for _, b := range buf[:n] {
			if f.Drop == nil || !f.Drop(seen) {
				piece = append(piece, b)
			}
			seen++
		}
		cut := f.CutAfter > 0 && delivered+len(piece) >= f.CutAfter
		if cut {
			piece = piece[:f.CutAfter-delivered]
		}
		delivered += len(piece)
		if !f.deliver(to, piece, closed) || err != nil || cut {
			return
		}
	}
}

// deliver writes the pieces of b; false means that the user has gone.
func (f Faults) deliver(to net.Conn, b []byte, closed <-chan struct{}) bool {
	for len(b) > 0 {
		n := len(b)
		if f.Split > 0 {
			n = min(n, f.Split)
		}
		if f.Delay != nil {
			select {
			case <-time.After(f.Delay()):
			case <-closed:
				return false
			}
		}
		if _, err := to.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}

// pass carries bytes from the user to the port until either ends.
func pass(to link.Port, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
