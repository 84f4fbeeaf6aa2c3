package devicetest

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
)

// A Rig is a driver with the instrument that it speaks to, ready to connect.
// What a driver or its instrument cannot do is left nil, and its cases are skipped.
type Rig struct {
	// Name is that of the device in the driver's model.
	Name   string
	Driver device.Driver
	// Reads is what the instrument holds: a value for attributes that are
	// read by themselves, the one of Put among them if that can be read.
	Reads map[gateway.Path]gateway.Value
	// Put changes an attribute to a value that it does not have yet.
	Put gateway.PutRequest
	// Refused is a put that only the instrument refuses.
	Refused *gateway.PutRequest
	// Writes returns how many writes the instrument has got so far.
	Writes func() int
	// SetSilent makes the instrument leave everything unanswered, or answer again.
	SetSilent func(bool)
	// Cut takes the link away, Mend gives it back.
	Cut, Mend func()
	// Speak lets the instrument say something by itself, and returns what.
	Speak func() (gateway.Path, gateway.Value)
}

// A Factory makes a rig for one case. It leaves cleaning up to t.Cleanup; the
// driver has been closed by then.
type Factory func(t *testing.T) *Rig

// limit bounds every wait of the suite; nothing depends on how long one takes.
const limit = 20 * time.Second

// Run is the suite that every driver passes. Each case has a rig of its own and
// ends with a check that no goroutine is left, so the test must not be parallel
// with others of its package.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for name, test := range map[string]func(*bench){
		"ReadsWhatTheInstrumentHolds": testReads,
		"PutIsReadBack":               testPut,
		"NeverAnOldValue":             testNeverOld,
		"RefreshReadsNow":             testRefresh,
		"RefusedPut":                  testRefused,
		"SilentInstrument":            testSilent,
		"LostLinkAndReturn":           testLostLink,
		"ExpiredPutIsNeverSent":       testExpired,
		"UnsolicitedValue":            testUnsolicited,
		"StopDuringAnExchange":        testStop,
		"ServedAgain":                 testServedAgain,
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			test(newBench(t, factory(t)))
		})
	}
}

// A bench is a rig at work.
type bench struct {
	*Rig
	t      *testing.T
	ctx    context.Context // ends when a wait has taken too long
	bus    *Bus
	sup    *device.Supervisor
	hold   *holder
	stop   context.CancelFunc
	served chan error
}

func newBench(t *testing.T, rig *Rig) *bench {
	t.Helper()
	b := &bench{Rig: rig, t: t, bus: NewBus(), hold: newHolder(rig.Driver)}
	sup, err := device.New(rig.Name, b.hold, b.bus, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.sup = sup
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	b.ctx = ctx
	b.serve()
	t.Cleanup(b.end)
	return b
}

func (b *bench) serve() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop, b.served = stop, make(chan error, 1)
	go func() { b.served <- b.sup.Serve(ctx) }()
}

// end stops the supervisor and waits for it. It may be called twice.
func (b *bench) end() {
	b.t.Helper()
	b.stop()
	select {
	case err := <-b.served:
		if err != nil {
			b.t.Errorf("Serve: %v", err)
		}
		b.served <- nil
	case <-time.After(limit):
		b.t.Error("Serve did not return: a call of the driver does not end with its context")
	}
}

// wait waits until the table and the state of the device are as wanted.
func (b *bench) wait(what string, done func(map[gateway.Path]gateway.Announced, gateway.DeviceState) bool) {
	b.t.Helper()
	err := b.bus.Wait(b.ctx, func(messages []gateway.Message) bool { return done(Table(messages)) })
	if err != nil {
		b.t.Fatalf("waiting until %s: %v", what, err)
	}
}

func (b *bench) connected() {
	b.t.Helper()
	b.wait("the device is connected and read", func(table map[gateway.Path]gateway.Announced, state gateway.DeviceState) bool {
		for path, want := range b.Reads {
			s := table[path].Readback
			if s == nil || s.Alarm.Severity == gateway.Invalid || !s.Value.Equal(want) {
				return false
			}
		}
		return state.Connected
	})
}

func (b *bench) put(request gateway.PutRequest) gateway.Verdict {
	b.t.Helper()
	return b.verdict(b.bus.Put(request))
}

func (b *bench) verdict(answers <-chan *gateway.PutVerdict) gateway.Verdict {
	b.t.Helper()
	select {
	case v := <-answers:
		return v.Verdict
	case <-b.ctx.Done():
		b.t.Fatalf("no verdict; heard:\n%s", Transcript(b.bus.Messages()))
		return gateway.Verdict{}
	}
}

// wrote wants the instrument to have got as many writes as were sent.
func (b *bench) wrote(want int) {
	b.t.Helper()
	if b.Writes == nil {
		return
	}
	if got := b.Writes(); got != want {
		b.t.Errorf("the instrument got %d writes, want %d", got, want)
	}
}

func (b *bench) canRead(path gateway.Path) bool {
	_, ok := b.Reads[path]
	return ok
}

func (b *bench) need(present bool, what string) {
	b.t.Helper()
	if !present {
		b.t.Skipf("this driver or its instrument has no %s", what)
	}
}

func testReads(b *bench) { b.connected() }

func testPut(b *bench) {
	b.connected()
	v := b.put(b.Put)
	if v.Err != nil {
		b.t.Fatalf("the put failed: %v", v.Err)
	}
	if v.Setpoint == nil || !v.Setpoint.Value.Equal(b.Put.Value) || v.Setpoint.Alarm != (gateway.Alarm{}) {
		b.t.Errorf("the setpoint is %+v", v.Setpoint)
	}
	if b.canRead(b.Put.Path) {
		if v.Stage != gateway.StageVerified || !v.Readback.Value.Equal(b.Put.Value) {
			b.t.Errorf("stage %s, readback %+v", v.Stage, v.Readback)
		}
	}
	b.wrote(1)
}

func testNeverOld(b *bench) {
	old, ok := b.Reads[b.Put.Path]
	b.need(ok, "attribute that can be put and read")
	b.connected()
	const rounds = 50
	for i := range rounds {
		request := b.Put
		if i%2 == 1 {
			request.Value = old
		}
		v := b.put(request)
		if v.Err != nil || !v.Readback.Value.Equal(request.Value) {
			b.t.Fatalf("put %d: %v, readback %+v", i, v.Err, v.Readback)
		}
	}
	b.wrote(rounds)
}

func testRefresh(b *bench) {
	b.connected()
	for path, want := range b.Reads {
		table, _ := Table(b.bus.Messages())
		before := table[path].Readback
		v := b.verdict(b.bus.Refresh(gateway.PutRequest{Path: path}))
		if v.Err != nil || v.Stage != gateway.StageVerified {
			b.t.Fatalf("refreshing %s ended as %s, %v", path, v.Stage, v.Err)
		}
		if !v.Readback.Value.Equal(want) || !v.Readback.Time.After(before.Time) {
			b.t.Errorf("%s is %+v after the refresh, and was %+v", path, v.Readback, before)
		}
	}
	if !b.canRead(b.Put.Path) {
		v := b.verdict(b.bus.Refresh(gateway.PutRequest{Path: b.Put.Path}))
		if gateway.KindOf(asError(v.Err)) != gateway.KindWriteOnly {
			b.t.Errorf("refreshing what cannot be read ended as %s, %v", v.Stage, v.Err)
		}
	}
	b.wrote(0)
	if b.SetSilent == nil || len(b.Reads) == 0 {
		return
	}
	b.SetSilent(true)
	for path := range b.Reads {
		v := b.verdict(b.bus.Refresh(gateway.PutRequest{Path: path}))
		// Away, if the polls have noticed first.
		if kind := gateway.KindOf(asError(v.Err)); kind != gateway.KindUnknownOutcome && kind != gateway.KindNotConnected {
			b.t.Errorf("refreshing %s of a silent instrument ended as %s, %v", path, v.Stage, v.Err)
		}
	}
}

func testRefused(b *bench) {
	b.need(b.Refused != nil, "put that the instrument refuses")
	b.connected()
	v := b.put(*b.Refused)
	if gateway.KindOf(asError(v.Err)) != gateway.KindRefusedByDevice {
		b.t.Fatalf("verdict %s, %v", v.Stage, v.Err)
	}
	if v.Setpoint.Alarm.Status != gateway.StatusWrite || !v.Setpoint.Value.Equal(b.Refused.Value) {
		b.t.Errorf("the setpoint is %+v", v.Setpoint)
	}
	if v.Readback != nil && v.Readback.Alarm.Status == gateway.StatusWrite {
		b.t.Errorf("the readback carries the put's alarm: %+v", v.Readback)
	}
}

func testSilent(b *bench) {
	b.need(b.SetSilent != nil, "way to be silent")
	b.need(len(b.Reads) > 0, "attribute that is read")
	b.connected()
	b.SetSilent(true)
	b.wait("a silent instrument shows as TIMEOUT or as away", func(table map[gateway.Path]gateway.Announced, state gateway.DeviceState) bool {
		if !state.Connected {
			return true
		}
		for path, value := range b.Reads {
			s := table[path].Readback
			if s.Alarm.Severity == gateway.Invalid && s.Alarm.Status == gateway.StatusTimeout {
				if !s.Value.Equal(value) {
					b.t.Errorf("%s lost its last value: %+v", path, s)
				}
				return true
			}
		}
		return false
	})
	b.SetSilent(false)
	b.connected()
}

func testLostLink(b *bench) {
	b.need(b.Cut != nil && b.Mend != nil, "link that can be lost")
	b.connected()
	b.Cut()
	b.wait("the loss shows", func(_ map[gateway.Path]gateway.Announced, state gateway.DeviceState) bool { return !state.Connected })
	table, _ := Table(b.bus.Messages())
	for path, value := range b.Reads {
		if !table[path].Readback.Value.Equal(value) {
			b.t.Errorf("%s lost its last value: %+v", path, table[path].Readback)
		}
	}
	if v := b.put(b.Put); gateway.KindOf(asError(v.Err)) != gateway.KindNotConnected {
		b.t.Errorf("a put to a lost device ended as %s, %v", v.Stage, v.Err)
	}
	b.Mend()
	b.connected()
	if v := b.put(b.Put); v.Err != nil {
		b.t.Errorf("a put after the return: %v", v.Err)
	}
	b.wrote(1)
}

func testExpired(b *bench) {
	b.connected()
	release := b.hold.puts()
	first := b.bus.Put(b.Put)
	select {
	case <-b.hold.reached:
	case <-b.ctx.Done():
		b.t.Fatal("the put did not reach the driver")
	}
	late := b.Put
	late.Budget = time.Millisecond
	v := b.verdict(b.bus.Put(late))
	if gateway.KindOf(asError(v.Err)) != gateway.KindExpired || v.Stage != gateway.StageAccepted {
		b.t.Errorf("the put that waited ended as %s, %v", v.Stage, v.Err)
	}
	release()
	if v := b.verdict(first); v.Err != nil {
		b.t.Errorf("the put before it: %v", v.Err)
	}
	b.wrote(1)
}

func testUnsolicited(b *bench) {
	b.need(b.Speak != nil, "value that it sends by itself")
	b.connected()
	path, value := b.Speak()
	b.wait("the value is there", func(table map[gateway.Path]gateway.Announced, _ gateway.DeviceState) bool {
		s := table[path].Readback
		return s != nil && s.Value.Equal(value)
	})
}

func testStop(b *bench) {
	b.connected()
	if b.SetSilent != nil {
		// The next poll waits for its reply.
		b.SetSilent(true)
		if len(b.hold.Driver.Model().Polls) > 0 {
			b.hold.nextPoll(b.ctx)
		}
	}
	b.end()
	messages := b.bus.Messages()
	if last, ok := messages[len(messages)-1].(*gateway.DeviceState); !ok || !last.Leaving {
		b.t.Errorf("it did not say that it leaves:\n%s", Transcript(messages))
	}
}

func testServedAgain(b *bench) {
	b.connected()
	b.end()
	b.serve()
	b.wait("it is owned again", func(_ map[gateway.Path]gateway.Announced, state gateway.DeviceState) bool {
		return !state.Leaving
	})
	b.connected()
}

// asError keeps a nil *gateway.Error a nil error.
func asError(err *gateway.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// A holder stands before a driver and can hold puts back.
type holder struct {
	device.Driver
	reached chan struct{} // gets a token when a put is held
	gates   chan chan struct{}
	polling chan struct{} // gets a token when a poll begins, if there is room
}

func newHolder(d device.Driver) *holder {
	return &holder{Driver: d, reached: make(chan struct{}, 1), gates: make(chan chan struct{}, 1), polling: make(chan struct{}, 1)}
}

// puts makes the next put wait until release is called.
func (h *holder) puts() (release func()) {
	gate := make(chan struct{})
	h.gates <- gate
	return func() { close(gate) }
}

// nextPoll waits until a poll begins after now.
func (h *holder) nextPoll(ctx context.Context) {
	select {
	case <-h.polling: // one that has begun before
	default:
	}
	select {
	case <-h.polling:
	case <-ctx.Done():
	}
}

// Poll implements device.Driver.
func (h *holder) Poll(ctx context.Context, poll int, into []device.Reading) ([]device.Reading, error) {
	select {
	case h.polling <- struct{}{}:
	default:
	}
	return h.Driver.Poll(ctx, poll, into)
}

// Put implements device.Driver.
func (h *holder) Put(ctx context.Context, index int, value gateway.Value) device.Outcome {
	select {
	case gate := <-h.gates:
		h.reached <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
		}
	default:
	}
	return h.Driver.Put(ctx, index, value)
}
