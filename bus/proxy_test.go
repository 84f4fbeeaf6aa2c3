package bus_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A proxy carries TCP connections to a target, and can cut them.
type proxy struct {
	listener net.Listener
	target   string
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	down  bool
	// swallowing is which directions lose all their bytes, as in a network that was
	// cut, or at a server that hangs.
	swallowing directions
	// toServer and toClient are how many more bytes may pass before the
	// connections are cut; negative for no end.
	toServer, toClient int
	cuts               chan struct{} // one for each cut by a number of bytes
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{
		listener: listener, target: target, conns: make(map[net.Conn]struct{}),
		toServer: -1, toClient: -1, cuts: make(chan struct{}, 1<<12),
	}
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		must(t, listener.Close())
		p.setDown(true)
		p.wait.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// setDown refuses all connections, and closes those that there are.
func (p *proxy) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	if down {
		p.closeAll()
	}
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// A directions says which ways of a connection are meant.
type directions struct{ toServer, toClient bool }

// swallow makes bytes disappear without anybody being told.
func (p *proxy) swallow(which directions) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallowing = which
}

// cutAfter cuts the connections after so many more bytes in one direction.
func (p *proxy) cutAfter(toServer, toClient int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toServer, p.toClient = toServer, toClient
}

func (p *proxy) closeAll() {
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		if p.down {
			p.closeAll()
		}
		p.mu.Unlock()
		end := sync.OnceFunc(func() { p.end(client, server) })
		p.wait.Go(func() { p.copy(server, client, &p.toServer, &p.swallowing.toServer, end) })
		p.wait.Go(func() { p.copy(client, server, &p.toClient, &p.swallowing.toClient, end) })
	}
}

// end closes both connections, as when a cable is pulled. The client learns of it
// when the server is done with what it got: on a busy machine the client would
// otherwise be back before that, and its old messages came behind its new ones.
func (p *proxy) end(client, server net.Conn) {
	if half, ok := server.(*net.TCPConn); ok && half.CloseWrite() == nil {
		_ = server.SetReadDeadline(time.Now().Add(limit))
		_, _ = io.Copy(io.Discard, server)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{client, server} {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// copy carries bytes in one direction until that fails or budget is used up, and
// then ends both directions.
func (p *proxy) copy(to, from net.Conn, budget *int, swallow *bool, end func()) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		cut := false
		p.mu.Lock()
		if *budget >= 0 {
			if cut = n > *budget; cut {
				n = *budget
			}
			*budget -= n
		}
		if *swallow {
			n = 0
		}
		p.mu.Unlock()
		if _, writeErr := to.Write(buf[:n]); err != nil || writeErr != nil || cut {
			if cut {
				p.mu.Lock()
				p.toServer, p.toClient = -1, -1
				p.mu.Unlock()
				p.cuts <- struct{}{}
			}
			end()
			return
		}
	}
}
