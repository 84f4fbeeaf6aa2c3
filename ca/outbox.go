package ca

import (
	"net"

	"github.com/polygate/gateway/ca/cawire"
)

// An outbox collects what is to be sent on a circuit. Short messages are copied
// one behind the other; a long payload is sent from where it lies. It is not
// safe for concurrent use.
type outbox struct {
	segments net.Buffers // complete; then tail
	tail     []byte
	size     int
	spare    []byte // an empty buffer for the next tail
	keep     keeper // of spare
}

// A payload from here on is not copied.
const shareFrom = 8 << 10

// empty tells whether there is nothing to send.
func (o *outbox) empty() bool { return o.size == 0 }

// add appends a message that fits the tail.
func (o *outbox) add(m cawire.Message, minor cawire.Minor) error {
	before := len(o.tail)
	out, err := m.Append(o.tail, minor)
	if err != nil {
		return err
	}
	o.tail = out
	o.size += len(out) - before
	return nil
}

// header is what a message with a payload of its own can append.
type header interface {
	AppendHeader(dst []byte, minor cawire.Minor) ([]byte, error)
}

// addShared appends a message whose payload is padded and never changes.
func (o *outbox) addShared(m header, payload []byte, minor cawire.Minor) error {
	before := len(o.tail)
	out, err := m.AppendHeader(o.tail, minor)
	if err != nil {
		return err
	}
	o.size += len(out) - before + len(payload)
	if len(payload) < shareFrom {
		out = append(out, payload...)
		o.tail = out
		return nil
	}
	o.segments = append(o.segments, out, payload)
	o.tail = nil
	return nil
}

// take returns everything and leaves the outbox empty.
func (o *outbox) take() net.Buffers {
	o.segments = append(o.segments, o.tail)
	all := o.segments
	o.segments, o.tail, o.size = nil, o.spare, 0
	o.spare = nil
	return all
}

// keepSpare bounds the buffer that an idle circuit keeps, keepBusy that of one which
// sends much time after time.
const (
	keepSpare = 16 << 10
	keepBusy  = 2 * batch
)

// give returns the last buffer of a take when it has been written.
func (o *outbox) give(buf []byte) {
	if cap(buf) == 0 || cap(buf) > keepBusy || !o.keep.worth(len(buf), cap(buf), keepSpare) {
		return
	}
	if o.tail == nil {
		o.tail = buf[:0]
		return
	}
	o.spare = buf[:0]
}

// A keeper decides what becomes of a buffer that has been used. A large one is kept
// only while it is needed time after time, so that a burst, such as the first values
// of many subscriptions, does not cost memory for ever.
type keeper struct{ busy bool }

// worth tells whether to keep a buffer of which so much was used. A small one always is.
func (k *keeper) worth(used, size, small int) bool {
	if size <= small {
		return true
	}
	needed := used > size/8
	again := needed && k.busy
	k.busy = needed
	return again
}
