// Package hub is the event loop of a gateway: one goroutine owns the table of
// attributes, applies what drivers say, fans changes out to the queues of
// connections, and routes puts to the owners of devices and their verdicts
// back. It implements gateway.View.
//
// A read is the load of an atomic pointer. A subscription starts with what is
// known, taken in one turn of the loop, and continues without a gap. Nobody
// waits for a slow reader: its queue falls back to the newest sample of each
// attribute. For every message the hub first stores, then tells subscribers,
// then completes puts, so that whoever got a verdict reads the value behind it.
//
// The hub knows nothing of protocols, of NATS or of instruments, and keeps
// nothing on disk: what it knows it has been told by the owners of devices, and
// asks for again when it may have missed something.
package hub
