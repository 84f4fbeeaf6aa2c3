package emulators_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// A controller is FastCS's simulation of a temperature controller. It is looked
// into over a second connection, which answers on its own.
type controller struct {
	*rig.Emulator
	t       *testing.T
	address string
	file    string
	conn    net.Conn
	replies *bufio.Reader
}

func startController(t *testing.T) *controller {
	t.Helper()
	rig.Python(t)
	c := &controller{t: t, address: rig.FreePort(t), file: filepath.Join(t.TempDir(), "controller.yaml")}
	host, port, err := net.SplitHostPort(c.address)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
- {type: tickit.devices.source.Source, name: source, inputs: {}, value: 42.0}
- type: fastcs.demo.simulation.device.TempController
  name: controller
  inputs: {flux: {component: source, port: value}}
  num_ramp_controllers: 4
  default_start: 10
  default_end: 50
  host: %s
  port: %s
`, host, port)
	if err := os.WriteFile(c.file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	return c
}

// start starts the simulation, anew after a kill.
func (c *controller) start() {
	c.t.Helper()
	c.Emulator = rig.StartEmulator(c.t, c.address, "-m", "tickit", "--log-level", "INFO", "all", c.file)
	var dialer net.Dialer
	conn, err := dialer.DialContext(c.t.Context(), "tcp", c.address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	c.conn, c.replies = conn, bufio.NewReader(conn)
}

func (c *controller) send(request string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(request + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
}

// ask returns the reply to a query.
func (c *controller) ask(query string) string {
	c.t.Helper()
	c.send(query)
	if err := c.conn.SetReadDeadline(time.Now().Add(rig.Limit)); err != nil {
		c.t.Fatal(err)
	}
	reply, err := c.replies.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	return strings.TrimSpace(reply)
}

// number is ask for a number.
func (c *controller) number(query string) float64 {
	c.t.Helper()
	held := rig.Sample{Value: json.RawMessage(c.ask(query))}
	return held.Number()
}

// change sets what the simulation holds, as another client would: over a
// connection of its own, as it would take a query behind it for a part of it.
func (c *controller) change(set, query, want string) {
	c.t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(c.t.Context(), "tcp", c.address)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(set + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
	last := ""
	if !rig.Until(rig.Limit, func() bool { last = c.ask(query); return last == want }) {
		c.t.Fatalf("after %s it answers %s to %s", set, last, query)
	}
}

func controllerGateway(t *testing.T, c *controller, oldAndNew ...string) *rig.Gateway {
	t.Helper()
	return program.StartExample(t, "fastcs-temperature-controller.yaml", append([]string{`tcp: "127.0.0.1:25565"`, fmt.Sprintf("tcp: %q", c.address)}, oldAndNew...)...)
}

// labels are the states of the ramps.
var labels = []string{"Off", "On"}

func TestTheControllerShowsWhatItHolds(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c)
	queries := map[string]string{"tempcont.ramp_rate": "R?", "tempcont.power": "P?"}
	for ramp := 1; ramp <= 4; ramp++ {
		for name, letter := range map[string]string{"start": "S", "end": "E", "target": "T", "actual": "A"} {
			queries[fmt.Sprintf("tempcont.r%d.%s", ramp, name)] = fmt.Sprintf("%s0%d?", letter, ramp)
		}
		name := fmt.Sprintf("tempcont.r%d.enabled", ramp)
		if got := g.AwaitGood(name); got.Text() != labels[int(c.number(fmt.Sprintf("N0%d?", ramp)))] {
			t.Errorf("%s: %s", name, got.Body)
		}
		name = fmt.Sprintf("tempcont.r%d.voltage", ramp)
		if got := g.AwaitGood(name); got.Number() != 0 {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	for name, query := range queries {
		if got, want := g.AwaitGood(name), c.number(query); got.Number() != want {
			t.Errorf("%s: %s, but %s is %v", name, got.Body, query, want)
		}
	}
	if got, want := g.AwaitGood("tempcont.id"), c.ask("ID?"); got.Text() != want {
		t.Errorf("tempcont.id: %s, but ID? is %s", got.Body, want)
	}
	if got := g.AwaitGood("tempcont.voltages"); string(got.Value) != "[0,0,0,0]" {
		t.Errorf("tempcont.voltages: %s", got.Body)
	}
	if names := g.Names("tempcont.>"); len(names) != len(queries)+2*4+2 {
		t.Errorf("not all attributes are compared here: %q", names)
	}
	g.Stop()
}

// The controller takes what arrives together for one request. With polls and
// read-backs between them every put still arrives, and alone.
func TestPutsReachTheControllerAlthoughItHasNoFraming(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c)
	for i := range 25 {
		for ramp := 1; ramp <= 4; ramp++ {
			value := fmt.Sprint(10*i + ramp)
			put(t, g, fmt.Sprintf("tempcont.r%d.start", ramp), value)
			if got := c.ask(fmt.Sprintf("S0%d?", ramp)); got != value {
				t.Fatalf("after a put of %s the simulation holds %s", value, got)
			}
		}
	}
	put(t, g, "tempcont.ramp_rate", "2.5")
	if got := c.number("R?"); got != 2.5 {
		t.Errorf("after a put of 2.5 the simulation holds %v", got)
	}
	put(t, g, "tempcont.r3.end", "400") // a ramp that begins above its end stops at once
	put(t, g, "tempcont.r3.enabled", `"On"`)
	if e, n := c.ask("E03?"), c.ask("N03?"); e != "400" || n != "1" {
		t.Errorf("E03? is %s and N03? is %s", e, n)
	}
}

func TestChangesInsideTheControllerAreSeen(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c)
	last := g.AwaitGood("tempcont.r1.start")
	stream := g.Watch("tempcont.r1.start")
	for _, value := range []string{"11", "900", "0", "11"} {
		c.change("S01="+value, "S01?", value)
		event := stream.Until(rig.Limit, value, func(e *rig.Reply) bool {
			return e.Event == "sample" && e.Role == "readback" && e.Text() == value
		})
		if event.Seq <= last.Seq || !event.Time.After(last.Time) || !event.Good() {
			t.Errorf("%s\ndoes not follow %s", event.Body, last.Body)
		}
		last = event
		if got := g.Get("tempcont.r1.start"); got.Text() != value || got.Seq != event.Seq {
			t.Errorf("read after the event: %s", got.Body)
		}
	}
	// What another client sets is no setpoint of ours.
	if got := g.Get("tempcont.r1.start"); got.Setpoint.Number() != 10 {
		t.Errorf("the setpoint has moved: %s", got.Body)
	}
}

// A ramp that runs only rises. So a sample that was taken between two looks at
// the simulation lies between what these saw.
func TestARampIsFollowed(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c)
	put(t, g, "tempcont.ramp_rate", "20")
	put(t, g, "tempcont.r1.start", "30")
	put(t, g, "tempcont.r1.end", "90")
	stream := g.Watch("tempcont.r1.*")
	put(t, g, "tempcont.r1.enabled", `"On"`)
	for {
		low, since := c.number("T01?"), time.Now()
		event := stream.Until(rig.Limit, "a target taken later", func(e *rig.Reply) bool {
			return e.Event == "sample" && e.Name == "tempcont.r1.target" && e.Time.After(since) || stopped(e)
		})
		if stopped(&event) {
			break
		}
		if high := c.number("T01?"); event.Number() < low || event.Number() > high {
			t.Errorf("the target was between %v and %v: %s", low, high, event.Body)
		}
	}
	// It switches itself off at the end, where everything is still.
	if got := g.Await("tempcont.r1.target", soon, "the end of the ramp", goodOf("90")); got.Number() != c.number("T01?") {
		t.Errorf("the target at the end: %s", got.Body)
	}
	g.Await("tempcont.power", soon, "0", goodOf("0"))
	if got := c.ask("N01?"); got != "0" {
		t.Errorf("N01? is %s at the end", got)
	}
}

// stopped reports that ramp 1 has switched itself off.
func stopped(e *rig.Reply) bool {
	return e.Event == "sample" && e.Name == "tempcont.r1.enabled" && e.Role == "readback" && e.Text() == "Off"
}

func TestOneReplyIsManyAttributesOfOneTime(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c)
	put(t, g, "tempcont.r2.enabled", `"On"`)
	put(t, g, "tempcont.r4.enabled", `"On"`)
	g.Await("tempcont.r4.voltage", rig.Limit, "above 0", func(r *rig.Reply) bool { return r.Number() > 0 })
	matches := func() bool {
		all := g.Get("tempcont.voltages")
		var volts []float64
		if json.Unmarshal(all.Value, &volts) != nil || len(volts) != 4 {
			t.Fatalf("voltages: %s", all.Body)
		}
		for i, want := range volts {
			one := g.Get(fmt.Sprintf("tempcont.r%d.voltage", i+1))
			if one.Number() != want || !one.Time.Equal(all.Time) {
				return false // polled in between
			}
		}
		return volts[1] > 0 && volts[3] > 0 && volts[0] == 0
	}
	if !rig.Until(rig.Limit, matches) {
		t.Error("the voltages never are the elements of the array")
	}
	if r := g.Execute("tempcont.cancel_all"); r.Status != 200 || r.Stage != "acknowledged" {
		t.Errorf("cancel_all: %d %s", r.Status, r.Body)
	}
	for ramp := 1; ramp <= 4; ramp++ {
		if got := c.ask(fmt.Sprintf("N0%d?", ramp)); got != "0" {
			t.Errorf("ramp %d still runs", ramp)
		}
		g.Await(fmt.Sprintf("tempcont.r%d.enabled", ramp), soon, "Off", goodOf("Off"))
	}
}

// With limits in the file that are too wide the controller itself refuses.
func TestTheControllersRefusalIsTheVerdict(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c, "limits: {low: 0, high: 1000}", "limits: {low: -1000, high: 1000}")
	before := put(t, g, "tempcont.r1.start", "20")
	r := g.Put("tempcont.r1.start", "-5", "")
	if r.Status != 409 || r.Code != "refused_by_device" || r.DeviceWords != "Request does not match any known command" {
		t.Errorf("the verdict: %d %s", r.Status, r.Body)
	}
	if got := c.ask("S01?"); got != "20" {
		t.Errorf("S01? is %s", got)
	}
	after := g.Get("tempcont.r1.start")
	if after.Number() != 20 || !after.Good() || after.Time.Before(before.Time) {
		t.Errorf("the readback: %s", after.Body)
	}
	if after.Setpoint.Number() != -5 || after.Setpoint.Alarm.Severity != "INVALID" || after.Setpoint.Alarm.Status != "WRITE" {
		t.Errorf("the setpoint: %s", after.Body)
	}
	put(t, g, "tempcont.r1.start", "21") // looks at the alarm, too
}

func TestAControllerThatDiedIsLostAndReadAnew(t *testing.T) {
	c := startController(t)
	g := controllerGateway(t, c)
	before := put(t, g, "tempcont.r1.start", "33")
	names := g.Names("tempcont.>")
	c.Kill()
	lost(t, g, "tempcont.r1.start", &before)
	for _, name := range names {
		if got := g.Get(name); got.Good() && !slices.Contains([]string{"tempcont.cancel_all"}, name) {
			t.Errorf("%s of a lost device is shown as good: %s", name, got.Body)
		}
	}
	c.start()
	// The longer a host was away the longer the pauses between attempts to reach it, up to 5 s.
	back := g.Await("tempcont.r1.start", 5*time.Second+soon, "what it holds after its start", goodOf("10"))
	if back.Seq <= before.Seq || !back.Time.After(before.Time) {
		t.Errorf("%s\ndoes not follow %s", back.Body, before.Body)
	}
	put(t, g, "tempcont.r1.start", "34")
}
