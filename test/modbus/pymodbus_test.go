// Package modbus_test runs the gateway against Modbus servers of the Python
// package pymodbus, which nobody here wrote, and looks into them for what they
// hold.
package modbus_test

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

//go:embed server.py
var source string

// A server is a running server of pymodbus.
type server struct {
	t       *testing.T
	calls   io.WriteCloser
	replies *bufio.Scanner
}

// start runs a server until the test ends.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := exec.Command(rig.Python(t), append([]string{"-c", source}, args...)...) //nolint:noctx // It ends with its input.
	calls, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	replies, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, calls: calls, replies: bufio.NewScanner(replies)}
	t.Cleanup(func() {
		_ = calls.Close() // ends it
		_ = cmd.Wait()
	})
	s.reply()
	return s
}

func (s *server) reply() string {
	s.t.Helper()
	if !s.replies.Scan() {
		s.t.Fatal("the server has ended")
	}
	return s.replies.Text()
}

// A cell is a place in a server, and how pymodbus is to understand it.
type cell struct {
	Unit    int    `json:"unit"`
	Table   int    `json:"table"` // the function that reads it
	Address int    `json:"address"`
	Type    string `json:"type"`
	Order   string `json:"order,omitempty"`
	Count   int    `json:"count"` // of registers or bits
	Value   any    `json:"value,omitempty"`
}

func (s *server) call(c cell) string {
	s.t.Helper()
	line, err := json.Marshal(c)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.calls.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
	return s.reply()
}

// change sets what the server holds.
func (s *server) change(c cell, value any) {
	s.t.Helper()
	c.Value = value
	if got := s.call(c); got != "null" {
		s.t.Fatalf("%v cannot be set: %s", c, got)
	}
}

// holds checks what the server holds, in JSON.
func (s *server) holds(c cell, want string) {
	s.t.Helper()
	if got := s.call(c); got != want {
		s.t.Errorf("%v holds %s, want %s", c, got, want)
	}
}

// shows waits until the gateway shows a value.
func shows(t *testing.T, g *rig.Gateway, name, want string) {
	t.Helper()
	g.Await(name, rig.Limit, want, func(r *rig.Reply) bool { return r.Good() && same(r.Value, want) })
}

func same(got json.RawMessage, want string) bool {
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// put sets an attribute to a value in JSON and checks that it is read back.
func put(t *testing.T, g *rig.Gateway, name, value string) {
	t.Helper()
	g.AwaitGood(name)
	r := g.Put(name, value, "")
	if r.Status != 200 || r.Stage != "verified" || !same(r.Value, value) {
		t.Errorf("put of %s to %s: %d %s", value, name, r.Status, r.Body)
	}
}

func TestTCP(t *testing.T) {
	address := rig.FreePort(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, "tcp", host, port, "1")
	pressure := cell{Unit: 1, Table: 4, Address: 0, Type: "FLOAT32", Order: "little", Count: 2}
	runTime := cell{Unit: 1, Table: 4, Address: 20, Type: "UINT32", Order: "little", Count: 2}
	temperatures := cell{Unit: 1, Table: 4, Address: 10, Type: "INT16", Count: 4}
	state := cell{Unit: 1, Table: 4, Address: 30, Type: "UINT16", Count: 1}
	switches := cell{Unit: 1, Table: 3, Address: 1, Type: "UINT16", Count: 1}
	speed := cell{Unit: 1, Table: 3, Address: 0, Type: "UINT16", Count: 1}
	threshold := cell{Unit: 1, Table: 3, Address: 2, Type: "FLOAT32", Order: "little", Count: 2}
	label := cell{Unit: 1, Table: 3, Address: 10, Type: "STRING", Count: 8}
	valve := cell{Unit: 1, Table: 1, Address: 0, Type: "BITS", Count: 1}
	interlocks := cell{Unit: 1, Table: 2, Address: 8, Type: "BITS", Count: 6}
	s.change(pressure, 0.0000005)
	s.change(runTime, 4000000000)
	s.change(temperatures, []int{215, -10, 0, 32767})
	s.change(state, 2+8)
	s.change(switches, 0x8000)
	s.change(interlocks, []bool{true, false, true, true, false, true})
	s.change(label, "Section 3")

	g := program.StartExample(t, "modbus-tcp.yaml", "127.0.0.1:502", address)
	shows(t, g, "vacuum.pressure", "5e-7")
	shows(t, g, "vacuum.run_time", "4000000000")
	shows(t, g, "vacuum.temperatures", "[21.5,-1,0,3276.7]")
	shows(t, g, "vacuum.pump.state", `"Normal"`)
	shows(t, g, "vacuum.pump.warm", "true")
	shows(t, g, "vacuum.interlocks", "[true,false,true,true,false,true]")
	shows(t, g, "vacuum.label", `"Section 3"`)
	shows(t, g, "vacuum.pump.on", "false")

	put(t, g, "vacuum.pump.speed", "1234")
	s.holds(speed, "1234")
	put(t, g, "vacuum.threshold", "0.125")
	s.holds(threshold, "0.125")
	put(t, g, "vacuum.label", `"Gate 4"`)
	s.holds(label, `"Gate 4"`)
	put(t, g, "vacuum.valve.open", `"Open"`)
	s.holds(valve, "[true]")
	put(t, g, "vacuum.pump.vent", "true")
	put(t, g, "vacuum.pump.on", "true")
	s.holds(switches, "32771")
	put(t, g, "vacuum.pump.vent", "false")
	s.holds(switches, "32769")

	s.change(speed, 77)
	shows(t, g, "vacuum.pump.speed", "77")
	s.change(valve, []bool{false})
	shows(t, g, "vacuum.valve.open", `"Closed"`)
}

func TestRTUWithTwoUnits(t *testing.T) {
	near, far := cable(t)
	s := start(t, "rtu", far, "1", "2")
	voltage := cell{Unit: 1, Table: 4, Address: 0, Type: "FLOAT32", Count: 2}
	energy := cell{Unit: 1, Table: 4, Address: 0x156, Type: "FLOAT32", Count: 2}
	temperature := cell{Unit: 2, Table: 3, Address: 1, Type: "INT16", Count: 1}
	setpoint := cell{Unit: 2, Table: 3, Address: 2, Type: "INT16", Count: 1}
	mode := cell{Unit: 2, Table: 3, Address: 273, Type: "INT16", Count: 1}
	s.change(voltage, 230.5)
	s.change(energy, 1234.5)
	s.change(temperature, -235)

	g := program.StartExample(t, "modbus-rtu.yaml", "/dev/serial/by-id/usb-adapter", near)
	shows(t, g, "meter.voltage", "230.5")
	shows(t, g, "meter.energy", "1234.5")
	shows(t, g, "oven.temperature", "-23.5")
	put(t, g, "oven.setpoint", "451.5")
	s.holds(setpoint, "4515")
	put(t, g, "oven.mode", `"Manual"`)
	s.holds(mode, "1")
	s.change(setpoint, 300)
	shows(t, g, "oven.setpoint", "30")
	s.change(voltage, 231.25)
	shows(t, g, "meter.voltage", "231.25")
}

// cable connects two pseudo-terminals, and returns their paths.
func cable(t *testing.T) (near, far string) {
	t.Helper()
	var ends [2]*pty.Pair
	for i := range ends {
		pair, err := pty.Open()
		if err != nil {
			t.Skipf("no pseudo-terminals here: %v", err)
		}
		ends[i] = pair
	}
	var carried sync.WaitGroup
	for i := range ends {
		carried.Go(func() { _, _ = io.Copy(ends[i], ends[1-i]) }) // until it is closed
	}
	t.Cleanup(func() {
		for _, end := range ends {
			_ = end.Close() // ends the copying either way
		}
		carried.Wait()
	})
	return ends[0].Path, ends[1].Path
}
