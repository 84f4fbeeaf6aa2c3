package main

import (
	"fmt"
	"net"
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

  links: {line1: {tcp: "HOST:PORT"}}`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var config net.ListenConfig
			listener, err := config.Listen(c.Context(), "tcp", address)
			if err != nil {
				return usagef("--listen: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "a temperature controller answers at %s\n", listener.Addr())
			server := &sim.Server{Instrument: sim.NewTemperatureController(simSeed), Terminator: "\r\n", Now: time.Now}
			return server.ServeTCP(c.Context(), listener)
		},
	}
	c.Flags().StringVar(&address, "listen", "127.0.0.1:4001", "the address")
	return c
}
