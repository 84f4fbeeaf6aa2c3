// Package bustest gives tests a bus of their own: a broker within the test's
// process and connections to it, all closed when the test ends.
package bustest

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/embedded"
)

// New starts a broker that nobody outside of the test can reach, and connects to it.
func New(t testing.TB) *bus.Conn {
	t.Helper()
	return Connect(t, Broker(t, embedded.Options{}))
}

// Broker starts a broker. Connections made with Connect are closed before it.
func Broker(t testing.TB, opts embedded.Options) *embedded.Broker {
	t.Helper()
	opts.Logger = logger(t)
	broker, err := embedded.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Shutdown)
	return broker
}

// Connect makes one more connection to a broker within the process, as another process would.
func Connect(t testing.TB, broker *embedded.Broker) *bus.Conn {
	t.Helper()
	return Dial(t, bus.Options{Broker: broker})
}

// Dial makes a connection with any options.
func Dial(t testing.TB, opts bus.Options) *bus.Conn {
	t.Helper()
	opts.Name, opts.Logger = t.Name(), logger(t)
	conn, err := bus.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// logger writes to the test's log, which shows it if the test fails.
func logger(t testing.TB) zerolog.Logger { return zerolog.New(zerolog.NewTestWriter(t)) }
