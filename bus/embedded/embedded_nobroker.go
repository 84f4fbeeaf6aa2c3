//go:build nobroker

package embedded

import (
	"errors"
	"net"
)

// A Broker does not exist in this build.
type Broker struct{}

var errNoBroker = errors.New("this program was built without a broker (build tag nobroker): set bus.url to a NATS outside")

// Start returns an error that says how to do without.
func Start(Options) (*Broker, error) { return nil, errNoBroker }

// InProcessConn returns an error.
func (*Broker) InProcessConn() (net.Conn, error) { return nil, errNoBroker }

// URL returns nothing.
func (*Broker) URL() string { return "" }

// Shutdown does nothing.
func (*Broker) Shutdown() {}
