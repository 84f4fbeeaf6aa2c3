package lease_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A network carries connections to a target until it is cut.
type network struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	isCut bool
}

func newNetwork(t *testing.T, target string) *network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{Listener: listener}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil || !n.add(near, far) {
				near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				carrying.Go(func() {
					_, _ = io.Copy(way[0], way[1]) // until either side ends
					way[0].Close()
					way[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		n.cut()
		carrying.Wait()
	})
	return n
}

func (n *network) add(conns ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isCut {
		return false
	}
	n.conns = append(n.conns, conns...)
	return true
}

// cut ends all connections; those to come are refused.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.isCut = true
	for _, c := range n.conns {
		c.Close()
	}
}
