//go:build linux

package main

import (
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

// What the gateway sends though nothing happens: a ping of the bus, a sign of
// life on every quiet stream and a beacon, each in its time.
const (
	busPing   = 5 * time.Second
	quietSign = 15 * time.Second
)

// floorIdle is the least that a Go program with the gateway's keep-alives does:
// it has a connection to a NATS server, gives each client that connects a sign
// of life now and then, and sends a datagram to where nobody listens.
func floorIdle(listener net.Listener, natsURL string) error {
	conn, err := nats.Connect(natsURL, nats.PingInterval(busPing))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", natsURL, err)
	}
	defer conn.Close()
	beacons, err := net.Dial("udp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer beacons.Close()
	go signs(beacons)
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go signs(client)
	}
}

// signs ends when the client has hung up.
func signs(client net.Conn) {
	defer client.Close()
	for range time.Tick(quietSign) {
		// A datagram may well be refused.
		if _, err := client.Write([]byte{':'}); err != nil && client.LocalAddr().Network() == "tcp" {
			return
		}
	}
}

// startIdleFloor starts it with so many idle clients.
func startIdleFloor(natsURL string, clients int) (*server, error) {
	floor, address, err := startFloor("idle", natsURL)
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
			_, _ = conn.Read(make([]byte, 1<<10)) // the floor ends it
		}()
	}
	return floor, nil
}
