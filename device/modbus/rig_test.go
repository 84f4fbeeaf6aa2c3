package modbus_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/linktest"
	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/device/modbus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every wait of a test.
const limit = 20 * time.Second

// decode reads a device's configuration.
func decode(tb testing.TB, text string) modbus.Config {
	tb.Helper()
	var c modbus.Config
	if err := yaml.Load([]byte(text), &c, yaml.WithKnownFields()); err != nil {
		tb.Fatal(err)
	}
	return c
}

// A rig is a slave on a pseudo-terminal or a TCP connection, and a line to it.
type rig struct {
	t     testing.TB
	ctx   context.Context
	slave *slave
	line  *link.Line
	lines modbus.Lines
	far   io.Closer // the slave's end
}

// A cable is a listener that closes its connection with itself.
type cable struct {
	net.Listener
	mu   sync.Mutex
	conn net.Conn
}

// Accept accepts a connection.
func (h *cable) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn = c
	return c, err
}

// Close ends the listener and the connection.
func (h *cable) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		_ = h.conn.Close() // it may have ended already
	}
	return h.Listener.Close()
}

// cut takes the slave away and waits until that is seen.
func (r *rig) cut() {
	r.t.Helper()
	lost := make(chan struct{})
	var once sync.Once
	user := r.line.NewUser("test", link.UserOptions{OnState: func(s link.State) {
		if !s.Connected {
			once.Do(func() { close(lost) })
		}
	}})
	defer user.Close()
	_ = r.far.Close() // it is gone either way
	select {
	case <-lost:
	case <-r.ctx.Done():
		r.t.Fatal("the loss was not seen")
	}
}

func newRig(tb testing.TB, s *slave, faults ...linktest.Faults) *rig {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	r := &rig{t: tb, ctx: ctx, slave: s}
	var opener link.Opener
	var served sync.WaitGroup
	if s.overTCP {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It does not wait.
		if err != nil {
			tb.Fatal(err)
		}
		wire := &cable{Listener: listener}
		served.Go(func() { s.accept(wire) })
		r.far, opener = wire, link.TCP{Address: listener.Addr().String()}
	} else {
		pair, err := pty.Open()
		if err != nil {
			tb.Skipf("no pseudo-terminals here: %v", err)
		}
		served.Go(func() { s.serve(pair) })
		r.far, opener = pair, link.Serial{Path: pair.Path, Baud: 115200}
	}
	for _, f := range faults {
		opener = linktest.Opener{Opener: opener, Faults: f}
	}
	r.line = link.NewLine("line1", opener)
	served.Go(func() { _ = r.line.Serve(ctx) })
	tb.Cleanup(func() {
		cancel()
		_ = r.far.Close() // ends the slave
		served.Wait()
	})
	return r
}

// A unit is a driver that is connected.
type unit struct {
	*rig
	driver *modbus.Driver
	sink   *sink
	model  device.Model
	index  map[string]int
}

// unit makes a driver on the rig's line.
func (r *rig) unit(name, config string) *unit {
	r.t.Helper()
	framing := "rtu"
	if r.slave.overTCP {
		framing = "tcp"
	}
	d, err := r.lines.New(name, decode(r.t, "framing: "+framing+config), r.line, 0, zerolog.Nop())
	if err != nil {
		r.t.Fatal(err)
	}
	u := &unit{rig: r, driver: d, sink: &sink{}, model: d.Model(), index: map[string]int{}}
	for i := range u.model.Attributes {
		u.index[u.model.Attributes[i].Path.Attribute()] = i
	}
	r.t.Cleanup(func() { _ = d.Close() })
	return u
}

func (u *unit) connect() *unit {
	u.t.Helper()
	if err := u.driver.Connect(u.ctx, u.sink); err != nil {
		u.t.Fatal(err)
	}
	u.slave.asked()
	return u
}

// poll runs the poll that refreshes an attribute, and shows what it says.
func (u *unit) poll(name string) string {
	u.t.Helper()
	for i, p := range u.model.Polls {
		for _, index := range p.Indices {
			if index == u.index[name] {
				readings, err := u.driver.Poll(u.ctx, i, nil)
				if err != nil {
					return "error: " + err.Error()
				}
				return u.show(readings)
			}
		}
	}
	u.t.Fatalf("nothing polls %s", name)
	return ""
}

// put sets an attribute from text, and shows the outcome.
func (u *unit) put(name, text string) string {
	u.t.Helper()
	index, ok := u.index[name]
	if !ok {
		u.t.Fatalf("there is no %s", name)
	}
	v, err := u.model.Attributes[index].Parse(text)
	if err != nil {
		u.t.Fatal(err)
	}
	return u.showOutcome(u.driver.Put(u.ctx, index, v))
}

// show writes readings in one line: name=value, and the alarm where there is one.
func (u *unit) show(readings []device.Reading) string {
	var parts []string
	for _, x := range readings {
		d := &u.model.Attributes[x.Index]
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

func (u *unit) showOutcome(o device.Outcome) string {
	text := o.Stage.String()
	if o.Err != nil {
		text += " " + o.Err.Kind.String()
		if o.Err.DeviceWords != "" {
			text += fmt.Sprintf(" %q", o.Err.DeviceWords)
		}
	}
	if len(o.Readings) > 0 {
		text += ": " + u.show(o.Readings)
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

// A sink keeps what a driver delivers.
type sink struct {
	mu       sync.Mutex
	readings []device.Reading
}

func (s *sink) Deliver(readings []device.Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readings = append(s.readings, readings...)
}

func (s *sink) Down(error) {}
func (s *sink) Lost(error) {}
