package modbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
)

// A Driver speaks to one unit as its configuration says.
type Driver struct {
	name string
	plan *plan
	line *link.Line
	log  zerolog.Logger

	silence  time.Duration // in front of a request on a serial line
	byteTime time.Duration // on it
	sync     *lockstep     // of the line

	session *session // nil while closed
	// setpoints are the last values put, for attributes that push them on connect.
	setpoints map[int]gateway.Value
	// startup is what a connect has still to read or push.
	startup []start
	// split are the blocks that the unit does not give in one piece.
	split map[*block]bool

	chunk, data []byte // of replies
	pdu, out    []byte // of requests
}

var _ device.Driver = (*Driver)(nil)

// A start is one exchange of a connect: a block to read, or an attribute whose
// setpoint is pushed.
type start struct {
	block *block
	index int
}

// A session is what lives from Connect to Close.
type session struct {
	out   device.Sink
	user  *link.User
	up    chan struct{} // closed when the line is open
	wasUp bool          // only onState uses it
}

// Lines makes drivers. Those of units that share a line must come from the same
// Lines, so that a late reply of one is not taken for that of another. The zero
// value is ready; its method may be called from any goroutine.
type Lines struct {
	mu    sync.Mutex
	steps map[*link.Line]*lockstep
}

// New makes the driver of a unit on a line. The line is served by somebody else,
// and outlives the driver. byteTime is how long one byte takes on a serial line,
// 0 where that is not known.
func (l *Lines) New(name string, c Config, line *link.Line, byteTime time.Duration, log zerolog.Logger) (*Driver, error) {
	p, problems := c.compile(name)
	for _, problem := range problems {
		if !problem.Warning {
			return nil, fmt.Errorf("device %s: %s", name, problem)
		}
	}
	step := l.step(line, p.overTCP)
	if step.overTCP != p.overTCP {
		return nil, fmt.Errorf("device %s: another device on %s has another framing", name, line.Name())
	}
	p.model.Info.Link = line.String()
	silence := p.silence
	if silence == 0 {
		silence = silenceOf(byteTime)
	}
	return &Driver{
		name: name, plan: p, line: line, log: log.With().Str("device", name).Logger(),
		silence: silence, byteTime: byteTime, sync: step, setpoints: map[int]gateway.Value{}, chunk: make([]byte, maxPending),
	}, nil
}

func (l *Lines) step(line *link.Line, overTCP bool) *lockstep {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.steps == nil {
		l.steps = map[*link.Line]*lockstep{}
	}
	s := l.steps[line]
	if s == nil {
		s = &lockstep{overTCP: overTCP}
		l.steps[line] = s
		// It listens for as long as the line lives: late replies come when they come.
		line.NewUser("modbus", link.UserOptions{OnBytes: s.unsolicited})
	}
	return s
}

// New makes the driver of a unit that has its line for itself.
func New(name string, c Config, line *link.Line, byteTime time.Duration, log zerolog.Logger) (*Driver, error) {
	return new(Lines).New(name, c, line, byteTime, log)
}

// silenceOf is the silence that ends a frame: 3.5 characters, and 1.75 ms from
// 19200 baud on (serial line, section 2.5.1.1), where one has 11 bits.
func silenceOf(byteTime time.Duration) time.Duration {
	const fast = 1750 * time.Microsecond
	if byteTime <= 0 {
		return fast
	}
	return max(fast, 7*byteTime/2)
}

// Model says what the device has.
func (d *Driver) Model() device.Model { return d.plan.model }

// LineShare is the share of a line's time that the polls need, at byteTime for
// one byte, without the time that the unit takes to answer.
func (d *Driver) LineShare(byteTime time.Duration) float64 {
	if d.plan.overTCP {
		return 0
	}
	share := 0.0
	for _, b := range d.plan.polls {
		// Unit, function, address, quantity and check; unit, function, length, data and check.
		n := 8 + 5 + b.request().ReplyBytes()
		share += float64(time.Duration(n)*byteTime+2*d.silence) / float64(b.period)
	}
	return share
}

// Connect waits until the line is open. Then it reads every attribute that can
// be read, and pushes the setpoints that the configuration says. A unit that
// does not answer is no error: the rest is done when it does.
func (d *Driver) Connect(ctx context.Context, out device.Sink) error {
	s := &session{out: out, up: make(chan struct{})}
	d.session = s
	s.user = d.line.NewUser(d.name, link.UserOptions{OnState: s.onState})
	select {
	case <-s.up:
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: %w", d.line.Name(), d.line.State().Words, context.Cause(ctx))
	}
	d.split = map[*block]bool{}
	d.startup = d.startup[:0]
	for i := range d.plan.items {
		if d.plan.items[i].connect == connectPush && d.setpoints[i].Known() {
			d.startup = append(d.startup, start{index: i})
		}
	}
	for _, b := range d.plan.blocks {
		d.startup = append(d.startup, start{block: b})
	}
	for len(d.startup) > 0 {
		next := d.startup[0]
		answered, err := d.startOne(ctx)
		if err != nil {
			return err
		}
		if !answered {
			d.startup = append(d.startup, next)
			break
		}
	}
	return nil
}

// onState is told of the line. Loss between exchanges is news for the
// supervisor; during one it is told twice and listens once. While Connect waits
// for the line, it is news why it does not open.
func (s *session) onState(state link.State) {
	switch {
	case state.Connected && !s.wasUp:
		s.wasUp = true
		close(s.up)
	case !state.Connected && s.wasUp:
		s.out.Lost(fmt.Errorf("%w: %s", device.ErrLost, state.Words))
	case !state.Connected && state.Attempts > 0:
		s.out.Down(errors.New(state.Words))
	}
}

// startOne does the next exchange of the connect and delivers what it read. It
// reports whether the unit answered.
func (d *Driver) startOne(ctx context.Context) (answered bool, err error) {
	next := d.startup[0]
	d.startup = d.startup[1:]
	if next.block == nil {
		outcome := d.Put(ctx, next.index, d.setpoints[next.index])
		if outcome.Err != nil {
			d.log.Warn().Str("attribute", string(d.plan.model.Attributes[next.index].Path)).Err(outcome.Err).Msg("setpoint not restored")
		}
		d.session.out.Deliver(outcome.Readings)
		// What was sent is not sent again, whatever has become of it.
		return outcome.Err == nil || outcome.Stage >= gateway.StageSent, outcome.Lost
	}
	readings, err := d.read(ctx, next.block, nil)
	if err != nil {
		return false, err
	}
	for _, r := range readings {
		answered = answered || r.Alarm.Status != gateway.StatusTimeout
		at := &d.plan.items[r.Index]
		if !r.Failed() && d.plan.model.Attributes[r.Index].CanWrite() && at.connect == connectRead {
			r.Role = gateway.Setpoint
			readings = append(readings, r)
		}
	}
	d.session.out.Deliver(readings)
	return answered, nil
}

// Poll reads one block.
func (d *Driver) Poll(ctx context.Context, poll int, into []device.Reading) ([]device.Reading, error) {
	before := len(into)
	into, err := d.read(ctx, d.plan.polls[poll], into)
	if err == nil && len(d.startup) > 0 && len(into) > before && !into[before].Failed() {
		_, err = d.startOne(ctx)
	}
	return into, err
}

// Refresh reads one attribute now.
func (d *Driver) Refresh(ctx context.Context, index int, into []device.Reading) ([]device.Reading, error) {
	if !d.plan.items[index].readable {
		return into, nil
	}
	a, err := d.ask(ctx, d.plan.items[index].span, link.Put)
	if err != nil || !a.known() {
		return into, err
	}
	return d.readings(d.plan.items[index].from, []int{index}, a, into), nil
}

// Close gives the line back.
func (d *Driver) Close() error {
	if d.session != nil {
		d.session.user.Close()
		d.session = nil
	}
	return nil
}

// read reads a block and appends its readings: in one piece, or attribute by
// attribute after the unit has said that it does not give all of it. One wrong
// address does then not take its neighbours away.
func (d *Driver) read(ctx context.Context, b *block, into []device.Reading) ([]device.Reading, error) {
	if !d.split[b] {
		a, err := d.ask(ctx, b.span, link.Poll)
		if err != nil || !a.known() {
			return into, err
		}
		if len(b.indices) == 1 || !a.notThere() {
			return d.readings(b.from, b.indices, a, into), nil
		}
		d.split[b] = true
		d.log.Warn().Stringer("addresses", b.span).Err(a.exception).Msg("not readable in one piece; its attributes are read one by one")
	}
	silent := answer{}
	for _, index := range b.indices {
		a := silent
		if !silent.failed() {
			var err error
			if a, err = d.ask(ctx, d.plan.items[index].span, link.Poll); err != nil || !a.known() {
				return into, err
			}
			if a.fault.Status == gateway.StatusTimeout {
				silent = a
			}
		}
		into = d.readings(d.plan.items[index].from, []int{index}, a, into)
	}
	return into, nil
}

// readings appends what an answer says of attributes. first is the address that
// the data begins with.
func (d *Driver) readings(first int, indices []int, a answer, into []device.Reading) []device.Reading {
	for _, index := range indices {
		r := device.Reading{Index: index, Role: gateway.Readback, Time: a.at, Alarm: a.fault}
		if !a.failed() {
			it := &d.plan.items[index]
			r.Value, r.Alarm = it.codec.decode(a.data, it.from-first)
		}
		into = append(into, r)
	}
	return into
}

// ask reads a span alone on the line.
func (d *Driver) ask(ctx context.Context, s span, prio link.Priority) (answer, error) {
	var a answer
	err := d.do(ctx, prio, func(t *talk) error {
		var err error
		a, err = t.ask(s.request())
		// The buffer is the line's, and the next turn overwrites it.
		d.data = append(d.data[:0], a.data...)
		a.data = d.data
		return err
	})
	return a, err
}

// do runs f alone on the line. Its error is an ErrLost, or nil: an exchange that
// ended with its context has nothing to say.
func (d *Driver) do(ctx context.Context, prio link.Priority, f func(*talk) error) error {
	s := d.session
	if s == nil {
		return fmt.Errorf("%s: %w: not connected", d.name, device.ErrLost)
	}
	return lost(d.line.Do(ctx, s.user, prio, func(c *link.Conn) error {
		d.sync.reopened(d.line.State().Losses)
		return f(&talk{Driver: d, conn: c, ctx: ctx})
	}))
}

// lost keeps errors that mean that the line is gone.
func lost(err error) error {
	if errors.Is(err, link.ErrLost) || errors.Is(err, link.ErrNotOpen) || errors.Is(err, link.ErrClosed) {
		return fmt.Errorf("%w: %w", device.ErrLost, err)
	}
	return nil
}
