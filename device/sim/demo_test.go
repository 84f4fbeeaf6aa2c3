package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/internal/config"
)

// demoConfig reads the demo's file as the program does.
func demoConfig(tb testing.TB) serial.Config {
	tb.Helper()
	document := config.Parse("demo.yaml", sim.DemoConfig)
	var c serial.Config
	document.Decode(&c, []string{"devices", "demo"}, "driver", "link")
	for _, p := range c.Check("demo") {
		document.ProblemAt(slices.Concat([]string{"devices", "demo"}, p.Path), p.Offset, "%s", p.Msg)
	}
	if err := document.Err(); err != nil {
		tb.Fatal(err)
	}
	return c
}

// demo connects the demo's driver to its instrument.
func demo(tb testing.TB, faults *sim.Faults) (*serial.Driver, device.Model) {
	tb.Helper()
	opener, err := sim.NewOpener(sim.TemperatureControllerName, 1, faults)
	if err != nil {
		tb.Fatal(err)
	}
	line := link.NewLine("line1", opener, link.WithRetry(time.Millisecond, 10*time.Millisecond))
	ctx, cancel := context.WithCancel(tb.Context())
	var served sync.WaitGroup
	served.Go(func() { _ = line.Serve(ctx) })
	driver, err := serial.New("demo", demoConfig(tb), line, zerolog.Nop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = driver.Close()
		cancel()
		served.Wait()
	})
	if err := driver.Connect(ctx, &deliveries{}); err != nil {
		tb.Fatal(err)
	}
	m := driver.Model()
	return driver, m
}

// refresh reads one attribute as text.
func refresh(tb testing.TB, d *serial.Driver, name string) string {
	tb.Helper()
	m := d.Model()
	for i := range m.Attributes {
		if m.Attributes[i].Path.Attribute() != name {
			continue
		}
		readings, err := d.Refresh(tb.Context(), i, nil)
		if err != nil {
			tb.Fatal(err)
		}
		for _, r := range readings {
			if r.Index == i {
				return strings.TrimSpace(m.Attributes[i].Text(r.Value) + " " + r.Alarm.Text)
			}
		}
	}
	tb.Fatalf("%s is not read", name)
	return ""
}

func put(tb testing.TB, d *serial.Driver, name, text string) device.Outcome {
	tb.Helper()
	m := d.Model()
	for i := range m.Attributes {
		if a := &m.Attributes[i]; a.Path.Attribute() == name {
			var v gateway.Value
			if !a.IsCommand() {
				var err error
				if v, err = a.Parse(text); err != nil {
					tb.Fatal(err)
				}
			}
			return d.Put(tb.Context(), i, v)
		}
	}
	tb.Fatalf("there is no %s", name)
	return device.Outcome{}
}

func TestDemoHasItsNames(t *testing.T) {
	_, m := demo(t, nil)
	var got []string
	for i := range m.Attributes {
		a := &m.Attributes[i]
		got = append(got, fmt.Sprintf("%s %s %s %v", a.Path, a.Access, a.Kind, a.Shape))
	}
	want := []string{
		"demo.power r float64 []", "demo.ramp_rate rw float64 []", "demo.voltages r float64 [4]", "demo.cancel_all x bool []",
	}
	for n := 1; n <= 4; n++ {
		for _, a := range []string{"start rw int32", "end rw int32", "enabled rw enum", "target r float64", "actual r float64", "voltage r float64"} {
			want = append(want, fmt.Sprintf("demo.r%d.%s []", n, a))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m.Info.Annotations["ca.prefix"] != "DEMO" {
		t.Errorf("got %v", m.Info)
	}
}

func TestDemoOnItsLine(t *testing.T) {
	d, m := demo(t, nil)
	for i := range m.Polls {
		readings, err := d.Poll(t.Context(), i, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range readings {
			if r.Failed() || r.Alarm.Severity != gateway.NoAlarm {
				t.Errorf("%s: %+v", m.Attributes[r.Index].Path, r)
			}
		}
	}
	for name, value := range map[string]string{"r1.start": "10", "r1.end": "12", "ramp_rate": "50", "r1.enabled": "On"} {
		if o := put(t, d, name, value); o.Err != nil || o.Stage != gateway.StageVerified {
			t.Errorf("%s: %+v", name, o)
		}
		if got := refresh(t, d, name); got != value {
			t.Errorf("%s is %s, want %s", name, got, value)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); refresh(t, d, "r1.target") != "12"; {
		if time.Now().After(deadline) {
			t.Fatal("the ramp does not arrive")
		}
	}
	if got := refresh(t, d, "voltages"); got != "[-2,0,0,0]" {
		t.Errorf("voltages are %s", got)
	}
	if got := refresh(t, d, "r1.voltage"); got != "-2" {
		t.Errorf("r1.voltage is %s", got)
	}
	if o := put(t, d, "cancel_all", ""); o.Err != nil {
		t.Error(o.Err)
	}
	if got := refresh(t, d, "r1.enabled"); got != "Off" {
		t.Errorf("r1.enabled is %s after cancel_all", got)
	}
}

func TestDemoUnderFaults(t *testing.T) {
	var faults sim.Faults
	d, _ := demo(t, &faults)
	for _, fault := range []sim.Fault{
		{Kind: sim.Silent},
		{Kind: sim.Held},
		{Kind: sim.Half},
		{Kind: sim.Garbled},
		{Kind: sim.Echo},
		{Kind: sim.Extra, Text: "hello"},
		{Kind: sim.Late, Delay: 600 * time.Millisecond},
	} {
		faults.Inject(fault)
		_ = refresh(t, d, "r2.start")
		for range 3 {
			if got := refresh(t, d, "r2.end"); got != "50" {
				t.Errorf("after fault %d: r2.end is %s", fault.Kind, got)
			}
			if got := refresh(t, d, "r2.start"); got != "10" {
				t.Errorf("after fault %d: r2.start is %s", fault.Kind, got)
			}
		}
	}
}

// TestSD14UnpluggedAHundredTimesUnderLoad pulls the cable in the middle of an
// exchange, again and again, while three devices poll as fast as they can, and
// counts what is left behind.
func TestSD14UnpluggedAHundredTimesUnderLoad(t *testing.T) {
	const rounds, devices = 100, 3
	leak, before := goleak.IgnoreCurrent(), descriptors(t)
	var faults sim.Faults
	opener, err := sim.NewOpener(sim.TemperatureControllerName, 1, &faults)
	if err != nil {
		t.Fatal(err)
	}
	line := link.NewLine("line1", opener, link.WithRetry(time.Millisecond, 10*time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = line.Serve(ctx) })
	lines, good := serial.Lines{}, make(chan string, 1)
	c := demoConfig(t)
	c.QuietTime = 5 * time.Millisecond // The port is not waited for longer after its return.
	for i := range devices {
		d, err := lines.New(fmt.Sprint("demo", i), c, line, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { pollForEver(ctx, t, d, good) })
	}
	// wait waits until every device has read something.
	wait := func() {
		limit := time.After(20 * time.Second)
		for heard := map[string]bool{}; len(heard) < devices; {
			select {
			case name := <-good:
				heard[name] = true
			case <-limit:
				t.Fatalf("only %v are back", heard)
			}
		}
	}
	for range rounds {
		wait()
		faults.Inject(sim.Fault{Kind: sim.Unplug})
	}
	wait()
	if losses := line.State().Losses; losses < rounds-1 {
		t.Errorf("lost %d times", losses)
	}
	cancel()
	all.Wait()
	if after := descriptors(t); after != before {
		t.Errorf("%d open descriptors, %d before", after, before)
	}
	if err := goleak.Find(leak); err != nil {
		t.Error(err)
	}
}

// pollForEver does what a supervisor does, without its pauses. It tells of
// each exchange that went well, if somebody listens.
func pollForEver(ctx context.Context, t *testing.T, d *serial.Driver, good chan<- string) {
	name := d.Model().Attributes[0].Path.Device()
	for ctx.Err() == nil {
		err := d.Connect(ctx, &deliveries{})
		for i := 0; err == nil && ctx.Err() == nil; i++ {
			var readings []device.Reading
			readings, err = d.Poll(ctx, i%len(d.Model().Polls), nil)
			if err != nil || len(readings) == 0 || readings[0].Failed() {
				continue
			}
			select {
			case good <- name:
			default:
			}
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, device.ErrLost) {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// descriptors counts what this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatalf("cannot count descriptors here: %v", err)
		}
		t.Skipf("cannot count descriptors here: %v", err)
	}
	return len(entries)
}

// BenchmarkExchange is one query and its reply on a pseudo-terminal, with the
// simulated instrument on the other side.
func BenchmarkExchange(b *testing.B) {
	d, m := demo(b, nil)
	poll := slices.IndexFunc(m.Polls, func(p device.Poll) bool {
		return m.Attributes[p.Indices[0]].Path == "demo.ramp_rate"
	})
	var readings []device.Reading
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if readings, err = d.Poll(b.Context(), poll, readings[:0]); err != nil || readings[0].Failed() {
			b.Fatal(readings, err)
		}
	}
}

// BenchmarkBareLoop is the same exchange without the driver and the line.
func BenchmarkBareLoop(b *testing.B) {
	opener, err := sim.NewOpener(sim.TemperatureControllerName, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	port, err := opener.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer port.Close()
	request, reply := []byte("R?\r\n"), make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := port.Write(request); err != nil {
			b.Fatal(err)
		}
		for n := 0; n < len("1\r\n"); {
			m, err := port.Read(reply[n:])
			if err != nil {
				b.Fatal(err)
			}
			n += m
		}
	}
}
