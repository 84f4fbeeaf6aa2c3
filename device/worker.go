package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/polygate/gateway"
)

// errReconnect ends a session of a device that has answered again after it was
// silent: it may have lost its settings, so it is connected afresh, at once.
var errReconnect = errors.New("the device answers again")

// errNoAnswer is why a device is away whose link is open.
var errNoAnswer = errors.New("no answer")

// A worker is the one goroutine that calls the driver.
type worker struct {
	*Supervisor
	putCtx   context.Context // outlives the worker's own by the drain
	schedule *schedule
	readings []Reading              // reused by each poll, as is
	updates  []gateway.SampleUpdate // what is published of them
	afterPut bool                   // the last exchange was a put
}

// work connects the device again and again until ctx ends.
func (s *Supervisor) work(ctx, putCtx context.Context) {
	w := &worker{Supervisor: s, putCtx: putCtx, schedule: newSchedule(s.model.Polls)}
	for pause := firstBackoff; ; pause = min(2*pause, maxBackoff) {
		began := time.Now()
		err := w.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errReconnect) {
			continue
		}
		w.disconnected(err)
		if time.Since(began) >= maxBackoff {
			pause = firstBackoff
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// session is one connection, from Connect to Close. It returns why it ended.
func (w *worker) session(ctx context.Context) error {
	out := &sink{s: w.Supervisor, live: true}
	w.mu.Lock()
	w.lost = nil
	w.quiet.reset(len(w.polls))
	w.counts.connects++
	w.mu.Unlock()
	defer w.close(out)

	if err := w.mayTalk(); err != nil {
		return err
	}
	if err := w.connect(ctx, out); err != nil {
		return err
	}
	w.mu.Lock()
	w.linkUp = true
	if len(w.polls) == 0 || w.quiet.spoke {
		w.setStateLocked(true, "")
	}
	w.mu.Unlock()
	w.schedule.reset(time.Now())
	return w.exchange(ctx)
}

// exchange runs puts and polls, one at a time, until the link is lost or ctx
// ends. Puts go first, but for a poll that has missed a whole period: that one
// runs between two puts, so that a slider does not make every other value stale.
func (w *worker) exchange(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		if err := w.mayTalk(); err != nil {
			return err
		}
		poll, at, polled := w.schedule.next()
		missed := polled && time.Since(at) >= w.schedule.periods[poll]
		put, err := w.nextPut(missed && w.afterPut)
		if err != nil {
			return err
		}
		w.afterPut = put != nil
		if put != nil {
			if err := w.runPut(w.putCtx, put); err != nil {
				return err
			}
			continue
		}
		var due <-chan time.Time
		if polled {
			wait := time.Until(at)
			if wait <= 0 {
				if err := w.runPoll(ctx, poll); err != nil {
					return err
				}
				continue
			}
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-due:
		}
	}
	return ctx.Err()
}

// nextPut returns the put whose turn it is, if any, or why the session must end.
// With yield only an urgent put has its turn.
func (w *worker) nextPut(yield bool) (*queued, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.lost != nil:
		return nil, w.lost
	case w.quiet.silent && w.quiet.streak == 0:
		return nil, errReconnect
	case yield && len(w.queue.urgent) == 0:
		return nil, nil
	}
	p := w.queue.pop()
	w.running = p != nil
	return p, nil
}

func (w *worker) runPoll(ctx context.Context, poll int) error {
	began := time.Now()
	readings, err := w.drivePoll(ctx, poll)
	now := time.Now()
	skipped := w.schedule.done(began, now)
	if ctx.Err() != nil {
		return ctx.Err() // what a cut-off exchange says is no news of the device
	}
	if err != nil {
		readings = succeeded(readings)
	}

	w.mu.Lock()
	w.updates = w.applyLocked(readings, false, w.updates[:0])
	w.publishLocked(w.updates)
	clear(w.updates)
	w.polls[poll].skipped += skipped
	w.polledLocked(poll, began, now)
	var answers replies
	switch {
	case err != nil: // the end of the session says it all
	case !unanswered(readings):
		w.heardLocked(poll)
	case w.quiet.missed(poll):
		answers = w.awayLocked(errNoAnswer)
	}
	w.mu.Unlock()
	answers.send()
	return err
}

// succeeded keeps the readings that have a value: the state of the device, not
// a fault of each attribute, says that the link was lost.
func succeeded(readings []Reading) []Reading {
	kept := readings[:0]
	for _, r := range readings {
		if !r.Failed() {
			kept = append(kept, r)
		}
	}
	return kept
}

// applyLocked turns the readings of one exchange into the current samples and
// appends these to updates.
func (s *Supervisor) applyLocked(readings []Reading, exact bool, updates []gateway.SampleUpdate) []gateway.SampleUpdate {
	if len(readings) == 0 {
		return updates
	}
	now := s.opts.Now()
	// One block, since the samples of one exchange live and are replaced together.
	samples := make([]gateway.Sample, len(readings))
	if updates == nil {
		updates = make([]gateway.SampleUpdate, 0, len(readings))
	}
	for i := range readings {
		r := &readings[i]
		if r.Index < 0 || r.Index >= len(s.attrs) || !s.attrs[r.Index].read(r, now, exact, &samples[i]) {
			continue
		}
		s.noteFaultLocked(r, &samples[i])
		updates = append(updates, gateway.SampleUpdate{Index: uint32(r.Index), Role: r.Role, Sample: &samples[i]})
	}
	return updates
}

// noteFaultLocked counts a faulty reading, and logs it when it is new and is
// about one attribute rather than the whole line.
func (s *Supervisor) noteFaultLocked(r *Reading, sample *gateway.Sample) {
	alarm := sample.Alarm
	if alarm.Severity != gateway.Invalid {
		return
	}
	if int(alarm.Status) < len(s.counts.errors) {
		s.counts.errors[alarm.Status]++
	}
	if sample.Mask&gateway.MaskAlarm == 0 || alarm.Status == gateway.StatusTimeout || alarm.Status == gateway.StatusComm {
		return
	}
	if more, ok := s.faults.allow(time.Now()); ok {
		s.opts.Log.Warn().Str("attribute", string(s.attrs[r.Index].Path)).Stringer("status", alarm.Status).
			Str("fault", alarm.Text).Uint64("more", more).Msg("faulty reading")
	}
}

// heardLocked takes note that the device has answered. It is connected from its
// first answer after Connect on.
func (s *Supervisor) heardLocked(poll int) {
	s.quiet.heard(poll)
	switch {
	case s.quiet.silent:
		signal(s.wake) // the worker connects afresh
	case s.linkUp && !s.connected:
		s.setStateLocked(true, "")
	}
}

// disconnected takes note of a link that was lost or could not be made.
func (s *Supervisor) disconnected(err error) {
	s.mu.Lock()
	answers := s.awayLocked(err)
	s.mu.Unlock()
	answers.send()
}

// A crash is a panic in a driver. It costs the connection, not the process.
type crash struct {
	value any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("driver crashed: %v", c.value) }

// recovered turns a panic into an error; it must be deferred itself.
func recovered(err *error) {
	if value := recover(); value != nil {
		*err = &crash{value: value, stack: debug.Stack()}
	}
}

func (w *worker) connect(ctx context.Context, out Sink) (err error) {
	defer recovered(&err)
	return w.driver.Connect(ctx, out)
}

func (w *worker) drivePoll(ctx context.Context, poll int) (readings []Reading, err error) {
	defer recovered(&err)
	readings, err = w.driver.Poll(ctx, poll, w.readings[:0])
	w.readings = readings
	return readings, err
}

func (s *Supervisor) drivePut(ctx context.Context, p *queued) (outcome Outcome) {
	var err error
	func() {
		defer recovered(&err)
		outcome = s.driver.Put(ctx, p.index, p.Value)
	}()
	if err != nil {
		outcome = Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindInternal, "%w", err), Lost: err}
	}
	return outcome
}

func (w *worker) close(out *sink) {
	w.mu.Lock()
	out.live, w.linkUp = false, false
	w.mu.Unlock()
	err := func() (err error) {
		defer recovered(&err)
		return w.driver.Close()
	}()
	if err != nil {
		w.opts.Log.Debug().Err(err).Msg("closing the driver")
	}
}

// A sink takes what the driver says of its own accord during one session.
type sink struct {
	s    *Supervisor
	live bool // guarded by s.mu
}

var _ Sink = (*sink)(nil)

// Deliver implements Sink.
func (k *sink) Deliver(readings []Reading) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if !k.live || len(readings) == 0 {
		return
	}
	k.s.publishLocked(k.s.applyLocked(readings, false, nil))
	if !unanswered(readings) {
		k.s.heardLocked(-1)
	}
}

// Down implements Sink.
func (k *sink) Down(err error) {
	k.s.mu.Lock()
	var answers replies
	if k.live && !k.s.linkUp {
		answers = k.s.awayLocked(err)
	}
	k.s.mu.Unlock()
	answers.send()
}

// Lost implements Sink.
func (k *sink) Lost(err error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if !k.live || k.s.lost != nil {
		return
	}
	k.s.lost = cmp.Or(err, ErrLost)
	signal(k.s.wake)
}
