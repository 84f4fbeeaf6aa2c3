//go:build !nobroker

package embedded

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// A Broker is a running NATS server.
type Broker struct {
	server *server.Server
	log    *logger
}

// Start starts a broker. It is ready when Start returns.
func Start(opts Options) (*Broker, error) {
	settings, err := opts.settings()
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	s, err := server.NewServer(settings)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	b := &Broker{server: s, log: &logger{log: opts.Logger}}
	s.SetLoggerV2(b.log, false, false, false)
	s.Start() // returns when the server listens, or has failed to
	if opts.Listen != "" && s.Addr() == nil {
		b.Shutdown()
		return nil, fmt.Errorf("starting the embedded broker on %s: %w", opts.Listen, b.log.fatal())
	}
	return b, nil
}

func (o *Options) settings() (*server.Options, error) {
	settings := &server.Options{
		DontListen:      o.Listen == "",
		NoSigs:          true, // signals are the program's
		NoSystemAccount: true, // nobody would ask it
		MaxPayload:      DefaultMaxPayload,
		Username:        o.User,
		Password:        o.Password,
		Authorization:   o.Token,
	}
	if o.MaxPayload > 0 {
		if o.MaxPayload > server.MAX_PENDING_SIZE {
			return nil, fmt.Errorf("a payload of %d bytes is more than the %d that NATS can have", o.MaxPayload, server.MAX_PENDING_SIZE)
		}
		settings.MaxPayload = int32(o.MaxPayload)
	}
	if o.Listen == "" {
		return settings, nil
	}
	host, portText, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%q is not a port", portText)
	}
	settings.Host, settings.Port = host, int(port)
	if port == 0 {
		settings.Port = server.RANDOM_PORT
	}
	return settings, nil
}

// InProcessConn returns a new connection to the broker that uses no socket.
func (b *Broker) InProcessConn() (net.Conn, error) { return b.server.InProcessConn() }

// URL returns where other processes connect to, empty if they cannot.
func (b *Broker) URL() string {
	if b.server.Addr() == nil {
		return ""
	}
	return "nats://" + b.server.Addr().String()
}

// Shutdown closes all connections and waits until the broker has ended. Close
// what is connected first, or it will try to come back. Shutdown may be called twice.
func (b *Broker) Shutdown() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

var errNotListening = errors.New("it does not listen")
