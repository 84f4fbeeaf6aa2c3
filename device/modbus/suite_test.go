package modbus_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/device/modbus"
)

// A plug is the cable of a slave that can be pulled.
type plug struct {
	t      *testing.T
	slave  *slave
	opener link.Opener
	cut    func()
	mend   func()
}

// plugSerial has another pseudo-terminal behind the same name each time.
func plugSerial(t *testing.T, s *slave) *plug {
	t.Helper()
	port := filepath.Join(t.TempDir(), "port")
	p := &plug{t: t, slave: s, opener: link.Serial{Path: port}}
	var served sync.WaitGroup
	var pair *pty.Pair
	p.cut = func() {
		_ = pair.Unplug() // ends the slave
		served.Wait()
	}
	p.mend = func() {
		next, err := pty.Open()
		if err != nil {
			t.Fatalf("no pseudo-terminal any more: %v", err)
		}
		pair = next
		served.Go(func() { s.serve(next) })
		if err := pty.Link(next.Path, port); err != nil {
			t.Fatal(err)
		}
	}
	p.mend()
	t.Cleanup(p.cut)
	return p
}

// plugTCP has the same port each time.
func plugTCP(t *testing.T, s *slave) *plug {
	t.Helper()
	p := &plug{t: t, slave: s}
	var served sync.WaitGroup
	var now *cable
	address := "127.0.0.1:0"
	p.cut = func() {
		now.Close()
		served.Wait()
	}
	p.mend = func() {
		listener, err := net.Listen("tcp", address) //nolint:noctx // It does not wait.
		if err != nil {
			t.Fatal(err)
		}
		address = listener.Addr().String()
		now = &cable{Listener: listener}
		next := now
		served.Go(func() { s.accept(next) })
	}
	p.mend()
	t.Cleanup(p.cut)
	p.opener = link.TCP{Address: address}
	return p
}

func TestSuiteRTU(t *testing.T) { testSuite(t, plugSerial, false) }
func TestSuiteTCP(t *testing.T) { testSuite(t, plugTCP, true) }

func testSuite(t *testing.T, plugIn func(*testing.T, *slave) *plug, overTCP bool) {
	t.Helper()
	devicetest.Run(t, func(t *testing.T) *devicetest.Rig {
		t.Helper()
		s := newSlave(overTCP, 5)
		s.holds(5, 3, 10, 200, 7)
		s.units[5].fixed[5000] = true // refuses this value
		p := plugIn(t, s)
		line := link.NewLine("line1", p.opener)
		ctx, cancel := context.WithCancel(context.Background())
		var served sync.WaitGroup
		served.Go(func() { _ = line.Serve(ctx) })
		t.Cleanup(func() {
			cancel()
			served.Wait()
		})
		framing := "framing: rtu"
		if overTCP {
			framing = "framing: tcp"
		}
		d, err := modbus.New("bath", decode(t, framing+`
unit: 5
reply_timeout: 300ms
attributes:
  target: {kind: float64, type: int16, scale: 0.1, access: rw, table: holding, address: 10, poll: 20ms}
  mode: {kind: uint16, table: holding, address: 11, poll: 20ms}
`), line, 0, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		return &devicetest.Rig{
			Name: "bath", Driver: d,
			Reads:     map[gateway.Path]gateway.Value{"bath.target": gateway.Of(20.0), "bath.mode": gateway.Of[uint16](7)},
			Put:       gateway.PutRequest{Path: "bath.target", Value: gateway.Of(25.0)},
			Refused:   &gateway.PutRequest{Path: "bath.target", Value: gateway.Of(500.0)},
			Writes:    func() int { return s.written(5) },
			SetSilent: func(silent bool) { s.touch(func() { s.silent = silent }) },
			Cut:       p.cut,
			Mend:      p.mend,
		}
	})
}
