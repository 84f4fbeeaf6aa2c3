package device

import (
	"context"
	"slices"
	"time"

	"github.com/polygate/gateway"
)

// A reply is a verdict and who waits for it. It is sent when the supervisor's
// mutex is free, after what it tells of was published.
type reply struct {
	answer  func(*gateway.PutVerdict)
	verdict *gateway.PutVerdict
}

type replies []reply

func (r replies) send() {
	for i := range r {
		r[i].answer(r[i].verdict)
	}
}

// acceptPut validates a put and refuses it at once, or shows its value as the
// setpoint and queues it. A refresh is queued alike and shows nothing.
func (s *Supervisor) acceptPut(put *gateway.Put, answer func(*gateway.PutVerdict)) {
	s.mu.Lock()
	index, err := s.admitLocked(put)
	if err != nil {
		refusal := s.verdictLocked(put, index, gateway.StageRefused, err, gateway.Value{})
		s.mu.Unlock()
		answer(refusal)
		return
	}
	p := &queued{Put: put, index: index, deadline: s.deadlineLocked(put), answer: answer}
	superseded := s.queue.supersededBy(p)
	if err := s.roomLocked(p, len(superseded)); err != nil {
		refusal := s.verdictLocked(put, index, gateway.StageRefused, err, gateway.Value{})
		s.mu.Unlock()
		answer(refusal)
		return
	}
	a := &s.attrs[index]
	s.queue.push(p, superseded)
	if !put.Refresh {
		a.accept(put.Value, s.opts.Now())
		s.publishLocked([]gateway.SampleUpdate{{
			Index: uint32(index), Role: gateway.Setpoint, Sample: a.setpoint, Accepts: put.ID,
		}})
	}
	var answers replies
	for _, old := range superseded {
		if !old.Refresh {
			a.waiting--
		}
		err := gateway.Errorf(gateway.KindSuperseded, "a newer put took its place before it was sent")
		answers = append(answers, s.replyLocked(old, gateway.StageSuperseded, err, gateway.Value{}))
	}
	s.armLocked(p.deadline)
	s.mu.Unlock()
	signal(s.wake)
	answers.send()
}

// admitLocked finds what a put is for, or says why it is refused.
func (s *Supervisor) admitLocked(put *gateway.Put) (index int, err *gateway.Error) {
	switch {
	case s.phase == phaseStoodDown:
		return 0, gateway.Errorf(gateway.KindConflict, "another owner of %s has taken over: %s", s.name, s.rival)
	case s.phase != phaseServing:
		return 0, gateway.Errorf(gateway.KindShuttingDown, "the driver of %s is stopping", s.name)
	case put.To.Device != s.name || put.To.Instance != s.owner.Instance:
		return 0, gateway.Errorf(gateway.KindConflict, "the put is for %s, the owner is %s", put.To, s.owner)
	}
	index, ok := s.find(put.Path)
	if !ok {
		return 0, gateway.Errorf(gateway.KindNotFound, "no attribute or command %q", gateway.Quotable(string(put.Path)))
	}
	a := &s.attrs[index]
	switch {
	case put.Refresh:
		err = a.checkRefresh(put.Value)
	case a.IsCommand():
		err = checkArgument(a.Argument, put.Value)
	case !a.CanWrite():
		err = gateway.Errorf(gateway.KindReadOnly, "%s is read-only", put.Path)
	default:
		err = gateway.AsError(a.Check(put.Value))
	}
	switch {
	case err != nil:
		return index, err
	case !s.connected:
		return index, gateway.Errorf(gateway.KindNotConnected, "device %s is not connected: %s", s.name, s.words)
	case put.Budget < 0 || !time.Now().Before(s.deadlineLocked(put)):
		return index, gateway.Errorf(gateway.KindExpired, "the budget ran out on the way to the driver; nothing was sent")
	}
	return index, nil
}

func checkArgument(argument *gateway.Type, value gateway.Value) *gateway.Error {
	switch {
	case argument != nil:
		return gateway.AsError(argument.Check(value))
	case value.Known():
		return gateway.Errorf(gateway.KindWrongType, "the command takes no argument")
	}
	return nil
}

// roomLocked refuses what would make the queue too long.
func (s *Supervisor) roomLocked(p *queued, superseded int) *gateway.Error {
	waiting := s.queue.len() - superseded
	if waiting >= s.opts.MaxQueued || waiting > 0 && s.queue.bytes+p.Value.Size() > maxQueuedBytes {
		return gateway.Errorf(gateway.KindBusy, "%d puts wait for device %s already", waiting, s.name)
	}
	return nil
}

// deadlineLocked is when the budget of a put ends: counted from now, or earlier
// if the put was held on its way here, as by a process or a bus that hung.
func (s *Supervisor) deadlineLocked(put *gateway.Put) time.Time {
	deadline := time.Now().Add(budgetOf(put))
	if put.NotAfter == 0 {
		return deadline
	}
	if told := s.began.Add(put.NotAfter); told.Before(deadline) {
		return told
	}
	return deadline
}

func budgetOf(put *gateway.Put) time.Duration {
	if put.Budget == 0 {
		return gateway.DefaultBudget
	}
	return min(put.Budget, gateway.MaxBudget)
}

// runPut takes a put through the device. The error is that of a lost link.
func (s *Supervisor) runPut(ctx context.Context, p *queued) error {
	if !time.Now().Before(p.deadline) {
		s.mu.Lock()
		s.running = false
		answers := s.endLocked([]*queued{p}, errExpired())
		s.mu.Unlock()
		answers.send()
		return nil
	}
	putCtx, cancel := context.WithDeadline(ctx, p.deadline)
	defer cancel()
	if p.Refresh {
		return s.runRefresh(putCtx, p)
	}
	outcome := s.drivePut(putCtx, p)
	settle(&outcome)

	s.mu.Lock()
	s.running = false
	now := s.opts.Now()
	var updates []gateway.SampleUpdate
	if a := &s.attrs[p.index]; a.end(alarmOf(outcome.Err), now) {
		updates = append(updates, gateway.SampleUpdate{Index: uint32(p.index), Role: gateway.Setpoint, Sample: a.setpoint})
	}
	s.publishLocked(s.applyLocked(outcome.Readings, true, updates))
	s.refreshedLocked(outcome.Readings, time.Now())
	answer := s.replyLocked(p, outcome.Stage, outcome.Err, outcome.Result)
	refresh := s.phase == phaseServing && outcome.Lost == nil && s.needsRefresh(p, &outcome)
	s.mu.Unlock()
	replies{answer}.send()
	if refresh {
		_, err := s.refresh(ctx, p.index)
		return err
	}
	return outcome.Lost
}

// settle makes an outcome consistent: a driver that says nothing has not succeeded.
func settle(o *Outcome) {
	if o.Stage > gateway.StageVerified || o.Stage < gateway.StageAccepted {
		o.Stage = gateway.StageAccepted
	}
	if o.Err == nil && o.Stage == gateway.StageAccepted {
		o.Err = gateway.Errorf(gateway.KindInternal, "the driver reported neither success nor failure")
	}
}

// needsRefresh reports whether only the device can tell what a put has done:
// it was sent, no answer came, and nothing was read back. It is not sent again.
func (s *Supervisor) needsRefresh(p *queued, o *Outcome) bool {
	if o.Err == nil || o.Err.Kind != gateway.KindUnknownOutcome || !s.attrs[p.index].CanRead() {
		return false
	}
	return !slices.ContainsFunc(o.Readings, func(r Reading) bool {
		return r.Index == p.index && r.Role == gateway.Readback
	})
}

// endAllLocked ends all puts that wait, none of which was sent.
func (s *Supervisor) endAllLocked(err *gateway.Error) replies {
	return s.endLocked(s.queue.clear(), err)
}

// endLocked ends puts that were accepted and never sent, and which are in no
// queue any more.
func (s *Supervisor) endLocked(puts []*queued, err *gateway.Error) replies {
	if len(puts) == 0 {
		return nil
	}
	now := s.opts.Now()
	var updates []gateway.SampleUpdate
	for _, p := range puts {
		if a := &s.attrs[p.index]; !p.Refresh && a.end(alarmOf(err), now) {
			updates = append(updates, gateway.SampleUpdate{Index: uint32(p.index), Role: gateway.Setpoint, Sample: a.setpoint})
		}
	}
	s.publishLocked(updates)
	answers := make(replies, len(puts))
	for i, p := range puts {
		answers[i] = s.replyLocked(p, gateway.StageAccepted, err, gateway.Value{})
	}
	return answers
}

// expireLocked ends the puts whose budget ran out while they waited and returns
// the next deadline of the others.
func (s *Supervisor) expireLocked(now time.Time) (replies, time.Time) {
	expired, next := s.queue.expire(now)
	return s.endLocked(expired, errExpired()), next
}

func errExpired() *gateway.Error {
	return gateway.Errorf(gateway.KindExpired, "the budget ran out while the put waited for the device; it was not sent")
}

// stopPuts takes no more puts, ends those that wait, and limits the one that is
// running. It may be called twice.
func (s *Supervisor) stopPuts() {
	s.mu.Lock()
	if s.phase == phaseServing {
		s.phase = phaseStopping
		if s.running {
			s.deadlines.drain = time.Now().Add(s.opts.Drain)
			s.armLocked(s.deadlines.drain)
		}
	}
	answers := s.endAllLocked(gateway.Errorf(gateway.KindShuttingDown, "the driver of %s is stopping", s.name))
	s.mu.Unlock()
	answers.send()
}

func (s *Supervisor) replyLocked(p *queued, stage gateway.Stage, err *gateway.Error, result gateway.Value) reply {
	verdict := s.verdictLocked(p.Put, p.index, stage, err, result)
	verdict.Verdict.Setpoint, verdict.Verdict.Readback = s.attrs[p.index].setpoint, s.attrs[p.index].readback
	return reply{answer: p.answer, verdict: verdict}
}

func (s *Supervisor) verdictLocked(put *gateway.Put, index int, stage gateway.Stage, err *gateway.Error, result gateway.Value) *gateway.PutVerdict {
	if !put.Refresh {
		s.counts.puts[stage]++
	}
	if err != nil {
		staged := *err
		staged.Stage, staged.Msg, staged.DeviceWords = stage, validText(staged.Msg), validText(staged.DeviceWords)
		err = &staged
	}
	return &gateway.PutVerdict{
		Owner: s.owner, ID: put.ID, Revision: s.revision, Index: uint32(index),
		Verdict: gateway.Verdict{Stage: stage, Err: err, Result: result},
	}
}

// alarmOf returns the alarm that a put's failure raises on its setpoint: none
// for success.
func alarmOf(err *gateway.Error) gateway.Alarm {
	if err == nil {
		return gateway.Alarm{}
	}
	alarm := gateway.Alarm{Severity: gateway.Invalid, Text: validText(err.Error())}
	switch err.Kind {
	case gateway.KindUnknownOutcome:
		alarm.Status = gateway.StatusTimeout
	case gateway.KindNotConnected, gateway.KindBusDown, gateway.KindShuttingDown, gateway.KindExpired, gateway.KindConflict:
		alarm.Status = gateway.StatusComm
	default:
		alarm.Status = gateway.StatusWrite
	}
	return alarm
}
