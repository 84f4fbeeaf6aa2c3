package emulators_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

// A julabo is lewis's emulator of a circulator, with its control server.
type julabo struct {
	*process
	t       *testing.T
	address string // of the circulator
	control string // of the control server
	calls   io.Writer
	replies *bufio.Scanner
}

func startJulabo(t *testing.T) *julabo {
	t.Helper()
	python(t)
	j := &julabo{t: t, address: rig.FreePort(t), control: rig.FreePort(t)}
	j.start()
	bridge := exec.Command(python(t), "control.py", j.control)
	calls, err := bridge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	replies, err := bridge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	j.calls, j.replies = calls, bufio.NewScanner(replies)
	t.Cleanup(func() {
		_ = calls.Close() // ends it
		_ = bridge.Wait()
	})
	return j
}

// start starts the emulator, anew after a kill.
func (j *julabo) start() {
	j.t.Helper()
	host, port, _ := splitPort(j.address)
	protocol := fmt.Sprintf("julabo-version-1: {bind_address: %s, port: %s}", host, port)
	j.process = run(j.t, j.address, "-m", "lewis", "julabo", "-p", protocol, "-r", j.control, "-o", "none")
}

// call calls a method of the control server.
func (j *julabo) call(method string, params ...any) json.RawMessage {
	j.t.Helper()
	if params == nil {
		params = []any{}
	}
	request, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		j.t.Fatal(err)
	}
	if _, err := j.calls.Write(append(request, '\n')); err != nil {
		j.t.Fatal(err)
	}
	if !j.replies.Scan() {
		j.t.Fatalf("no reply to %s", method)
	}
	var reply struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(j.replies.Bytes(), &reply); err != nil || reply.Error != nil {
		j.t.Fatalf("%s: %v %s", method, err, j.replies.Bytes())
	}
	return reply.Result
}

// holds returns what the emulator holds.
func (j *julabo) holds(property string) json.RawMessage {
	j.t.Helper()
	return j.call("device." + property + ":get")
}

// number is holds for a number.
func (j *julabo) number(property string) float64 {
	j.t.Helper()
	held := rig.Sample{Value: j.holds(property)}
	return held.Number()
}

// change changes what the emulator holds, as if by its own buttons.
func (j *julabo) change(property string, value any) {
	j.t.Helper()
	j.call("device."+property+":set", value)
}
