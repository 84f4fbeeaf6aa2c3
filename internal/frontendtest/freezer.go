package frontendtest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// A Freezer is a network between clients and a server, on loopback. Frozen, it
// keeps all connections open and carries nothing more, as one that lost its way.
type Freezer struct {
	Address string // for clients

	server string
	frozen chan struct{} // closed when it is
	ctx    context.Context
	tasks  sync.WaitGroup
}

// NewFreezer makes a network to a server. It ends with the test.
func NewFreezer(tb testing.TB, server string) *Freezer {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Freezer{Address: listener.Addr().String(), server: server, frozen: make(chan struct{}), ctx: ctx}
	f.tasks.Go(func() { f.accept(listener) })
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close()
		f.tasks.Wait()
	})
	return f
}

// Freeze stops carrying, until the test ends. It may be called once.
func (f *Freezer) Freeze() { close(f.frozen) }

func (f *Freezer) accept(listener net.Listener) {
	var dialer net.Dialer
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := dialer.DialContext(f.ctx, "tcp", f.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		f.tasks.Go(func() { f.carry(client, server) })
		f.tasks.Go(func() { f.carry(server, client) })
	}
}

// carry carries one direction until one side is closed. It then closes the
// other, unless the network is frozen.
func (f *Freezer) carry(from, to net.Conn) {
	defer to.Close()
	defer context.AfterFunc(f.ctx, func() { _ = from.Close() })()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		select {
		case <-f.frozen:
			<-f.ctx.Done()
			return
		default:
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}
