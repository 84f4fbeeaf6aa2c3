// Package faults_test lets things go wrong on purpose: processes that are
// killed, held or doubled, a bus that goes away, an instrument that is slow. The
// gateway runs as processes of its own; a scripted instrument keeps every byte
// that it got, and is the witness.
package faults_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

// The gateway's promises on an outside bus.
const (
	// able is how long the right table may take once it can be had.
	able = time.Second
	// silence is how long a driver may be silent before it counts as lost,
	// with room for a busy machine.
	silence = 3500*time.Millisecond + able
)

const (
	noFrontends = "frontends: {}\n"
	withREST    = "frontends: {rest: {listen: \"127.0.0.1:0\"}}\n"
)

// onBus is the part of a file that is about this process.
func onBus(frontends, bus string) string {
	return frontends + "ops: {listen: \"\"}\nbus: {" + bus + "}\n"
}

// oven is a device with one attribute that can be set, value, and one that can
// be slow to read.
func oven(address string) string {
	return fmt.Sprintf(`
links: {line1: {tcp: %q}}
devices:
  oven:
    driver: serial
    link: line1
    terminator: "\n"
    reply_timeout: 1s
    attributes:
      value: {kind: int32, access: rw, read: "V?", reply: "%%d", write: "V=%%d", poll: 20ms}
      slow: {kind: int32, read: "SLOW?", reply: "%%d", poll: 20ms}
`, address)
}

// verdict is a put and what came of it.
type verdict struct {
	value int
	reply rig.Reply
}

// check compares what was said of a put with how often it was written.
func (v *verdict) check(t *testing.T, writes int) {
	t.Helper()
	switch {
	case writes > 1:
		t.Errorf("%d was written %d times: %d %s", v.value, writes, v.reply.Status, v.reply.Body)
	case v.reply.Status == 200 && writes != 1:
		t.Errorf("%d was not written, but reported as done: %s", v.value, v.reply.Body)
	case v.reply.Status != 200 && !v.reply.Sent() && writes != 0:
		t.Errorf("%d was written, but reported as never sent: %d %s", v.value, v.reply.Status, v.reply.Body)
	}
}
