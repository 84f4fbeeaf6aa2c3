package bus

import (
	"fmt"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/proto"
)

// pieceSize is where an announcement begins a new piece, in bytes: each is
// applied by a hub in one turn, which must stay short.
const pieceSize = 128 << 10

// keptBuffer is the largest buffer that is used again: as large as messages are
// with the usual limit of a server, since a device of thousands of attributes fills one
// at every poll. Two rounds of the garbage collector free what is not used.
const keptBuffer = 1 << 20

func (c *Conn) buffer() *[]byte {
	if buf, ok := c.buffers.Get().(*[]byte); ok {
		return buf
	}
	return new([]byte)
}

func (c *Conn) putBack(buf *[]byte) {
	if cap(*buf) <= keptBuffer {
		*buf = (*buf)[:0]
		c.buffers.Put(buf)
	}
}

// publish sends one message; nats.go copies data before it returns.
func (c *Conn) publish(subject, reply string, data []byte) error {
	if !c.up.Load() {
		return c.busDown()
	}
	var err error
	if reply == "" {
		err = c.nc.Publish(subject, data)
	} else {
		err = c.nc.PublishRequest(subject, reply, data)
	}
	if err != nil {
		return sendError(err)
	}
	c.stats.outMsgs.Add(1)
	c.stats.outBytes.Add(uint64(len(data)))
	return nil
}

// Update publishes the samples of one exchange, in one message where they fit.
// A sample that the bus cannot carry goes out without its value and with an
// alarm that says so; all others go out as they are, and the error is of
// KindTooLarge. After an error of KindBusDown nothing more was sent.
func (c *Conn) Update(u *gateway.Update) error {
	if !c.up.Load() {
		return c.busDown()
	}
	pooled := c.buffer()
	defer c.putBack(pooled)
	buf, err := proto.AppendUpdateHead(*pooled, u)
	if err != nil {
		return gateway.Errorf(gateway.KindMalformed, "update of %s: %w", u.Device, err)
	}
	subject, head, limit := c.subjects.update(u.Device), len(buf), int(c.limit.Load())
	var refused refusals
	inMessage := 0
	for i := range u.Samples {
		start := len(buf)
		var err error
		if buf, err = appendSample(buf, &u.Samples[i], limit-head); err != nil {
			refused.add(err)
		}
		if inMessage++; len(buf) > limit || inMessage > proto.MaxSamples {
			if err := c.publish(subject, "", buf[:start]); err != nil {
				return err
			}
			buf = append(buf[:head], buf[start:]...)
			inMessage = 1
		}
	}
	*pooled = buf
	if err := c.publish(subject, "", buf); err != nil {
		return err
	}
	return refused.err(u.Device)
}

// refusals count what could not be sent as it is.
type refusals struct {
	first error
	n     int
}

func (r *refusals) add(err error) {
	if err == nil {
		return
	}
	if r.n == 0 {
		r.first = err
	}
	r.n++
}

func (r *refusals) err(device string) error {
	switch r.n {
	case 0:
		return nil
	case 1:
		return gateway.Errorf(gateway.KindOf(r.first), "device %s: %w", device, r.first)
	default:
		return gateway.Errorf(gateway.KindOf(r.first), "device %s: %d times; first: %w", device, r.n, r.first)
	}
}

// appendSample appends a sample, or one that stands for it if it takes more
// than room bytes or cannot be encoded.
func appendSample(buf []byte, s *gateway.SampleUpdate, room int) ([]byte, error) {
	start := len(buf)
	buf, err := proto.AppendUpdateSample(buf, s)
	err = tooLarge(err, len(buf)-start, room)
	if err == nil {
		return buf, nil
	}
	stands := *s
	stands.Sample = standIn(s.Sample, err)
	buf, _ = proto.AppendUpdateSample(buf[:start], &stands)
	return buf, gateway.Errorf(gateway.KindOf(err), "%s of attribute %d: %w", s.Role, s.Index, err)
}

// tooLarge gives an error of encoding its kind, or makes one if size is above limit.
func tooLarge(err error, size, limit int) error {
	if err != nil {
		return gateway.Errorf(gateway.KindMalformed, "%w", err)
	}
	if size > limit {
		return gateway.Errorf(gateway.KindTooLarge, "%d bytes are more than the %d that the bus carries", size, limit)
	}
	return nil
}

// standIn is what everyone sees of a sample that could not be sent.
func standIn(s *gateway.Sample, why error) *gateway.Sample {
	if s == nil {
		return nil
	}
	mask := s.Mask
	if mask != 0 {
		mask |= gateway.MaskAlarm
	}
	return &gateway.Sample{
		Time: s.Time, LastGood: s.LastGood, Seq: s.Seq, Mask: mask,
		Alarm: gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusLink, Text: "not sent: " + why.Error()},
	}
}

// State publishes what a driver says of its device.
func (c *Conn) State(s *gateway.DeviceState) error {
	pooled := c.buffer()
	defer c.putBack(pooled)
	buf, err := proto.AppendDeviceState(*pooled, s)
	if err != nil {
		return gateway.Errorf(gateway.KindMalformed, "state of %s: %w", s.Device, err)
	}
	*pooled = buf
	if err := c.publish(c.subjects.state(s.Device), "", buf); err != nil {
		return err
	}
	c.saidState()
	return nil
}

// sendVerdict sends a verdict without its samples, and then without its result,
// if the bus cannot carry it otherwise: the samples are sent to everyone as updates.
func (c *Conn) sendVerdict(reply string, v *gateway.PutVerdict) error {
	pooled := c.buffer()
	defer c.putBack(pooled)
	limit := int(c.limit.Load())
	buf, err := proto.AppendPutVerdict(*pooled, v)
	if err != nil || len(buf) > limit {
		small := *v
		small.Verdict.Setpoint, small.Verdict.Readback = nil, nil
		buf, err = proto.AppendPutVerdict(buf[:0], &small)
		if why := tooLarge(err, len(buf), limit); why != nil {
			failure := gateway.Errorf(gateway.KindOf(why), "the result of the put cannot be sent: %w", why)
			failure.Stage = v.Verdict.Stage
			small.Verdict = gateway.Verdict{Stage: v.Verdict.Stage, Err: failure}
			buf, err = proto.AppendPutVerdict(buf[:0], &small)
		}
	}
	if err != nil {
		return fmt.Errorf("verdict of %s: %w", v.Owner, err)
	}
	*pooled = buf
	return c.publish(reply, "", buf)
}

// Announce publishes all that a device has, in as many pieces as it takes: a
// holds all of it, and its Piece, Pieces and Offset are not used. Samples that
// the bus cannot carry are treated as Update does.
func (c *Conn) Announce(a *gateway.Announcement) error {
	if !c.up.Load() {
		return c.busDown()
	}
	head := *a
	head.Piece, head.Pieces, head.Offset = len(a.Attributes), len(a.Attributes)+1, uint32(len(a.Attributes))
	buf, err := proto.AppendAnnouncementHead(nil, &head) // as long as a head can be
	if err != nil {
		return gateway.Errorf(gateway.KindMalformed, "announcement of %s: %w", a.Device, err)
	}
	room := int(c.limit.Load()) - len(buf)
	body, cuts, refused, err := appendAttributes(a.Attributes, room)
	if err != nil {
		return gateway.Errorf(gateway.KindOf(err), "announcement of %s: %w", a.Device, err)
	}
	subject := c.subjects.announce(a.Device)
	head.Pieces, head.Offset = len(cuts), 0
	start := 0
	for i, cut := range cuts {
		head.Piece = i
		if buf, err = proto.AppendAnnouncementHead(buf[:0], &head); err != nil {
			return gateway.Errorf(gateway.KindMalformed, "announcement of %s: %w", a.Device, err)
		}
		buf = append(buf, body[start:cut.end]...)
		if err := c.publish(subject, "", buf); err != nil {
			return err
		}
		start = cut.end
		head.Offset += uint32(cut.attributes)
	}
	return refused.err(a.Device)
}

// A cut is where a piece of an announcement ends.
type cut struct {
	end        int // in the encoded attributes
	attributes int // in this piece
}

// appendAttributes encodes all attributes and says where to cut between them.
// There is always one piece. Refused are samples that were replaced; the error
// is about a descriptor that cannot be sent.
func appendAttributes(attributes []gateway.Announced, room int) (body []byte, cuts []cut, refused refusals, err error) {
	pieceStart, inPiece := 0, 0
	for i := range attributes {
		start := len(body)
		var why error
		if body, why, err = appendAttribute(body, &attributes[i], room); err != nil {
			return nil, nil, refused, err
		}
		refused.add(why)
		if len(body)-pieceStart > min(room, pieceSize) && inPiece > 0 {
			cuts = append(cuts, cut{end: start, attributes: inPiece})
			pieceStart, inPiece = start, 0
		}
		inPiece++
	}
	return body, append(cuts, cut{end: len(body), attributes: inPiece}), refused, nil
}

func appendAttribute(body []byte, a *gateway.Announced, room int) (_ []byte, refused, err error) {
	start := len(body)
	body, err = proto.AppendAnnounced(body, a)
	refused = tooLarge(err, len(body)-start, room)
	if refused == nil {
		return body, nil, nil
	}
	stands := gateway.Announced{Descriptor: a.Descriptor, Readback: standIn(a.Readback, refused), Setpoint: standIn(a.Setpoint, refused)}
	body, err = proto.AppendAnnounced(body[:start], &stands)
	if err := tooLarge(err, len(body)-start, room); err != nil {
		return nil, nil, fmt.Errorf("descriptor of %s: %w", a.Descriptor.Path, err)
	}
	return body, gateway.Errorf(gateway.KindOf(refused), "samples of %s: %w", a.Descriptor.Path, refused), nil
}
