package frontendtest

import (
	"sync"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// NewBroker makes a world on a real broker within the test's process. It ends
// with the test.
func NewBroker(tb testing.TB) *World {
	tb.Helper()
	conn := bustest.New(tb)
	return onBroker(tb, conn, conn)
}

// onBroker makes a world whose hub and devices have these connections, which
// may be the same.
func onBroker(tb testing.TB, forHub, forDevices *bus.Conn) *World {
	tb.Helper()
	ear, err := forHub.Subscribe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(ear.Close)
	return newWorld(tb, ear, newBrokerLine(tb, forDevices), hub.Options{}, nil)
}

func newBrokerLine(tb testing.TB, conn *bus.Conn) *brokerLine {
	tb.Helper()
	return &brokerLine{tb: tb, conn: conn, owned: map[gateway.Owner]func(){}}
}

// A brokerLine lets scripted devices speak over a real bus.
type brokerLine struct {
	tb   testing.TB
	conn *bus.Conn

	mu      sync.Mutex
	owned   map[gateway.Owner]func()
	answers sync.Map // of gateway.PutID to func(*gateway.PutVerdict)
}

var _ hubtest.Line = (*brokerLine)(nil)

func (l *brokerLine) Say(m gateway.Message) {
	var err error
	switch m := m.(type) {
	case *gateway.Update:
		err = l.conn.Update(m)
	case *gateway.Announcement:
		err = l.conn.Announce(m)
	case *gateway.DeviceState:
		err = l.conn.State(m)
	case *gateway.PutVerdict:
		if answer, ok := l.answers.LoadAndDelete(m.ID); ok {
			answer.(func(*gateway.PutVerdict))(m) //nolint:forcetypeassert // only these are stored.
		}
	}
	if err != nil && gateway.KindOf(err) != gateway.KindBusDown { // then nobody hears it
		l.tb.Errorf("saying a %T: %v", m, err)
	}
}

func (l *brokerLine) Own(owner gateway.Owner, d *hubtest.Device) {
	release, err := l.conn.Own(owner, &brokerHandler{line: l, device: d})
	if err != nil {
		l.tb.Errorf("owning %s: %v", owner, err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owned[owner] = release
}

func (l *brokerLine) Disown(owner gateway.Owner) {
	l.mu.Lock()
	release := l.owned[owner]
	delete(l.owned, owner)
	l.mu.Unlock()
	if release != nil {
		release()
	}
}

type brokerHandler struct {
	line   *brokerLine
	device *hubtest.Device
}

func (h *brokerHandler) HandlePut(p *gateway.Put, answer func(*gateway.PutVerdict)) {
	h.line.answers.Store(p.ID, answer)
	h.device.HandlePut(p)
}

func (h *brokerHandler) HandleDescribe()                 { h.device.Announce() }
func (h *brokerHandler) HandleRival(gateway.Owner, bool) {}

func (h *brokerHandler) HandleBus(s gateway.BusState) {
	if s.Connected {
		h.device.Announce()
	}
}
