package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/proto"
)

// hubInbox is how many messages may wait for the hub: at 100,000 a second more
// than half a second of being held up.
const hubInbox = 1 << 16

// ErrClosed is returned by Receive after Close.
var ErrClosed = errors.New("the bus is closed")

// A Subscription is a hub's ear on the bus, and its voice. Receive and
// TryReceive are for one goroutine; the others may be called from any.
type Subscription struct {
	conn    *Conn
	in      *inbox
	decoder proto.Decoder
	logged  *onceLog
	replies string // what the subjects of verdicts begin with

	updates, announcements, states, verdicts, absences *nats.Subscription
}

// Subscribe makes a hub hear everything. The first message is the BusState. When
// Subscribe returns the server knows of it, so whatever is published from now on
// will be received, unless the bus is away.
func (c *Conn) Subscribe() (*Subscription, error) {
	s := &Subscription{conn: c, in: newInbox(hubInbox), logged: newOnceLog(c), replies: c.nc.NewInbox() + "."}
	c.register(s.in)
	for _, want := range []struct {
		sub     **nats.Subscription
		subject string
	}{
		{&s.updates, c.subjects.update(">")},
		{&s.announcements, c.subjects.announce(">")},
		{&s.states, c.subjects.state(">")},
		{&s.verdicts, s.replies + "*"},
		{&s.absences, s.replies + absence + "*.*.*"},
	} {
		var err error
		if *want.sub, err = s.in.subscribe(c.nc, want.subject); err != nil {
			s.Close()
			return nil, fmt.Errorf("subscribing to %s: %w", want.subject, err)
		}
	}
	if err := c.flush(); err != nil {
		s.Close()
		return nil, fmt.Errorf("subscribing a hub: %w", err)
	}
	return s, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	for _, sub := range s.in.subs {
		_ = sub.Unsubscribe() // fails only if the connection is closed, which ends it, too
	}
	s.conn.unregister(s.in)
}

// Receive waits for the next message. It returns nil and no error when wake has
// fired, and an error when ctx has ended or the connection was closed.
func (s *Subscription) Receive(ctx context.Context, wake <-chan struct{}) (gateway.Message, error) {
	for {
		if lost := s.takeLoss(); lost != nil {
			return lost, nil
		}
		select {
		case msg := <-s.in.msgs:
			if m := s.message(msg); m != nil {
				return m, nil
			}
		case <-wake:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.in.done:
			return nil, ErrClosed
		}
	}
}

// TryReceive returns the next message, or nil if none is waiting.
func (s *Subscription) TryReceive() gateway.Message {
	for {
		if lost := s.takeLoss(); lost != nil {
			return lost
		}
		select {
		case msg := <-s.in.msgs:
			if m := s.message(msg); m != nil {
				return m
			}
		default:
			return nil
		}
	}
}

func (s *Subscription) takeLoss() gateway.Message {
	loss := s.in.takeLoss()
	if loss == 0 {
		return nil
	}
	s.conn.stats.dropped.Add(loss)
	return &gateway.Dropped{Count: loss}
}

// message decodes what came in, or returns nil if there is nothing in it.
func (s *Subscription) message(msg *nats.Msg) gateway.Message {
	if msg == nil {
		if state, ok := s.in.takeState(); ok {
			return &state
		}
		return nil
	}
	s.conn.stats.in(msg)
	m, err := s.decode(msg)
	if err != nil {
		s.logged.malformed(msg.Subject, err)
		return nil
	}
	return m
}

func (s *Subscription) decode(msg *nats.Msg) (gateway.Message, error) {
	switch msg.Sub {
	case s.updates:
		u, err := s.decoder.Update(msg.Data)
		if err != nil {
			return nil, err
		}
		return u, checkSender(msg.Subject, &u.Owner)
	case s.announcements:
		a, err := s.decoder.Announcement(msg.Data)
		if err != nil {
			return nil, err
		}
		return a, checkSender(msg.Subject, &a.Owner)
	case s.states:
		state, err := s.decoder.DeviceState(msg.Data)
		if err != nil {
			return nil, err
		}
		return state, checkSender(msg.Subject, &state.Owner)
	case s.absences:
		return s.absent(msg)
	default:
		return s.reply(msg)
	}
}

// checkSender keeps one who may speak for one device alone from speaking for another.
func checkSender(subject string, owner *gateway.Owner) error {
	if device(subject) != owner.Device {
		return fmt.Errorf("it is about device %s", owner.Device)
	}
	return nil
}

// reply decodes what came to us alone: our own echo, or a reply to SendPut. Which
// put it answers is in its subject.
func (s *Subscription) reply(msg *nats.Msg) (gateway.Message, error) {
	token := device(msg.Subject)
	if token == echo {
		return &gateway.Echo{}, nil
	}
	id, err := parseReplyToken(token)
	if err != nil {
		return nil, err
	}
	if nobody(msg) {
		refusal := gateway.Errorf(gateway.KindNotConnected, "no driver takes puts for this device")
		refusal.Stage = gateway.StageRefused
		return &gateway.PutVerdict{ID: id, Verdict: gateway.Verdict{Stage: gateway.StageRefused, Err: refusal}}, nil
	}
	v, err := s.decoder.PutVerdict(msg.Data)
	if err != nil {
		return nil, err
	}
	v.ID = id
	return v, nil
}

// nobody reports whether a reply is the server's own, which it gives at once if
// nobody listens on the subject of a request.
func nobody(msg *nats.Msg) bool {
	return len(msg.Data) == 0 && msg.Header.Get("Status") == "503"
}

// SendPut sends a put to the owner that it names. The verdict comes as a
// *gateway.PutVerdict with the same ID; if that owner does not exist, at once
// with StageRefused and KindNotConnected, and without an owner. An error, of
// KindBusDown, KindTooLarge or KindMalformed, means that nothing was sent.
func (s *Subscription) SendPut(p *gateway.Put) error {
	pooled := s.conn.buffer()
	defer s.conn.putBack(pooled)
	buf, err := proto.AppendPut(*pooled, p)
	if err != nil {
		return gateway.Errorf(gateway.KindMalformed, "put to %s: %w", p.Path, err)
	}
	*pooled = buf
	return s.conn.publish(s.conn.subjects.put(p.To), s.replies+replyToken(p.ID), buf)
}

// Ask asks whether an owner is there. If nobody hears that, a *gateway.Absent
// comes at once. An owner that is there does not answer: it may be held up. If the
// server does not answer either, it is left for another or a new connection. The
// error is of KindBusDown.
func (s *Subscription) Ask(o gateway.Owner) error {
	reply := s.replies + absence + o.Device + "." + o.Instance + "." + strconv.FormatUint(o.Term, 10)
	err := s.conn.publish(s.conn.subjects.put(o), reply, nil)
	s.conn.probe()
	return err
}

// absent decodes the reply to Ask, which is only about owners that are not there.
// Whom it was asked for is in its subject.
func (s *Subscription) absent(msg *nats.Msg) (gateway.Message, error) {
	if !nobody(msg) {
		return nil, nil //nolint:nilnil // there is nothing in it.
	}
	name := strings.Split(strings.TrimPrefix(msg.Subject, s.replies+absence), ".")
	term, err := strconv.ParseUint(name[len(name)-1], 10, 64)
	if err != nil || len(name) != 3 {
		return nil, fmt.Errorf("%q names no owner", gateway.Quotable(msg.Subject))
	}
	return &gateway.Absent{Owner: gateway.Owner{Device: name[0], Instance: name[1], Term: term}}, nil
}

// Echo sends a *gateway.Echo to this subscription alone. The error is of KindBusDown.
func (s *Subscription) Echo() error {
	return s.conn.publish(s.replies+echo, "", nil)
}

// What the subjects of replies that are no verdicts go on with.
const (
	absence = "absent." // followed by the owner
	echo    = "echo"
)

// Describe asks all owners to announce. The error is of KindBusDown.
func (s *Subscription) Describe() error {
	return s.conn.publish(s.conn.subjects.describe(), "", nil)
}
