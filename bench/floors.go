//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/polygate/gateway/device/link"
)

// startFloor starts a floor of this program in a process of its own, on the
// servers' core, and returns its address.
func startFloor(name string, args ...string) (*server, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	s, err := startServer(nil, append([]string{self, "-floor", name}, args...)...)
	if err != nil {
		return nil, "", err
	}
	address, err := s.address()
	return s, address, err
}

// address is what a floor says first. One that does not is stopped.
func (s *server) address() (string, error) {
	line, err := s.logs.ReadString('\n')
	if err != nil {
		s.stop()
		return "", fmt.Errorf("the floor %s ended: %w", s.cmd.Args, err)
	}
	return strings.TrimSpace(line), nil
}

// runFloor is the floor's process: it prints its address and serves.
func runFloor(name string, args []string) error {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, listener.Addr())
	switch name {
	case rest:
		return floorREST(listener, args[0])
	case "streams":
		return floorStreams(listener)
	case graphQL:
		return floorGraphQL(listener)
	case gRPC:
		return floorGRPC(listener)
	case channelAccess:
		return floorCA(listener)
	case "line":
		return floorLine(listener, args[0], args[1])
	case "line-put":
		return floorLinePut(listener, args[0])
	case "exchanges-bare":
		return floorExchanges(listener, args[0])
	case "exchanges-driver":
		return driverExchanges(listener, args[0])
	}
	return fmt.Errorf("there is no floor %q", name)
}

// floorLine is the least that a gateway for one value can do: it reads lines
// from a port, asking for each if poll says so, and writes them to the one
// client that connects, as an event of a stream.
func floorLine(listener net.Listener, port, poll string) error {
	client, err := listener.Accept()
	if err != nil {
		return err
	}
	defer client.Close()
	opened, err := link.Serial{Path: port, Baud: 115200}.Open(context.Background())
	if err != nil {
		return err
	}
	defer opened.Close()
	period, err := time.ParseDuration(poll)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(opened)
	var ticks <-chan time.Time
	if period > 0 {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		if ticks != nil {
			<-ticks
			if _, err := opened.Write([]byte("T?\r\n")); err != nil {
				return err
			}
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(client, "data: %s\n\n", strings.TrimSpace(line)); err != nil {
			return err
		}
	}
}
