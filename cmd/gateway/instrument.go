package main

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/polygate/gateway/device/sim"
)

func newInstrument() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "instrument --listen HOST:PORT",
		Short: "Run the simulated temperature controller at a TCP address",
		Long: `Runs the simulated temperature controller at a TCP address, as one behind a terminal
server, for gateways that reach it with

  links: {line1: {tcp: "HOST:PORT"}}

and says who talks to it, whenever that is another than before.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var config net.ListenConfig
			listener, err := config.Listen(c.Context(), "tcp", address)
			if err != nil {
				return usagef("--listen: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "a temperature controller answers at %s\n", listener.Addr())
			server := &sim.Server{Instrument: sim.NewTemperatureController(simSeed), Terminator: "\r\n", Now: time.Now}
			return server.ServeTCP(c.Context(), &attentive{Listener: listener, out: c.OutOrStdout()})
		},
	}
	c.Flags().StringVar(&address, "listen", "127.0.0.1:4001", "the address")
	return c
}

// An attentive listener writes down who talks, whenever that changes.
type attentive struct {
	net.Listener
	out io.Writer

	mu     sync.Mutex
	talker string
}

// Accept returns a connection that is listened to.
func (l *attentive) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &attended{Conn: conn, listener: l}, nil
}

func (l *attentive) heard(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.talker != who {
		l.talker = who
		fmt.Fprintf(l.out, "%s talks\n", who)
	}
}

// An attended connection tells its listener that it talks.
type attended struct {
	net.Conn
	listener *attentive
}

// Read tells of bytes that came before they are answered.
func (c *attended) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.listener.heard(c.RemoteAddr().String())
	}
	return n, err
}
