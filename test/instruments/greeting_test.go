package instruments_test

import (
	"bufio"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/test/rig"
)

const greetedFile = `
frontends: {rest: {listen: "127.0.0.1:0"}}
ops: {listen: ""}
links: {line1: {port: PORT, open_wait: 'ready\r\n> ', open_wait_limit: 300ms}}
devices:
  board:
    driver: serial
    link: line1
    out_terminator: "\r"
    in_terminator: "\r\n> "
    attributes: {t: {kind: float64, read: "T?", reply: "%f", poll: 100ms}}
`

// A board that starts when its port is opened does not understand what it is
// told before its prompt; and the log says what the gateway waits for.
func TestBoardIsNotSpokenToBeforeItsPrompt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "usb-board")
	g := program.Start(t, "greeting", strings.Replace(greetedFile, "PORT", name, 1))
	logged := func(text string) {
		t.Helper()
		if !rig.Until(rig.Limit, func() bool { return g.Said(text) }) {
			t.Errorf("the log does not say %q", text)
		}
	}
	logged("no such file or directory")

	pair, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	var ready atomic.Bool
	early, served := "", make(chan struct{})
	go func() {
		defer close(served)
		requests := bufio.NewReader(pair)
		for {
			request, err := requests.ReadString('\r')
			if !ready.Load() {
				early += request
			}
			if err != nil {
				return
			}
			if _, err := pair.WriteString("21.5\r\n> "); err != nil {
				return
			}
		}
	}()
	if err := pty.Link(pair.Path, name); err != nil {
		t.Fatal(err)
	}
	if _, err := pair.WriteString("boot 1.2\r\nchecking\r\n"); err != nil {
		t.Fatal(err)
	}
	if r := g.Get("board.t"); r.Good() {
		t.Errorf("good before the prompt: %s", r.Body)
	}
	// Its start takes longer than the gateway waits, which tries again.
	g.Await("board.t", rig.Limit, "what it waits for", func(r *rig.Reply) bool {
		return strings.Contains(r.Body, "did not come within 300ms")
	})
	ready.Store(true)
	if _, err := pair.WriteString("ready\r\n> "); err != nil {
		t.Fatal(err)
	}
	shows(t, g, map[string]string{"board.t": "21.5"})
	logged("device connected")
	g.Stop()
	_ = pair.Unplug() // ends serving either way
	<-served
	if early != "" {
		t.Errorf("it was told %q before its prompt", early)
	}
}
