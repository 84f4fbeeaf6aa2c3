//go:build linux

package main

import (
	"io"
	"net"
	"time"
)

// What the gateway sends though nothing happens: a ping of the bus, a sign of
// life on every quiet stream and a beacon, each in its time.
const (
	busPing   = 5 * time.Second
	quietSign = 15 * time.Second
)

// startIdleFloor starts the bare program with so many idle clients.
func startIdleFloor(binary, natsURL string, clients int) (*server, error) {
	floor, err := startServer(nil, binary, natsURL, busPing.String(), quietSign.String())
	if err != nil {
		return nil, err
	}
	address, err := floor.address()
	if err != nil {
		return nil, err
	}
	for range clients {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			floor.stop()
			return nil, err
		}
		go func() {
			defer conn.Close()
			_, _ = io.Copy(io.Discard, conn) // the floor ends it
		}()
	}
	return floor, nil
}
