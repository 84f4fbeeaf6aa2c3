// Command keepalive is the least that a Go program with the gateway's keep-alives
// does. It is a program of its own, since nats-server, which the others here have
// in them, wakes a process every second merely by being imported.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "keepalive:", err)
		os.Exit(1)
	}
}

// run has a connection to a NATS server, which it pings, gives each client that
// connects a sign of life now and then, and sends a datagram to where nobody
// listens. It writes where clients find it.
func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want the URL of a NATS server, the time between pings and that between signs of life")
	}
	ping, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	sign, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	conn, err := nats.Connect(args[0], nats.PingInterval(ping))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", args[0], err)
	}
	defer conn.Close()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	beacons, err := net.Dial("udp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer beacons.Close()
	go signs(beacons, sign)
	fmt.Fprintln(os.Stderr, listener.Addr())
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go signs(client, sign)
	}
}

// signs ends when the client has hung up.
func signs(client net.Conn, every time.Duration) {
	defer client.Close()
	for range time.Tick(every) {
		// A datagram may well be refused.
		if _, err := client.Write([]byte{':'}); err != nil && client.LocalAddr().Network() == "tcp" {
			return
		}
	}
}
