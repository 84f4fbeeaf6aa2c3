package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/polygate/gateway/ca/cawire"
)

// A channel is a process variable that stands for one role of an attribute.
type channel struct{ pv, name, role string }

// channels are those of an attribute of the simulated instrument, where "held"
// alone can be written.
func channels(name string) []channel {
	device, attribute, _ := strings.Cut(name, ".")
	pv := strings.ToUpper(device) + ":" + strings.ToUpper(attribute[:1]) + attribute[1:]
	if attribute == "held" {
		return []channel{{pv, name, "setpoint"}, {pv + "_RBV", name, "readback"}}
	}
	return []channel{{pv, name, "readback"}}
}

// A circuit is a connection to a Channel Access server.
type circuit struct {
	conn   net.Conn
	in     []byte
	buf    []byte
	lastID uint32
}

// dialCircuit connects and introduces itself. The connection is closed when ctx
// ends.
func dialCircuit(ctx context.Context, address string) (*circuit, func(), error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	c := &circuit{conn: conn, buf: make([]byte, 64<<10)}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	end := func() {
		stop()
		_ = conn.Close()
	}
	if err := c.send(&cawire.Version{Minor: cawire.MinorCurrent}, &cawire.ClientName{Name: []byte("e2e")}, &cawire.HostName{Name: []byte("client")}); err != nil {
		end()
		return nil, nil, err
	}
	return c, end, nil
}

func (c *circuit) send(messages ...cawire.Message) error {
	var out []byte
	for _, m := range messages {
		var err error
		if out, err = m.Append(out, cawire.MinorCurrent); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(out)
	return err
}

// receive returns the next message, which lives until the next call.
func (c *circuit) receive() (cawire.Message, error) {
	for {
		frame, n, err := cawire.Next(c.in, 16<<20)
		if err == nil {
			c.in = c.in[n:]
			return cawire.Decode(frame, cawire.Server, cawire.OnCircuit)
		}
		if !errors.Is(err, cawire.ErrIncomplete) {
			return nil, err
		}
		got, err := c.conn.Read(c.buf)
		if err != nil {
			return nil, err
		}
		c.in = append(c.in[:len(c.in):len(c.in)], c.buf[:got]...)
	}
}

// open creates a channel and returns the server's id of it.
func (c *circuit) open(pv string) (uint32, error) {
	c.lastID++
	cid := c.lastID
	if err := c.send(&cawire.CreateChanRequest{CID: cid, Minor: cawire.MinorCurrent, Name: []byte(pv)}); err != nil {
		return 0, err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return 0, err
		}
		switch m := m.(type) {
		case *cawire.CreateChanReply:
			return m.SID, nil
		case *cawire.CreateChFail:
			return 0, fmt.Errorf("there is no %s", pv)
		}
	}
}

// watchCA opens all channels before it subscribes to any, and counts as
// synced when each has sent its first event.
func watchCA(ctx context.Context, address string, names []string, each func(Event)) error {
	c, end, err := dialCircuit(ctx, address)
	if err != nil {
		return err
	}
	defer end()
	var all []channel
	for _, name := range names {
		all = append(all, channels(name)...)
	}
	sids := make([]uint32, len(all))
	for i, ch := range all {
		if sids[i], err = c.open(ch.pv); err != nil {
			return err
		}
	}
	each(Event{At: now(), Kind: Up})
	for i, sid := range sids {
		subscribe := &cawire.EventAdd{
			Type: cawire.DBRTimeDouble, Count: 1, SID: sid, SubscriptionID: uint32(i), //nolint:gosec // A few channels.
			Mask: cawire.DBEValue | cawire.DBELog | cawire.DBEAlarm,
		}
		if err := c.send(subscribe); err != nil {
			return err
		}
	}
	first := map[uint32]bool{}
	for {
		m, err := c.receive()
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *cawire.Event:
			shown, err := caEvent(all, m)
			if err != nil {
				return err
			}
			each(shown)
			if !first[m.SubscriptionID] {
				first[m.SubscriptionID] = true
				if len(first) == len(all) {
					each(Event{At: now(), Kind: Synced})
				}
			}
		case *cawire.ServerDisconn:
			return errors.New("the server closed a channel")
		}
	}
}

func caEvent(all []channel, m *cawire.Event) (Event, error) {
	if int(m.SubscriptionID) >= len(all) || m.Status != cawire.ECANormal {
		return Event{}, fmt.Errorf("an event of %d with %v", m.SubscriptionID, m.Status)
	}
	var meta cawire.Meta
	var values cawire.Values
	if err := cawire.DecodeDBR(m.Type, m.Count, m.Payload, &meta, &values); err != nil {
		return Event{}, err
	}
	ch := all[m.SubscriptionID]
	shown := Event{
		At: now(), Kind: Shown, Name: ch.name, Role: ch.role, Time: meta.Time.Time().UnixNano(),
		Severity: meta.Severity.String(), Status: meta.Status.String(),
	}
	if len(values.Doubles) == 1 {
		shown.Value = &values.Doubles[0]
	}
	return shown, nil
}

type caPutter struct {
	c    *circuit
	end  func()
	sids map[string]uint32
}

func dialCAPutter(ctx context.Context, address string) (*caPutter, error) {
	c, end, err := dialCircuit(ctx, address)
	if err != nil {
		return nil, err
	}
	return &caPutter{c: c, end: end, sids: map[string]uint32{}}, nil
}

func (p *caPutter) Close() { p.end() }

// Put puts with a callback.
func (p *caPutter) Put(ctx context.Context, name string, value int64) (Verdict, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.c.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	sid, open := p.sids[name]
	if !open {
		var err error
		if sid, err = p.c.open(channels(name)[0].pv); err != nil {
			return Verdict{}, err
		}
		p.sids[name] = sid
	}
	payload, err := cawire.AppendDBR(nil, cawire.DBRDouble, 1, nil, &cawire.Values{Doubles: []float64{float64(value)}})
	if err != nil {
		return Verdict{}, err
	}
	p.c.lastID++
	write := &cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: p.c.lastID, Payload: payload}
	if err := p.c.send(write); err != nil {
		return Verdict{}, err
	}
	for {
		m, err := p.c.receive()
		if err != nil {
			return Verdict{}, err
		}
		switch m := m.(type) {
		case *cawire.WriteNotifyReply:
			if m.Status == cawire.ECANormal {
				return Verdict{}, nil
			}
			return Verdict{Code: m.Status.String(), Words: "the put failed"}, nil
		case *cawire.ServerDisconn:
			return Verdict{}, errors.New("the server closed the channel")
		}
	}
}
