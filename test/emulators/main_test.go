// Package emulators_test runs the gateway against instruments that were not
// written for it, with the files in deploy/examples, and compares what it says
// with what the instrument holds, which is asked by another way.
package emulators_test

import (
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

// lost waits until an attribute is shown as that of a lost device, with the
// value and time that it had.
func lost(t *testing.T, g *rig.Gateway, name string, before *rig.Reply) {
	t.Helper()
	now := g.Await(name, soon, "that of a lost device", func(r *rig.Reply) bool { return r.Availability.State == "disconnected" })
	if now.Alarm.Severity != "INVALID" || now.Alarm.Status != "COMM" {
		t.Errorf("the alarm of a lost device: %s", now.Body)
	}
	if now.Text() != before.Text() || now.Time.Before(before.Time) {
		t.Errorf("the last value does not stay: %s, it was %s", now.Body, before.Body)
	}
	if put := g.Put(name, "1", ""); put.Status != 503 || put.Code != "not_connected" || put.Stage != "refused" {
		t.Errorf("a put to a lost device: %d %s", put.Status, put.Body)
	}
}

// goodOf waits for a good value.
func goodOf(value string) func(*rig.Reply) bool {
	return func(r *rig.Reply) bool { return r.Good() && r.Text() == value }
}

// put waits until an attribute is good, sets it, and checks that the verdict
// comes with what was asked.
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
