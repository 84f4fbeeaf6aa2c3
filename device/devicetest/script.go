package devicetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
)

// A Script is a driver whose calls are functions. A nil function is the plain
// good case: Connect succeeds, Poll and Refresh read nothing, Put is
// acknowledged. The functions run on the supervisor's worker, without a lock.
type Script struct {
	Has       device.Model
	OnConnect func(ctx context.Context, out device.Sink) error
	OnPoll    func(ctx context.Context, poll int, into []device.Reading) ([]device.Reading, error)
	OnPut     func(ctx context.Context, index int, value gateway.Value) device.Outcome
	OnRefresh func(ctx context.Context, index int, into []device.Reading) ([]device.Reading, error)
	OnClose   func() error

	mu    sync.Mutex
	out   device.Sink
	calls []string
	inUse bool
	fault error
}

var _ device.Driver = (*Script)(nil)

// Model implements device.Driver.
func (s *Script) Model() device.Model { return s.Has }

// Connect implements device.Driver.
func (s *Script) Connect(ctx context.Context, out device.Sink) error {
	defer s.enter("connect")()
	s.mu.Lock()
	s.out = out
	s.mu.Unlock()
	if s.OnConnect == nil {
		return nil
	}
	return s.OnConnect(ctx, out)
}

// Poll implements device.Driver.
func (s *Script) Poll(ctx context.Context, poll int, into []device.Reading) ([]device.Reading, error) {
	defer s.enter(fmt.Sprintf("poll %d", poll))()
	if s.OnPoll == nil {
		return into, nil
	}
	return s.OnPoll(ctx, poll, into)
}

// Put implements device.Driver.
func (s *Script) Put(ctx context.Context, index int, value gateway.Value) device.Outcome {
	defer s.enter(fmt.Sprintf("put %d", index))()
	if s.OnPut == nil {
		return device.Outcome{Stage: gateway.StageAcknowledged}
	}
	return s.OnPut(ctx, index, value)
}

// Refresh implements device.Driver.
func (s *Script) Refresh(ctx context.Context, index int, into []device.Reading) ([]device.Reading, error) {
	defer s.enter(fmt.Sprintf("refresh %d", index))()
	if s.OnRefresh == nil {
		return into, nil
	}
	return s.OnRefresh(ctx, index, into)
}

// Close implements device.Driver.
func (s *Script) Close() error {
	defer s.enter("close")()
	if s.OnClose == nil {
		return nil
	}
	return s.OnClose()
}

// Out returns the sink of the last Connect.
func (s *Script) Out() device.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// Calls returns the calls so far: "connect", "poll 0", "put 2", ...
func (s *Script) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Fault returns an error if two calls were made at a time.
func (s *Script) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

func (s *Script) enter(call string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse {
		s.fault = errors.New("the driver was called for " + call + " during another call")
	}
	s.inUse = true
	s.calls = append(s.calls, call)
	return func() {
		s.mu.Lock()
		s.inUse = false
		s.mu.Unlock()
	}
}
