package ca

import (
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

func TestCA51RefusedPuts(t *testing.T) {
	w := newWorld(t, float("level", r), float("target", rw), float("key", gateway.AccessWrite))
	c := w.dial()
	one := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})
	for name, rights := range map[string]cawire.Rights{
		"X:Level": cawire.MayRead, "X:Target": cawire.MayRead | cawire.MayWrite, "X:Target_RBV": cawire.MayRead,
		"X:Target.DESC": cawire.MayRead, "X:Key.PROC": cawire.MayRead, "X:Target.EGU": cawire.MayRead,
		"X:Target.PROC": cawire.MayRead | cawire.MayWrite, "X:Level.PROC": cawire.MayRead | cawire.MayWrite,
	} {
		ch := c.mustOpen(name)
		if got := c.circuit.ChannelBySID(ch.SID).Rights; got != rights {
			t.Errorf("%s: rights %v, want %v", name, got, rights)
		}
		want := cawire.ECANormal
		if rights&cawire.MayWrite == 0 {
			want = cawire.ECANoWtAccess
			c.mustSend(&cawire.WriteRequest{Type: cawire.DBRDouble, Count: 1, SID: ch.SID, Payload: one})
			if e := until[*cawire.ErrorReply](c, nil); e.Status != want || e.CID != ch.CID {
				t.Errorf("%s: a plain put: %+v", name, e)
			}
		}
		if status, err := c.write(ch.SID, cawire.DBRDouble, 1, one); status != want || err != nil {
			t.Errorf("%s: a put: %v, %v", name, status, err)
		}
	}
}

// An attribute may become writable, or read-only again, while clients have its
// channels open: they are told, and go on.
func TestCA51AccessThatChangesIsToldToOpenChannels(t *testing.T) {
	w := newWorld(t, float("level", r))
	w.update(change("level", gateway.Of(4.0)))
	c := w.dial()
	ch, desc := c.mustOpen("X:Level"), c.mustOpen("X:Level.DESC")
	id := c.subscribe(ch.SID, cawire.DBRDouble, cawire.DBEValue)
	until(c, func(e *cawire.Event) bool { return e.SubscriptionID == id })
	one := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})
	other := w.dial() // a client without subscriptions is told as well
	otherCh := other.mustOpen("X:Level")

	w.device.Redescribe(float("level", rw))
	for _, told := range []struct {
		c   *tester
		cid uint32
	}{{c, ch.CID}, {other, otherCh.CID}} {
		m := until(told.c, func(m *cawire.AccessRights) bool { return m.CID == told.cid })
		if m.Rights != cawire.MayRead|cawire.MayWrite {
			t.Errorf("now the rights are %v", m.Rights)
		}
	}
	// The name is that of the setpoint now, which nobody has set.
	until(c, func(e *cawire.Event) bool { return e.SubscriptionID == id })
	if _, v, _ := c.values(ch.SID, cawire.DBRString, 1); v.Strings[0] != "0.000000" {
		t.Errorf("the setpoint is %q", v.Strings)
	}
	if status, err := other.write(otherCh.SID, cawire.DBRDouble, 1, one); status != cawire.ECANormal || err != nil {
		t.Errorf("a put: %v, %v", status, err)
	}
	until(c, func(e *cawire.Event) bool { _, v := doubles(t, e); return e.SubscriptionID == id && v[0] == 1 })
	readback := c.mustOpen("X:Level_RBV")

	w.device.Redescribe(float("level", r))
	for told, ended := false, false; !told || !ended; { // in either order
		switch m := c.mustReceive().(type) {
		case *cawire.AccessRights:
			told = told || m.CID == ch.CID
			if m.Rights != cawire.MayRead {
				t.Errorf("in the end the rights of %d are %v", m.CID, m.Rights)
			}
		case *cawire.ServerDisconn:
			ended = ended || m.CID == readback.CID
		}
	}
	if status, err := c.write(ch.SID, cawire.DBRDouble, 1, one); status != cawire.ECANoWtAccess || err != nil {
		t.Errorf("a put: %v, %v", status, err)
	}
	w.update(change("level", gateway.Of(9.0)))
	until(c, func(e *cawire.Event) bool { _, v := doubles(t, e); return e.SubscriptionID == id && v[0] == 9 })
	if _, _, reply := c.values(desc.SID, cawire.DBRString, 1); reply.Status != cawire.ECANormal {
		t.Errorf("a field of it: %v", reply.Status)
	}
}

// A channel whose type changes is ended, and the client connects anew.
func TestAnotherTypeEndsTheChannel(t *testing.T) {
	w := newWorld(t, float("level", rw))
	c := w.dial()
	ch := c.mustOpen("X:Level")
	w.device.Redescribe(attribute("level", rw, gateway.Type{Kind: gateway.Int32}))
	until(c, func(m *cawire.ServerDisconn) bool { return m.CID == ch.CID })
	// A request that had crossed it on the wire leaves the circuit.
	one := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})
	if status, err := c.write(ch.SID, cawire.DBRDouble, 1, one); status != cawire.ECAPutFail && err == nil {
		t.Errorf("a put to a channel that is gone: %v", status)
	}
	if again := c.mustOpen("X:Level"); again.Type != cawire.DBRLong {
		t.Errorf("now its type is %v", again.Type)
	}
}

func TestAccessRightsFollowTheDescriptor(t *testing.T) {
	w := newWorld(t, attribute("run", gateway.AccessExecute, gateway.Type{Kind: gateway.Bool}), float("level", r))
	c := w.dial()
	sid := c.mustOpen("X:Run").SID
	if _, v, _ := c.values(sid, cawire.DBRString, 1); v.Strings[0] != "Idle" {
		t.Errorf("a command reads %q", v.Strings)
	}
	for _, name := range []string{"X:Run", "X:Run.PROC"} {
		sid := c.mustOpen(name).SID
		if status, err := c.write(sid, cawire.DBRShort, 1, encode(cawire.DBRShort, 1, cawire.Values{Shorts: []int16{0}})); status != cawire.ECANormal || err != nil {
			t.Errorf("writing %s: %v, %v", name, status, err)
		}
	}
	if puts := w.device.Puts(); len(puts) != 2 || puts[0].Path != "x.run" {
		t.Errorf("the device got %v", puts)
	}
}
