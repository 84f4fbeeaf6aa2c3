package bus

import (
	"net"
	"time"
)

// A network that was cut, and that nobody tells of, is noticed within about
// unheardTimeout, before heartbeats are given up: the kernel's probes find it where nothing is sent,
// and do not wake this process. An attempt that was begun before the network was
// back holds up the next by dialTimeout at most.
const (
	dialTimeout    = time.Second
	unheardTimeout = 3 * time.Second
)

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: int(unheardTimeout/time.Second) - 1}

// A dialer gives up as soon as the Conn is closed; nats.go would hold Close until
// the attempt has timed out. The Conn keeps what it made, to leave a silent server.
type dialer Conn

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	nd := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive, Control: limitUnacknowledged}
	socket, err := nd.DialContext(d.lifetime, network, address)
	if err == nil {
		d.mu.Lock()
		d.socket = socket
		d.mu.Unlock()
	}
	return socket, err
}
