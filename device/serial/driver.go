package serial

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
	"github.com/polygate/gateway/device/stream"
)

// Check compiles the configuration of a device and returns everything that is
// wrong with it.
func (c *Config) Check(device string) []Problem {
	_, problems := c.compile(device)
	return problems
}

// A Driver speaks to one instrument as its configuration says.
type Driver struct {
	name string
	plan *plan
	line *link.Line
	log  zerolog.Logger

	session *session // nil while closed
	// sync is shared by all devices of the line, and belongs to whoever has the
	// turn on it.
	sync *lockstep
	pace pace
	// setpoints are the last values put, for attributes that push them on connect.
	setpoints map[int]gateway.Value
	// startup lists the items that a connect has still to read or push.
	startup []int

	chunk []byte
	out   []byte
	read  []stream.Value
}

var _ device.Driver = (*Driver)(nil)

// Lines makes drivers. Those of devices that share a line must come from the
// same Lines, so that a late reply of one is not taken for that of another. The
// zero value is ready; its method may be called from any goroutine.
type Lines struct {
	mu    sync.Mutex
	steps map[*link.Line]*lockstep
}

// New makes the driver of a device on a line. The line is served by somebody
// else, and outlives the driver.
func (l *Lines) New(name string, c Config, line *link.Line, log zerolog.Logger) (*Driver, error) {
	p, problems := c.compile(name)
	for _, problem := range problems {
		if !problem.Warning {
			return nil, fmt.Errorf("device %s: %s", name, problem)
		}
	}
	p.model.Info.Link = line.String()
	return &Driver{
		name: name, plan: p, line: line, log: log.With().Str("device", name).Logger(),
		sync: l.step(line), setpoints: map[int]gateway.Value{}, chunk: make([]byte, 4096),
	}, nil
}

func (l *Lines) step(line *link.Line) *lockstep {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.steps == nil {
		l.steps = map[*link.Line]*lockstep{}
	}
	if l.steps[line] == nil {
		l.steps[line] = &lockstep{}
	}
	return l.steps[line]
}

// New makes the driver of a device that has its line for itself.
func New(name string, c Config, line *link.Line, log zerolog.Logger) (*Driver, error) {
	return new(Lines).New(name, c, line, log)
}

// Model says what the device has.
func (d *Driver) Model() device.Model { return d.plan.model }

// Connect waits until the line is open. Then it reads every attribute that can
// be read, and pushes the setpoints that the configuration says. A device that
// does not answer is no error: the rest is done when it does.
func (d *Driver) Connect(ctx context.Context, out device.Sink) error {
	s := newSession(d.plan, out)
	d.session = s
	s.user = d.line.NewUser(d.name, link.UserOptions{OnState: s.onState, OnBytes: s.onBytes})
	select {
	case <-s.up:
	case <-ctx.Done():
		state := d.line.State()
		return fmt.Errorf("%s: %s: %w", d.line.Name(), state.Words, context.Cause(ctx))
	}
	d.startup = d.startup[:0]
	done := map[*exchange]bool{}
	for i := range d.plan.items {
		it := &d.plan.items[i]
		switch {
		case it.connect == connectPush && d.setpoints[i].Known():
			d.startup = append(d.startup, i)
		case it.exchange != nil && !done[it.exchange]:
			d.startup = append(d.startup, i)
			done[it.exchange] = true
		}
	}
	var silent []int
	for len(d.startup) > 0 && len(silent) < silentStarts {
		index := d.startup[0]
		answered, err := d.startOne(ctx)
		if err != nil {
			return err
		}
		if silent = append(silent, index); answered {
			silent = silent[:0]
		}
	}
	d.startup = append(silent, d.startup...)
	return nil
}

// silentStarts is how many start-up exchanges in a row may go unanswered
// before the rest is left for when the device answers.
const silentStarts = 2

// startOne does the next start-up exchange and delivers what it read. It
// reports whether the device answered.
func (d *Driver) startOne(ctx context.Context) (answered bool, err error) {
	index := d.startup[0]
	d.startup = d.startup[1:]
	it := &d.plan.items[index]
	if v := d.setpoints[index]; it.connect == connectPush && v.Known() {
		outcome := d.Put(ctx, index, v)
		if outcome.Err != nil {
			d.log.Warn().Str("attribute", string(d.plan.model.Attributes[index].Path)).Err(outcome.Err).Msg("setpoint not restored")
		}
		d.session.out.Deliver(outcome.Readings)
		return outcome.Err == nil, outcome.Lost
	}
	readings, err := d.query(ctx, it.exchange, link.Poll, nil)
	if err != nil {
		return false, err
	}
	for _, r := range readings {
		if r.Failed() {
			answered = answered || r.Alarm.Status != gateway.StatusTimeout
			continue
		}
		answered = true
		at := &d.plan.items[r.Index]
		if at.write != nil && at.connect == connectRead {
			r.Role = gateway.Setpoint
			readings = append(readings, r)
		}
	}
	d.session.out.Deliver(readings)
	return answered, nil
}

// Poll runs the exchange of one poll.
func (d *Driver) Poll(ctx context.Context, poll int, into []device.Reading) ([]device.Reading, error) {
	before := len(into)
	into, err := d.query(ctx, d.plan.polls[poll], link.Poll, into)
	if err == nil && len(d.startup) > 0 && len(into) > before && !into[before].Failed() {
		_, err = d.startOne(ctx)
	}
	return into, err
}

// Refresh reads one attribute now.
func (d *Driver) Refresh(ctx context.Context, index int, into []device.Reading) ([]device.Reading, error) {
	x := d.plan.items[index].exchange
	if x == nil {
		return into, nil
	}
	return d.query(ctx, x, link.Put, into)
}

// Close gives the line back.
func (d *Driver) Close() error {
	if d.session != nil {
		d.session.close()
		d.session = nil
	}
	return nil
}

// query runs an exchange and appends what it reads.
func (d *Driver) query(ctx context.Context, x *exchange, prio link.Priority, into []device.Reading) ([]device.Reading, error) {
	err := d.do(ctx, prio, func(t *talk) error {
		var err error
		into, err = t.query(x, into)
		return err
	})
	return into, err
}

// do runs f alone on the line. Its error is an ErrLost, or nil: an exchange that
// ended with its context has nothing to say.
func (d *Driver) do(ctx context.Context, prio link.Priority, f func(*talk) error) error {
	s := d.session
	if s == nil {
		return fmt.Errorf("%s: %w: not connected", d.name, device.ErrLost)
	}
	err := d.line.Do(ctx, s.user, prio, func(c *link.Conn) error {
		t := &talk{Driver: d, conn: c, ctx: ctx, in: &s.in}
		t.begin()
		defer t.end()
		return f(t)
	})
	return lost(err)
}

// lost keeps errors that mean that the line is gone.
func lost(err error) error {
	if errors.Is(err, link.ErrLost) || errors.Is(err, link.ErrNotOpen) || errors.Is(err, link.ErrClosed) {
		return fmt.Errorf("%w: %w", device.ErrLost, err)
	}
	return nil
}

// failed returns readings with a fault for all attributes of an exchange.
func (x *exchange) failed(alarm gateway.Alarm, at time.Time, into []device.Reading) []device.Reading {
	for _, index := range x.indices {
		into = append(into, device.Reading{Index: index, Role: gateway.Readback, Time: at, Alarm: alarm})
	}
	return into
}
