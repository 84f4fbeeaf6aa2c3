package device_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

// The attributes of most tests here.
const (
	temperature = iota // r
	ramp               // rw
	heater             // rw enum
	level              // w
	cancelAll          // command
)

func model() device.Model {
	number := gateway.Type{Kind: gateway.Float64}
	return device.Model{
		Attributes: []gateway.Descriptor{
			temperature: {Path: "oven.temperature", Traits: &gateway.Traits{Access: gateway.AccessRead, Type: number}},
			ramp: {Path: "oven.ramp", Traits: &gateway.Traits{Access: gateway.AccessReadWrite, Type: gateway.Type{
				Kind: gateway.Float64, Control: gateway.Range{Low: gateway.At(0), High: gateway.At(100)},
			}}},
			heater: {Path: "oven.heater", Traits: &gateway.Traits{Access: gateway.AccessReadWrite, Type: gateway.Type{
				Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "On", Severity: gateway.Minor}},
			}}},
			level: {Path: "oven.level", Traits: &gateway.Traits{Access: gateway.AccessWrite, Type: number}},
			cancelAll: {Path: "oven.cancel_all", Traits: &gateway.Traits{
				Access: gateway.AccessExecute, Type: gateway.Type{Kind: gateway.Bool}, Argument: &gateway.Type{Kind: gateway.Int32},
			}},
		},
		Polls:        []device.Poll{{Period: time.Second, Indices: []int{temperature, ramp}}},
		ReplyTimeout: 500 * time.Millisecond,
	}
}

// A rig is a supervisor at work with a scripted driver, on a fake clock.
type rig struct {
	t      *testing.T
	script *devicetest.Script
	bus    *devicetest.Bus
	sup    *device.Supervisor
	log    *lockedBuffer
	stop   context.CancelFunc
	served chan error
}

// start serves a device inside a bubble of synctest; the rest of the test runs
// when everything has come to rest for the first time.
func start(t *testing.T, script *devicetest.Script, opts device.Options, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, script, opts)
		r.serve()
		synctest.Wait()
		test(r)
		r.end()
	})
}

func newRig(t *testing.T, script *devicetest.Script, opts device.Options) *rig {
	t.Helper()
	r := &rig{t: t, script: script, bus: devicetest.NewBus(), log: &lockedBuffer{}}
	opts.Log = zerolog.New(r.log)
	sup, err := device.New("oven", script, r.bus, opts)
	if err != nil {
		t.Fatal(err)
	}
	r.sup = sup
	return r
}

func (r *rig) serve() {
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop, r.served = stop, make(chan error, 1)
	go func() { r.served <- r.sup.Serve(ctx) }()
}

// end stops the supervisor and waits for it. It may be called twice.
func (r *rig) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.served; err != nil {
		r.t.Errorf("Serve: %v", err)
	}
	r.served <- nil
	if err := r.script.Fault(); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) table() map[gateway.Path]gateway.Announced {
	table, _ := devicetest.Table(r.bus.Messages())
	return table
}

func (r *rig) state() gateway.DeviceState {
	_, state := devicetest.Table(r.bus.Messages())
	return state
}

// put sends a put and waits until everything has come to rest.
func (r *rig) put(path gateway.Path, value gateway.Value) <-chan *gateway.PutVerdict {
	return r.request(gateway.PutRequest{Path: path, Value: value})
}

func (r *rig) request(request gateway.PutRequest) <-chan *gateway.PutVerdict {
	answers := r.bus.Put(request)
	synctest.Wait()
	return answers
}

// verdict wants exactly one answer, now.
func (r *rig) verdict(answers <-chan *gateway.PutVerdict) gateway.Verdict {
	r.t.Helper()
	synctest.Wait()
	if len(answers) != 1 {
		r.t.Fatalf("%d answers; heard:\n%s", len(answers), devicetest.Transcript(r.bus.Messages()))
	}
	return (<-answers).Verdict
}

// check compares a verdict's stage and kind of error.
func (r *rig) check(v gateway.Verdict, stage gateway.Stage, kind gateway.ErrorKind) {
	r.t.Helper()
	got := gateway.KindOK
	if v.Err != nil {
		got = v.Err.Kind
		if v.Err.Stage != stage {
			r.t.Errorf("the error's stage is %s, want %s", v.Err.Stage, stage)
		}
	}
	if v.Stage != stage || got != kind {
		r.t.Errorf("verdict %s, %s (%v); want %s, %s", v.Stage, got, v.Err, stage, kind)
	}
}

// after lets time pass and everything come to rest.
func after(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // On the bubble's clock this takes no time.
	synctest.Wait()
}

// good is a reading of now.
func good(index int, v gateway.Value) device.Reading {
	return device.Reading{Index: index, Role: gateway.Readback, Value: v, Time: time.Now()}
}

// fault is a reading without a value.
func fault(index int, status gateway.Status) device.Reading {
	return device.Reading{
		Index: index, Role: gateway.Readback, Time: time.Now(),
		Alarm: gateway.Alarm{Severity: gateway.Invalid, Status: status},
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) lines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.b.Bytes(), []byte("\n"))
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A setting is what a test changes while the driver looks at it.
type setting[T any] struct {
	mu sync.Mutex
	v  T
}

func (s *setting[T]) set(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.v = v
}

func (s *setting[T]) get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.v
}

// take returns the value and leaves the zero one.
func (s *setting[T]) take() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.v
	s.v = *new(T)
	return v
}
