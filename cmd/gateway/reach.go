package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/bus"
)

// connectWithin is how long a check waits for a NATS outside.
const connectWithin = 10 * time.Second

// reach connects to the NATS outside that a file names, if it names one, and
// says so. The error tells what stood in the way.
func reach(ctx context.Context, c bus.Config, out io.Writer) error {
	if c.URL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	conn, err := bus.Connect(ctx, bus.Options{Config: c, Name: "polygate check", Logger: zerolog.Nop()})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Connected(ctx); err != nil {
		if why := conn.Stats().LastError; why != "" {
			err = errors.New(why)
		}
		return fmt.Errorf("bus.url: there is no NATS at %s: %w", redacted(c.URL), err)
	}
	fmt.Fprintf(out, "  %s\n", conn.BusState().Words)
	return nil
}

// redacted are URLs with commas between, without their passwords.
func redacted(urls string) string {
	servers := strings.Split(urls, ",")
	for i, server := range servers {
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil {
			servers[i] = u.Redacted()
		}
	}
	return strings.Join(servers, ", ")
}
