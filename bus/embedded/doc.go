// Package embedded runs a NATS server within this process. It is the only
// importer of nats-server; the build tag nobroker leaves that out, for
// processes that use a NATS outside.
package embedded

import (
	"github.com/rs/zerolog"
)

// DefaultMaxPayload is the largest message where the options set none, in
// bytes. Large enough for an image, and nats-server warns above it.
const DefaultMaxPayload = 8 << 20

// Options say how the broker runs. The zero Options are a broker that nobody
// outside of this process can reach.
type Options struct {
	// Listen is the address ("host:port", port 0 for any) for connections of
	// other processes; none if it is empty.
	Listen string
	// MaxPayload is the largest message in bytes; 0 means DefaultMaxPayload.
	MaxPayload int
	// User and Password, or Token, are asked of everyone who connects; this
	// process, too. Nothing is asked if they are empty.
	User, Password, Token string
	// Logger gets what the server has to warn of.
	Logger zerolog.Logger
}
