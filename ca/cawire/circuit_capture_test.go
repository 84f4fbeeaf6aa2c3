package cawire

import (
	"errors"
	"testing"
)

// TestCapturedCircuitsKeepTheRules plays what real clients and servers said to
// each other through the state of both ends.
func TestCapturedCircuitsKeepTheRules(t *testing.T) {
	for _, path := range captureFiles(t) {
		name := captureName(path)
		t.Run(name, func(t *testing.T) {
			circuits := map[string]*[2]*Circuit{}
			all, _ := frames(t, readCapture(t, path))
			for _, c := range all {
				if c.on != OnCircuit {
					continue
				}
				m, err := Decode(c.frame, c.from, c.on)
				if err != nil {
					continue
				}
				ends := circuits[c.conn]
				if ends == nil {
					ends = &[2]*Circuit{NewCircuit(Client), NewCircuit(Server)}
					circuits[c.conn] = ends
				}
				for i, role := range []Side{Client, Server} {
					move := ends[i].Received
					if c.from == role {
						move = ends[i].Sent
					}
					if err := move(m); err != nil && !brokenOnPurpose(name, c.conn, err) {
						t.Errorf("%s as %v: %s: %v", c.conn, role, Trace(c.frame, c.from, c.on), err)
					}
				}
			}
			for conn, ends := range circuits {
				if ends[0].State() != CircuitOpen || ends[1].State() != CircuitOpen {
					t.Errorf("%s: states %v and %v at the end", conn, ends[0].State(), ends[1].State())
				}
			}
		})
	}
}

// brokenOnPurpose tells of capture_raw.py's circuits that break the rules: all
// of them by the client.
func brokenOnPurpose(capture, conn string, err error) bool {
	var fault *ProtocolError
	if capture != "softioc-raw" || !errors.As(err, &fault) || fault.Fault != Client {
		return false
	}
	switch conn {
	case "t15", "t17", "t18": // cancelled twice, a sid that does not exist, cleared twice
		return true
	}
	return false
}
