package serial_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/device/serial"
)

// limit bounds every wait of a test.
const limit = 20 * time.Second

// A rig is a driver and a scripted instrument on the two sides of a real
// pseudo-terminal.
type rig struct {
	t          testing.TB
	ctx        context.Context
	pair       *pty.Pair
	instrument *devicetest.Instrument
	driver     *serial.Driver
	sink       *sink
	index      map[string]int
	model      device.Model
}

// decode reads a device's configuration.
func decode(tb testing.TB, text string) serial.Config {
	tb.Helper()
	var c serial.Config
	if err := yaml.Load([]byte(text), &c, yaml.WithKnownFields()); err != nil {
		tb.Fatal(err)
	}
	return c
}

// plug makes a rig that is not connected yet, so that the instrument can be prepared.
func plug(tb testing.TB, config string) *rig {
	tb.Helper()
	return plugFor(tb, limit, config)
}

// plugFor is plug for a test that may take so long.
func plugFor(tb testing.TB, limit time.Duration, config string) *rig {
	tb.Helper()
	r := wire(tb, limit, config)
	r.instrument = devicetest.StartInstrument(tb, r.pair, devicetest.Line{RequestEnd: "\r\n", ReplyEnd: "\r\n"})
	return r
}

// wire makes a rig without an instrument: the test itself is the other side.
func wire(tb testing.TB, limit time.Duration, config string) *rig {
	tb.Helper()
	pair, err := pty.Open()
	if err != nil {
		tb.Skipf("no pseudo-terminals here: %v", err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	r := &rig{t: tb, ctx: ctx, pair: pair, sink: newSink(), index: map[string]int{}}
	line := link.NewLine("line1", link.Serial{Path: pair.Path, Baud: 115200})
	var served sync.WaitGroup
	served.Go(func() { _ = line.Serve(ctx) })
	tb.Cleanup(func() {
		if r.driver != nil {
			_ = r.driver.Close()
		}
		cancel()
		served.Wait()
		_ = pair.Close()
	})
	r.driver, err = serial.New("dev", decode(tb, config), line, zerolog.Nop())
	if err != nil {
		tb.Fatal(err)
	}
	r.model = r.driver.Model()
	for i := range r.model.Attributes {
		r.index[r.model.Attributes[i].Path.Attribute()] = i
	}
	return r
}

// connect connects the driver.
func (r *rig) connect() *rig {
	r.t.Helper()
	if err := r.driver.Connect(r.ctx, r.sink); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// poll runs the poll that refreshes an attribute, and shows what it says.
func (r *rig) poll(name string) string {
	r.t.Helper()
	for i, p := range r.model.Polls {
		for _, index := range p.Indices {
			if index != r.index[name] {
				continue
			}
			readings, err := r.driver.Poll(r.ctx, i, nil)
			if err != nil {
				return "error: " + err.Error()
			}
			return r.show(readings)
		}
	}
	r.t.Fatalf("nothing polls %s", name)
	return ""
}

// put sets an attribute from text, and shows the outcome.
func (r *rig) put(name, text string) string {
	r.t.Helper()
	return r.showOutcome(r.putContext(r.ctx, name, text))
}

func (r *rig) putContext(ctx context.Context, name, text string) device.Outcome {
	r.t.Helper()
	index, ok := r.index[name]
	if !ok {
		r.t.Fatalf("there is no %s", name)
	}
	d := &r.model.Attributes[index]
	typ := &d.Type
	if d.IsCommand() {
		if d.Argument == nil {
			return r.driver.Put(ctx, index, gateway.Value{})
		}
		typ = d.Argument
	}
	v, err := typ.Parse(text)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.driver.Put(ctx, index, v)
}

// show writes readings in one line: name=value, and the alarm where there is one.
func (r *rig) show(readings []device.Reading) string {
	var parts []string
	for _, x := range readings {
		d := &r.model.Attributes[x.Index]
		text := d.Path.Attribute()
		if x.Role == gateway.Setpoint {
			text += "(setpoint)"
		}
		text += "=" + d.Text(x.Value)
		if x.Alarm.Severity != gateway.NoAlarm {
			text += fmt.Sprintf(" %s/%s", x.Alarm.Severity, x.Alarm.Status)
		}
		if x.Time.IsZero() {
			text += " without time"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (r *rig) showOutcome(o device.Outcome) string {
	text := o.Stage.String()
	if o.Err != nil {
		text += " " + o.Err.Kind.String()
		if o.Err.DeviceWords != "" {
			text += fmt.Sprintf(" %q", o.Err.DeviceWords)
		}
	}
	if len(o.Readings) > 0 {
		text += ": " + r.show(o.Readings)
	}
	if o.Lost != nil {
		text += " (lost)"
	}
	return text
}

func expect(tb testing.TB, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("got  %s\nwant %s", got, want)
	}
}

// asked waits until the instrument was asked exactly this, joined with blanks.
func (r *rig) asked(want string) {
	r.t.Helper()
	var got string
	if err := r.instrument.Wait(r.ctx, func(requests []string) bool {
		got = strings.Join(requests, " ")
		return len(got) >= len(want)
	}); err != nil {
		r.t.Error(err)
	}
	expect(r.t, got, want)
}

// A sink keeps what a driver delivers.
type sink struct {
	mu       sync.Mutex
	readings []device.Reading
	down     []string // why the link was not open
	lost     error
	changed  chan struct{}
}

func newSink() *sink { return &sink{changed: make(chan struct{}, 1)} }

func (s *sink) Deliver(readings []device.Reading) {
	s.mu.Lock()
	s.readings = append(s.readings, readings...)
	s.mu.Unlock()
	s.poke()
}

func (s *sink) Down(err error) {
	s.mu.Lock()
	s.down = append(s.down, err.Error())
	s.mu.Unlock()
	s.poke()
}

func (s *sink) Lost(err error) {
	s.mu.Lock()
	s.lost = err
	s.mu.Unlock()
	s.poke()
}

func (s *sink) poke() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// delivered waits until something shows as want, among all that was delivered.
func (r *rig) delivered(want string) {
	r.t.Helper()
	for {
		r.sink.mu.Lock()
		got := r.show(r.sink.readings)
		r.sink.mu.Unlock()
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-r.sink.changed:
		case <-r.ctx.Done():
			r.t.Fatalf("delivered %q, want %q in it", got, want)
		}
	}
}
