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
func New(tb testing.TB) *bus.Conn {
	tb.Helper()
	return Connect(tb, Broker(tb, embedded.Options{}))
}

// Broker starts a broker. Connections made with Connect are closed before it.
func Broker(tb testing.TB, opts embedded.Options) *embedded.Broker {
	tb.Helper()
	opts.Logger = logger(tb)
	broker, err := embedded.Start(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(broker.Shutdown)
	return broker
}

// Connect makes one more connection to a broker within the process, as another process would.
func Connect(tb testing.TB, broker *embedded.Broker) *bus.Conn {
	tb.Helper()
	return Dial(tb, bus.Options{Broker: broker})
}

// Dial makes a connection with any options.
func Dial(tb testing.TB, opts bus.Options) *bus.Conn {
	tb.Helper()
	opts.Name, opts.Logger = tb.Name(), logger(tb)
	conn, err := bus.Connect(tb.Context(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

// logger writes to the test's log, which shows it if the test fails.
func logger(tb testing.TB) zerolog.Logger {
	tb.Helper()
	return zerolog.New(zerolog.NewTestWriter(tb))
}
