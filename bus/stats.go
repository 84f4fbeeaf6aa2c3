package bus

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
)

// Stats count what went over a connection since Connect.
type Stats struct {
	State             gateway.BusState
	InMsgs, OutMsgs   uint64
	InBytes, OutBytes uint64 // of payloads
	Reconnects        uint64
	Dropped           uint64 // messages that came while an inbox was full
	Malformed         uint64 // messages that could not be decoded
	LastError         string // empty if there never was one
}

type counters struct {
	inMsgs, outMsgs, inBytes, outBytes, reconnects, dropped, malformed atomic.Uint64

	mu        sync.Mutex
	lastError string
}

// fail remembers an error and reports whether it is another than the last one.
func (c *counters) fail(err error) bool {
	if err == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.lastError != err.Error()
	c.lastError = err.Error()
	return fresh
}

func (c *counters) in(msg *nats.Msg) {
	c.inMsgs.Add(1)
	c.inBytes.Add(uint64(len(msg.Data)))
}

// Stats returns counters for status pages and metrics. It never waits.
func (c *Conn) Stats() Stats {
	s := &c.stats
	s.mu.Lock()
	lastError := s.lastError
	s.mu.Unlock()
	return Stats{
		State:  c.BusState(),
		InMsgs: s.inMsgs.Load(), OutMsgs: s.outMsgs.Load(),
		InBytes: s.inBytes.Load(), OutBytes: s.outBytes.Load(),
		Reconnects: s.reconnects.Load(),
		Dropped:    s.dropped.Load(),
		Malformed:  s.malformed.Load(),
		LastError:  lastError,
	}
}

// sendError gives an error of a publish its kind.
func sendError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return gateway.Errorf(gateway.KindTooLarge, "the message is larger than the bus carries")
	default:
		return gateway.Errorf(gateway.KindBusDown, "the bus is away: %w", err)
	}
}

func (c *Conn) busDown() error {
	return gateway.Errorf(gateway.KindBusDown, "the bus is away: %s", c.BusState().Words)
}
