package proto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

// AppendEvent appends one event to a WatchResponse. With describe an EventAdded
// comes with the descriptor.
func AppendEvent(dst []byte, e *gateway.Event, describe bool) ([]byte, error) {
	w := writer{b: dst}
	if e.Type == gateway.EventSample {
		w.sampleEvent(e)
		return w.b, w.err
	}
	m := w.begin(1, 3*short)
	w.varint(1, uint64(e.Type))
	if a := e.Attribute; a != nil {
		w.text(2, string(a.Path))
		w.varint(5, uint64(e.Lost))
		switch e.Type {
		case gateway.EventAdded:
			w.attribute(6, a, describe)
		case gateway.EventAvailability:
			w.attribute(6, a, false)
		case gateway.EventDescribed:
			described := w.begin(6, 3*short)
			w.text(1, string(a.Path))
			w.descriptor(7, a.Descriptor)
			w.end(described)
		}
	}
	w.end(m)
	return w.b, w.err
}

// sampleEvent writes what nearly all events are. Every sample passes here once
// for each client, so what most samples look like is written out.
func (w *writer) sampleEvent(e *gateway.Event) {
	const varint, length = byte(varintType), byte(lenType)
	a, s := e.Attribute, e.Sample()
	if a.Availability != gateway.Available || !isPlain(s) {
		m := w.begin(1, short+len(a.Path)+s.Value.Size())
		w.varint(1, uint64(e.Type))
		w.text(2, string(a.Path))
		w.varint(3, uint64(e.Role))
		w.shownSample(4, a, s, e.Mask)
		w.varint(5, uint64(e.Lost))
		w.end(m)
		return
	}
	event := mark{start: len(w.b) + 2, width: 1}
	b := w.b
	b = append(b, 1<<3|length, 0, 1<<3|varint, byte(e.Type), 2<<3|length)
	b = protowire.AppendString(b, string(a.Path)) // ASCII, as all paths are
	b = append(b, 3<<3|varint, byte(e.Role), 4<<3|length, 0)
	w.b = b
	sample := mark{start: len(w.b), width: 1}
	w.plainSample(s)
	w.alarm(&s.Alarm)
	w.varint(5, s.Seq)
	w.varint(6, uint64(e.Mask))
	w.end(sample)
	w.varint(5, uint64(e.Lost))
	w.end(event)
}

// AppendBatchEnd appends what stands behind the events of a WatchResponse: the
// cursor, unless it is zero, and the number of samples that were lost.
func AppendBatchEnd(dst []byte, cursor gateway.Cursor, lost uint64) []byte {
	w := writer{b: dst}
	w.text(2, cursor.String())
	w.varint(3, lost)
	return w.b
}
