// Package instruments_test runs the gateway with the files in deploy/examples
// against instruments of different habits, which are written here from their
// manuals, and looks into the instrument for what was really said to it.
package instruments_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

// soon is how long the gateway may take to notice that an instrument is gone,
// or that it is back.
const soon = 2 * time.Second

// put waits until an attribute is good, sets it to a value in JSON, and checks
// that the verdict comes with what was asked.
func put(t *testing.T, g *rig.Gateway, name, value string) rig.Reply {
	t.Helper()
	g.AwaitGood(name)
	r := g.Put(name, value, "")
	want := strings.Trim(value, `"`)
	if r.Status != 200 || r.Stage != "verified" || r.Text() != want || r.Setpoint.Text() != want || !r.Good() || !r.Setpoint.Good() {
		t.Errorf("put of %s to %s: %d %s", value, name, r.Status, r.Body)
	}
	return r
}

// refused sets an attribute and checks that the instrument's words come back.
func refused(t *testing.T, g *rig.Gateway, name, value, words string) rig.Reply {
	t.Helper()
	g.AwaitGood(name)
	r := g.Put(name, value, "")
	if r.Code != "refused_by_device" || r.DeviceWords != words {
		t.Errorf("put of %s to %s: want it refused with %q: %d %s", value, name, words, r.Status, r.Body)
	}
	return r
}

// shows waits until attributes have the values, in JSON.
func shows(t *testing.T, g *rig.Gateway, values map[string]string) {
	t.Helper()
	for name, want := range values {
		g.Await(name, rig.Limit, want, func(r *rig.Reply) bool { return r.Good() && same(r.Value, want) })
	}
}

// same compares values in JSON.
func same(got json.RawMessage, want string) bool {
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// failing waits until an attribute shows that its reading failed with a status.
func failing(t *testing.T, g *rig.Gateway, name, status string) rig.Reply {
	t.Helper()
	return g.Await(name, rig.Limit, "failed with "+status, func(r *rig.Reply) bool {
		return r.Alarm.Severity == "INVALID" && r.Alarm.Status == status
	})
}

// onlyEver checks that a stream has shown nothing of an attribute but these
// values, in JSON, so far. A sample without a value says nothing wrong.
func onlyEver(t *testing.T, s *rig.Stream, allowed map[string][]string) {
	t.Helper()
	for _, e := range s.Waiting() {
		if e.Event != "sample" || len(e.Value) == 0 || string(e.Value) == "null" {
			continue
		}
		values, known := allowed[e.Name]
		ok := !known
		for _, want := range values {
			ok = ok || same(e.Value, want)
		}
		if !ok {
			t.Errorf("the instrument never said that: %s", e.Body)
		}
	}
}

// replugged pulls the adapter, checks that the gateway says so, does what is
// to be done meanwhile, and plugs it in again.
func replugged(t *testing.T, p *port, g *rig.Gateway, name string, meanwhile func()) {
	t.Helper()
	before := g.AwaitGood(name)
	p.unplug()
	gone := g.Await(name, soon, "that of a lost device", func(r *rig.Reply) bool { return r.Availability.State == "disconnected" })
	if gone.Alarm.Severity != "INVALID" || gone.Alarm.Status != "COMM" || gone.Text() != before.Text() {
		t.Errorf("the device is gone: %s\nit was %s", gone.Body, before.Body)
	}
	meanwhile()
	p.plug()
	g.Await(name, soon, "that of a device that is back", func(r *rig.Reply) bool { return r.Availability.State == "connected" && r.Good() })
}
