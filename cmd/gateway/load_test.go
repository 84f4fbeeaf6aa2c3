package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two devices on one line; each asks with 4 bytes and gets 8, every 100 ms. At
// 1200 baud with ten bits a byte takes 8.3 ms, so that is twice 101 ms.
const twoOnALine = `
frontends: {rest: {}}
links: {line1: {LINK}}
devices:
  a: {driver: serial, link: line1, terminator: "\r\n", attributes: {t: {kind: float64, read: "A?", reply: "%6f", poll: 100ms}}}
  b: {driver: serial, link: line1, terminator: "\r\n", attributes: {t: {kind: float64, read: "B?", reply: "%6f", poll: 100ms}}}
`

func TestCheckTellsHowBusyALineWillBe(t *testing.T) {
	tests := []struct {
		link, want string
		warned     bool
	}{
		{"port: /dev/none, baud: 1200", "line1: polls need 202 % of 1200 baud", true},
		{"port: /dev/none, baud: 9600", "line1: polls need 27 % of 9600 baud", false},
		{"port: /dev/none, baud: 9600, parity: even, stop_bits: 2", "line1: polls need 32 % of 9600 baud", false},
		{`rfc2217: "host:4000", baud: 1200`, "line1: polls need 202 % of 1200 baud", true},
		{`tcp: "host:4000"`, "", false},
	}
	for _, test := range tests {
		name := filepath.Join(t.TempDir(), "gateway.yaml")
		if err := os.WriteFile(name, []byte(strings.Replace(twoOnALine, "LINK", test.link, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		code, output := check(t, name)
		_, summary, _ := strings.Cut(output, "is fine: ")
		if code != exitOK || !strings.Contains(summary, test.want) || test.want == "" && strings.Contains(output, "baud") {
			t.Errorf("%s: exit code %d, want %q in\n%s", test.link, code, test.want, output)
		}
		if warned := strings.Contains(output, "warning: "+test.want+"; they will come late"); warned != test.warned {
			t.Errorf("%s: warned %v, want %v:\n%s", test.link, warned, test.warned, output)
		}
	}
}

func TestSD19CheckWarnsOfBytesThatFlowControlTakesAway(t *testing.T) {
	for _, test := range []struct {
		link, reply string
		warned      bool
	}{
		{"port: /dev/none, flow: xonxoff", "%2r", true},
		{`rfc2217: "host:4000", flow: xonxoff`, "%d%<xor>", true},
		{"port: /dev/none, flow: xonxoff", "%d%0<xor>", false},
		{"port: /dev/none, flow: rtscts", "%2r", false},
	} {
		name := filepath.Join(t.TempDir(), "gateway.yaml")
		file := `{frontends: {rest: {}}, links: {line1: {` + test.link + `}}, devices: {a: {driver: serial, link: line1, terminator: "\r", attributes: {v: {kind: int32, read: "V?", reply: "` + test.reply + `"}}}}}`
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		code, output := check(t, name)
		if warned := strings.Contains(output, "takes 0x11 and 0x13 away"); code != exitOK || warned != test.warned {
			t.Errorf("%s, %s: exit code %d, warned %v:\n%s", test.link, test.reply, code, warned, output)
		}
	}
}
