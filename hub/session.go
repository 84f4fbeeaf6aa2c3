package hub

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/polygate/gateway"
)

// A session is the view of one caller.
type session struct {
	hub    *Hub
	caller gateway.Caller
	puts   atomic.Int64 // under way
}

var _ gateway.Session = (*session)(nil)

// For implements gateway.View. A session costs next to nothing and need not be closed.
func (h *Hub) For(caller gateway.Caller) gateway.Session {
	return &session{hub: h, caller: caller}
}

// Get implements gateway.Session.
func (s *session) Get(path gateway.Path) (*gateway.Attribute, error) {
	if e := s.hub.table.get(path); e != nil {
		return e.attr.Load(), nil
	}
	return nil, notFound(path)
}

func notFound(path gateway.Path) *gateway.Error {
	return gateway.Errorf(gateway.KindNotFound, "no attribute or command %q", gateway.Quotable(string(path)))
}

// List implements gateway.Session.
func (s *session) List(match gateway.Pattern, after gateway.Path, limit int) (page []*gateway.Attribute, more bool) {
	s.hub.table.matching(match, after, func(e *entry) bool {
		if limit > 0 && len(page) == limit {
			more = true
			return false
		}
		page = append(page, e.attr.Load())
		return true
	})
	return page, more
}

// Devices implements gateway.Session.
func (s *session) Devices() []*gateway.Device { return s.hub.table.deviceList() }

// Open implements gateway.Session.
func (s *session) Open(opts gateway.StreamOptions) gateway.Stream {
	stream := newStream(s.hub, s.caller, opts)
	s.hub.clients.add(stream)
	return stream
}

// Put implements gateway.Session.
func (s *session) Put(r gateway.PutRequest) (gateway.Pending, error) {
	return s.start(gateway.Put{PutRequest: r}, checkPut)
}

// Execute implements gateway.Session.
func (s *session) Execute(r gateway.PutRequest) (gateway.Pending, error) {
	return s.start(gateway.Put{PutRequest: r}, checkExecute)
}

// Refresh implements gateway.Session.
func (s *session) Refresh(r gateway.PutRequest) (gateway.Pending, error) {
	return s.start(gateway.Put{PutRequest: r, Refresh: true}, checkRefresh)
}

func (s *session) start(r gateway.Put, check func(*gateway.Descriptor, gateway.Value) error) (gateway.Pending, error) {
	p, err := s.send(&r, check)
	if err != nil {
		return nil, refusal(r.Path, err)
	}
	return p, nil
}

// send validates, registers and sends, in this order.
func (s *session) send(r *gateway.Put, check func(*gateway.Descriptor, gateway.Value) error) (*pending, error) {
	e := s.hub.table.get(r.Path)
	if e == nil {
		return nil, notFound(r.Path)
	}
	if err := check(e.attr.Load().Descriptor, r.Value); err != nil {
		return nil, err
	}
	budget, err := checkBudget(r.Budget)
	if err != nil {
		return nil, err
	}
	device := e.device.snapshot.Load()
	if err := checkOwner(device); err != nil {
		return nil, err
	}
	if s.puts.Add(1) > int64(s.hub.opts.MaxSessionPuts) {
		s.puts.Add(-1)
		return nil, gateway.Errorf(gateway.KindBusy, "this connection has %d puts under way already", s.hub.opts.MaxSessionPuts)
	}
	p := &pending{owner: device.Owner, path: r.Path, session: s, accepted: make(chan struct{}), done: make(chan struct{})}
	atDriver, atHub := split(budget)
	n, err := s.hub.puts.add(p, atHub)
	if err != nil {
		s.puts.Add(-1)
		return nil, err
	}
	if e.device.snapshot.Load().Owner != device.Owner {
		// The owner changed before the put was registered, so nobody else ends it.
		err = gateway.Errorf(gateway.KindNotConnected, "another driver is taking the device over")
	} else {
		r.ID, r.To, r.Caller = gateway.PutID{Hub: s.hub.epoch, N: n}, device.Owner, s.caller
		r.Budget = atDriver
		r.NotAfter = e.device.clock.at(device.Owner, time.Since(s.hub.began)+atDriver)
		err = s.hub.bus.SendPut(r)
	}
	if err != nil && s.hub.puts.complete(n, gateway.Verdict{}) {
		return nil, err
	}
	return p, nil
}

func checkPut(d *gateway.Descriptor, v gateway.Value) error {
	switch {
	case d.IsCommand():
		return gateway.Errorf(gateway.KindReadOnly, "it is a command: execute it")
	case !d.CanWrite():
		return gateway.Errorf(gateway.KindReadOnly, "it is read-only")
	}
	return d.Check(v)
}

func checkExecute(d *gateway.Descriptor, v gateway.Value) error {
	switch {
	case !d.IsCommand():
		return gateway.Errorf(gateway.KindNotFound, "it is no command")
	case d.Argument != nil:
		return d.Argument.Check(v)
	case v.Known():
		return gateway.Errorf(gateway.KindWrongType, "the command takes no argument")
	}
	return nil
}

func checkRefresh(d *gateway.Descriptor, v gateway.Value) error {
	switch {
	case !d.CanRead():
		return gateway.Errorf(gateway.KindWriteOnly, "it cannot be read")
	case v.Known():
		return gateway.Errorf(gateway.KindWrongType, "a refresh takes no value")
	}
	return nil
}

func checkBudget(budget time.Duration) (time.Duration, error) {
	switch {
	case budget == 0:
		return gateway.DefaultBudget, nil
	case budget < 0 || budget > gateway.MaxBudget:
		return 0, gateway.Errorf(gateway.KindMalformed, "a budget of %v is not within 0 and %v", budget, gateway.MaxBudget)
	}
	return budget, nil
}

// checkOwner refuses what nobody would get. A device that its driver has lost
// is the driver's to refuse.
func checkOwner(d *gateway.Device) error {
	switch d.Availability {
	case gateway.BusLost:
		return gateway.Errorf(gateway.KindBusDown, "%s", d.Availability.Alarm(d.Words).Text)
	case gateway.DriverLost:
		return gateway.Errorf(gateway.KindNotConnected, "%s", d.Availability.Alarm(d.Words).Text)
	}
	return nil
}

// split nests the budgets: the driver's answer arrives before the hub gives up,
// and the hub's before the caller does.
func split(budget time.Duration) (atDriver, atHub time.Duration) {
	margin := min(budget/10, 500*time.Millisecond)
	return budget - 2*margin, budget - margin
}

// refusal names what was refused.
func refusal(path gateway.Path, err error) error {
	e := gateway.AsError(err)
	msg := e.Msg
	if e.Kind != gateway.KindNotFound {
		msg = string(path) + ": " + msg
	}
	return &gateway.Error{Kind: e.Kind, Stage: gateway.StageRefused, Msg: msg, DeviceWords: e.DeviceWords, Err: errors.Unwrap(e)}
}
