package modbus

import (
	"errors"
	"slices"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// A lockstep is one line as all its devices use it: what has arrived, and
// whether requests and replies are in step. It belongs to whoever has the turn
// on the line.
//
// On TCP each reply repeats the transaction number of its request, and others
// are dropped. On a serial line a reply tells unit, function and length alone.
// So after one that did not come, before the same function of the same unit is
// used again,
//
//  1. the line must have been silent for the quiet time; replies that come late
//     are recognized by their check bytes, and counted;
//  2. if the missing one was not among them, something is read whose reply has
//     another length than all that is missing. A unit answers in the order of
//     the requests: that reply proves that the others are past. If the unit says
//     no to it, which could be the late answer to something else, the line must
//     be silent again.
type lockstep struct {
	overTCP bool
	in      []byte // what has arrived and is not complete: the end of buf
	buf     []byte
	lastAt  time.Time // when the last byte came or was sent
	noiseAt time.Time // when it was noticed that a reply is missing, or a byte came that nobody waited for

	transaction uint16
	owed        []debt // replies that have not come
	torn        bool   // on TCP: it is not known where the next frame begins
	damaged     source // on a serial line: the last frame whose check bytes were wrong
	losses      int    // of the line, when it was last looked at
}

// A source is what can be told from a reply on a serial line.
type source struct {
	unit     byte
	function pdu.Function
}

// A debt is a reply that has not come.
type debt struct {
	source
	bytes int // that it reads
}

// maxOwed bounds the debts of a unit that never answers: the oldest are forgotten.
const maxOwed = 8

func (t *talk) debt(r *pdu.Request) debt {
	return debt{source: source{t.plan.unit, r.Function}, bytes: r.ReplyBytes()}
}

// sourceOf is who sent the frame, whether it says yes or no.
func sourceOf(f pdu.Frame) source {
	return source{unit: f.Unit, function: pdu.Function(f.PDU[0] &^ 0x80)}
}

// begins reports whether bytes are the beginning of a frame of the source.
func (from source) begins(b []byte) bool {
	return len(b) > 2 && from == sourceOf(pdu.Frame{Unit: b[0], PDU: b[1:]})
}

// missing says that a reply did not come.
func (s *lockstep) missing(d debt) {
	s.noiseAt = time.Now()
	if s.overTCP || slices.Contains(s.owed, d) {
		return
	}
	if s.owed = append(s.owed, d); len(s.owed) > maxOwed {
		s.owed = s.owed[1:]
	}
}

// late says that a reply came for which nobody waits any more.
func (s *lockstep) late(f pdu.Frame) {
	from := sourceOf(f)
	i := slices.IndexFunc(s.owed, func(d debt) bool {
		// A read of n bytes is answered by function, length and bytes, or by an exception.
		return d.source == from && (d.bytes == 0 || len(f.PDU) == 2 || len(f.PDU) == 2+d.bytes)
	})
	if i >= 0 {
		s.owed = slices.Delete(s.owed, i, i+1)
	}
}

// owes reports whether a reply from there has not come.
func (s *lockstep) owes(from source) bool {
	return slices.ContainsFunc(s.owed, func(d debt) bool { return d.source == from })
}

// forgive forgets debts.
func (s *lockstep) forgive(which func(debt) bool) { s.owed = slices.DeleteFunc(s.owed, which) }

// reopened drops what belongs to a port that was lost.
func (s *lockstep) reopened(losses int) {
	if losses != s.losses {
		s.losses, s.in, s.torn = losses, s.in[:0], false
		s.noiseAt = time.Now()
	}
}

// add takes bytes that have arrived.
func (s *lockstep) add(b []byte, at time.Time) {
	s.buf = append(append(s.buf[:0], s.in...), b...)
	s.in, s.lastAt = s.buf, at
}

// next takes the first frame off what has arrived. It is valid until the next
// add. What begins no frame is dropped: on a serial line byte by byte, since a
// reply may stand behind noise, on TCP all of it.
func (s *lockstep) next() (pdu.Frame, bool) {
	cut := pdu.CutRTU
	if s.overTCP {
		cut = pdu.CutTCP
	}
	for {
		f, n, err := cut(s.in)
		switch {
		case n > 0:
			s.in = s.in[n:]
			return f, true
		case err == nil:
			return pdu.Frame{}, false
		case s.overTCP:
			s.in, s.torn = s.in[:0], true
			return pdu.Frame{}, false
		case errors.Is(err, pdu.ErrCheck):
			s.damaged = sourceOf(pdu.Frame{Unit: s.in[0], PDU: s.in[1:]})
		}
		s.in = s.in[1:]
	}
}

// skip gives up a frame that did not go on: it was noise in front of others. It
// reports whether there was anything.
func (s *lockstep) skip() bool {
	if len(s.in) == 0 {
		return false
	}
	s.in = s.in[1:]
	return true
}

// unsolicited takes bytes that came between exchanges: late replies.
func (s *lockstep) unsolicited(b []byte, at time.Time) {
	if at.Sub(s.lastAt) > maxPause && !s.overTCP {
		s.in = s.in[:0]
	}
	s.noiseAt = at
	s.add(b, at)
	for {
		f, ok := s.next()
		if !ok {
			break
		}
		s.late(f)
	}
	if len(s.in) > maxPending {
		s.in = s.in[:0]
	}
}

const (
	// maxPause ends a frame between exchanges.
	maxPause = 100 * time.Millisecond
	// maxPending is more than any frame.
	maxPending = 512
)

// inStep makes sure that the next reply from the source of req is the one to
// req. The answer's fault is set if that failed, and nothing was sent then.
func (t *talk) inStep(req *pdu.Request) (answer, error) {
	s := t.sync
	from := source{t.plan.unit, req.Function}
	if s.overTCP {
		if !s.torn {
			return answer{}, nil
		}
		a, err := t.drain(func() time.Time { return s.lastAt.Add(t.plan.readTimeout) })
		s.in, s.torn = s.in[:0], err != nil || a.failed()
		return a, err
	}
	if !s.owes(from) {
		return answer{}, nil
	}
	a, err := t.drain(func() time.Time { return s.noiseAt.Add(t.plan.quietTime) })
	if err != nil || a.failed() || !s.owes(from) {
		return a, err
	}
	if probe := t.probe(req); probe != nil {
		switch a, err = t.exchange(probe); {
		case err != nil || a.failed() && a.exception == 0:
			return a, err
		case a.exception == 0:
			s.forgive(func(d debt) bool { return d.unit == t.plan.unit })
			return answer{}, nil
		}
		s.noiseAt = time.Now()
		if a, err = t.drain(func() time.Time { return s.noiseAt.Add(t.plan.quietTime) }); err != nil || a.failed() {
			return a, err
		}
	}
	s.forgive(func(d debt) bool { return d.source == from })
	return answer{}, nil
}

// probe is a read whose reply differs from that to req and from all that are
// owed: of an attribute, of a part of a block, or, if there is no other, of more
// than the first block. It is nil if nothing can be read.
func (t *talk) probe(req *pdu.Request) *pdu.Request {
	distinct := func(r *pdu.Request) bool {
		d := t.debt(r)
		return d != t.debt(req) && !slices.Contains(t.sync.owed, d)
	}
	for i := range t.plan.items {
		if it := &t.plan.items[i]; it.readable && distinct(it.request()) {
			return it.request()
		}
	}
	for _, b := range t.plan.blocks {
		for r, most := b.request(), b.to-b.from; most > 0; most-- {
			if r.Quantity = uint16(most); distinct(r) {
				return r
			}
		}
	}
	if len(t.plan.blocks) == 0 {
		return nil
	}
	r := t.plan.blocks[0].request()
	for !distinct(r) {
		r.Quantity++
	}
	return r
}

// drain drops what arrives until a time that each byte may move. A line that
// never becomes silent is a fault.
func (t *talk) drain(until func() time.Time) (answer, error) {
	s := t.sync
	limit := time.Now().Add(max(10*t.plan.quietTime, time.Second))
	for {
		deadline := until()
		if !time.Now().Before(deadline) {
			break
		}
		n, at, err := t.conn.Read(t.chunk, deadline)
		if errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil {
			break
		}
		if err != nil {
			return answer{}, err
		}
		s.noiseAt = at
		s.add(t.chunk[:n], at)
		t.dropLate()
		if at.After(limit) {
			return answer{at: at, fault: failure(gateway.StatusRead, "%v", link.ErrNoisy)}, nil
		}
	}
	for s.skip() {
		t.dropLate()
	}
	return answer{}, nil
}

// dropLate drops complete replies.
func (t *talk) dropLate() {
	for {
		f, ok := t.sync.next()
		if !ok {
			return
		}
		t.sync.late(f)
	}
}
