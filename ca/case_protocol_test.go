package ca

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestCA09OnlyTextsAreServedAsCharacters(t *testing.T) {
	w := newWorld(t, str("str", rw, 30), float("num", r))
	c := w.dial()
	for name, want := range map[string]bool{
		"X:Str": true, "X:Str.VAL": true, "X:Str.": true, "X:Str.VAL$": true, "X:Str.$": true, "X:Str.DESC$": true,
		"X:Str$": false, "X:Num.VAL$": false, "X:Num.$": false, "X:Num.DESC$": true, "X:Num.PREC$": false,
	} {
		if found, err := c.find(name); found != want || err != nil {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
		if ch, err := c.open(name); (err == nil) != want {
			t.Errorf("%s: opened %v", name, err)
		} else if err == nil && strings.HasSuffix(name, "$") != (ch.Type == cawire.DBRChar) {
			t.Errorf("%s is %v[%d]", name, ch.Type, ch.Count)
		}
	}
}

func TestCA16NoCountForAnyClient(t *testing.T) {
	w := newWorld(t, float("level", r))
	w.update(change("level", gateway.Of(5.0)))
	for _, minor := range []cawire.Minor{11, 12, 13} {
		c := dialTester(t, w.server.Addr().String(), minor)
		if v := until[*cawire.Version](c, nil); v.Minor != 13 {
			t.Errorf("the server says %v", v.Minor)
		}
		sid := c.mustOpen("X:Level").SID
		for _, count := range []uint32{0, 1} {
			if _, v, reply := c.values(sid, cawire.DBRDouble, count); reply.Count != 1 || v.Doubles[0] != 5 {
				t.Errorf("%v, count %d: %d elements", minor, count, reply.Count)
			}
			c.mustSend(&cawire.EventAdd{Type: cawire.DBRTimeDouble, Count: count, SID: sid, SubscriptionID: 100 + count, Mask: 1})
			if e := until[*cawire.Event](c, nil); e.Count != 1 {
				t.Errorf("%v, count %d: an event with %d elements", minor, count, e.Count)
			}
		}
	}
}

func TestCA19LongHeadersWhereTheyAreNeeded(t *testing.T) {
	w := newWorld(t, attribute("chars", r, gateway.Type{Kind: gateway.Uint8, Shape: []int{70000}}),
		attribute("ints", r, gateway.Type{Kind: gateway.Int16, Shape: []int{70000}}),
		attribute("doubles", r, gateway.Type{Kind: gateway.Float64, Shape: []int{8192}}))
	w.update(change("chars", gateway.ArrayOf(make([]byte, 70000))), change("ints", gateway.ArrayOf(make([]int16, 70000))),
		change("doubles", gateway.ArrayOf(make([]float64, 8192))))
	for _, x := range []struct {
		name  string
		count uint32
		long  bool
	}{
		{"X:Chars", 65528, false},
		{"X:Chars", 65534, true},
		{"X:Chars", 65535, true},
		{"X:Chars", 70000, true},
		{"X:Ints", 32764, false},
		{"X:Ints", 65535, true},
		{"X:Doubles", 8191, false},
		{"X:Doubles", 8192, true},
	} {
		c := w.dial()
		ch := c.mustOpen(x.name)
		c.mustSend(&cawire.ReadNotifyRequest{Type: ch.Type, Count: x.count, SID: ch.SID, IOID: 7})
		head := make([]byte, 16)
		got := 0
		for got < 16 {
			n, err := c.conn.Read(head[got:])
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		if long := binary.BigEndian.Uint16(head[2:]) == 0xFFFF; long != x.long {
			t.Errorf("%s[%d]: long header %v, want %v", x.name, x.count, long, x.long)
		}

		old := dialTester(t, w.server.Addr().String(), 8)
		ch = old.mustOpen(x.name)
		if ch.Count > 0xFFFE {
			t.Errorf("%s has %d elements for an old client", x.name, ch.Count)
		}
		old.mustSend(&cawire.ReadNotifyRequest{Type: ch.Type, Count: x.count, SID: ch.SID, IOID: 7})
		switch m := old.mustReceive().(type) {
		case *cawire.ReadNotifyReply:
			if x.long {
				t.Errorf("%s[%d]: an old client got a long header", x.name, x.count)
			}
		case *cawire.ErrorReply:
			if !x.long || m.Status != cawire.ECA16KArrayClient {
				t.Errorf("%s[%d]: %v", x.name, x.count, m.Status)
			}
		}
	}
}

func TestCA21RareTypes(t *testing.T) {
	w := newWorld(t, float("level", rw))
	open := func() (*tester, uint32) { c := w.dial(); return c, c.mustOpen("X:Level").SID }

	c, sid := open()
	if _, v, _ := c.values(sid, cawire.DBRClassName, 1); v.Strings[0] != "ao" {
		t.Errorf("the class is %q", v.Strings)
	}
	if meta, v, _ := c.values(sid, cawire.DBRStsAckString, 1); meta.Severity != cawire.InvalidAlarm || !meta.AckT || v.Strings[0] != "0.000000" {
		t.Errorf("STSACK_STRING is %+v %q", meta, v.Strings)
	}
	for _, typ := range []cawire.Type{cawire.DBRPutAckT, cawire.DBRPutAckS} {
		if _, _, reply := c.values(sid, typ, 1); reply.Status != cawire.ECAGetFail {
			t.Errorf("reading %v: %v", typ, reply.Status)
		}
	}
	for typ := cawire.DBRStsString; typ <= cawire.DBRClassName; typ++ {
		status, err := c.write(sid, typ, 1, make([]byte, cawire.Pad(int(typ.Size(1)))))
		if status != cawire.ECAPutFail || err != nil {
			t.Errorf("putting %v with a callback: %v, %v", typ, status, err)
		}
	}
	for typ := cawire.DBRStsString; typ < cawire.DBRPutAckT; typ++ {
		c.mustSend(&cawire.WriteRequest{Type: typ, Count: 1, SID: sid, Payload: make([]byte, cawire.Pad(int(typ.Size(1))))})
	}
	if got := c.text("X:Level"); got != "0.000000" && got != cawire.ECAPutFail.String() {
		t.Errorf("after plain puts it reads %q", got)
	}
	for _, typ := range []cawire.Type{cawire.DBRPutAckT, cawire.DBRPutAckS} {
		c.mustSend(&cawire.WriteRequest{Type: typ, Count: 1, SID: sid, Payload: make([]byte, 8)})
		if e := until[*cawire.ErrorReply](c, func(e *cawire.ErrorReply) bool { return e.Request.Type == uint16(typ) }); e.Status != cawire.ECAPutFail {
			t.Errorf("putting %v: %v", typ, e.Status)
		}
	}
	for _, typ := range []cawire.Type{39, 500} {
		c, sid = open()
		c.mustSend(&cawire.ReadNotifyRequest{Type: typ, Count: 1, SID: sid, IOID: 1})
		c.wantClosed()
		c, sid = open()
		c.mustSend(&cawire.EventAdd{Type: typ, Count: 1, SID: sid, SubscriptionID: 1, Mask: 1})
		c.wantClosed()
		for _, request := range []cawire.Message{
			&cawire.ReadRequest{Type: typ, Count: 1, IOID: 1}, &cawire.WriteRequest{Type: typ, Count: 1, Payload: make([]byte, 8)},
		} {
			c, sid = open()
			if read, ok := request.(*cawire.ReadRequest); ok {
				read.SID = sid
			} else {
				request.(*cawire.WriteRequest).SID = sid
			}
			c.mustSend(request)
			if e := until[*cawire.ErrorReply](c, nil); e.Status != cawire.ECABadType {
				t.Errorf("type %d: %v", typ, e.Status)
			}
			c.wantClosed()
		}
		c, sid = open()
		if status, err := c.write(sid, typ, 1, make([]byte, 8)); status != cawire.ECABadType || err != nil {
			t.Errorf("putting type %d: %v, %v", typ, status, err)
		}
		c.wantClosed()
	}
	w.dial().mustOpen("X:Level")
}

func TestCA22BrokenMessages(t *testing.T) {
	w := newWorld(t, float("level", rw))
	header := func(h cawire.Header) []byte {
		b := binary.BigEndian.AppendUint16(nil, uint16(h.Command))
		b = binary.BigEndian.AppendUint16(b, uint16(h.PayloadSize))
		b = binary.BigEndian.AppendUint16(b, h.Type)
		b = binary.BigEndian.AppendUint16(b, uint16(h.Count))
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, h.Param1), h.Param2)
	}
	for name, x := range map[string]struct {
		bytes  []byte
		status cawire.Status
	}{
		"misaligned":      {append(header(cawire.Header{Command: cawire.CmdWrite, PayloadSize: 13, Type: 6, Count: 1, Param1: 1}), make([]byte, 13)...), cawire.ECAInternal},
		"unknown command": {header(cawire.Header{Command: 40}), cawire.ECAInternal},
		"obsolete":        {header(cawire.Header{Command: cawire.CmdSignal}), cawire.ECAInternal},
		"of a server":     {header(cawire.Header{Command: cawire.CmdAccessRights}), cawire.ECAInternal},
		"unknown channel": {header(cawire.Header{Command: cawire.CmdReadNotify, Type: 6, Count: 1, Param1: 99}), cawire.ECAInternal},
		"clearing none":   {header(cawire.Header{Command: cawire.CmdClearChannel, Param1: 99}), cawire.ECAInternal},
		"long name":       {append(header(cawire.Header{Command: cawire.CmdClientName, PayloadSize: 600}), bytes.Repeat([]byte{'a'}, 600)...), cawire.ECAInternal},
	} {
		c := w.dial()
		until[*cawire.Version](c, nil)
		if _, err := c.conn.Write(x.bytes); err != nil {
			t.Fatal(err)
		}
		e, err := c.receive()
		if err, ok := e.(*cawire.ErrorReply); !ok || err.Status != x.status {
			t.Errorf("%s: got %+v", name, e)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.wantClosed()
	}

	// Half a message waits, in a buffer that is not larger than what has come.
	c := w.dial()
	ch := c.mustOpen("X:Level")
	claim := cawire.Header{Command: cawire.CmdWrite, PayloadSize: 8 << 20, Type: 6, Count: 1 << 20, Param1: ch.SID}
	half, err := claim.Append(nil, cawire.MinorCurrent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.conn.Write(half); err != nil {
		t.Fatal(err)
	}
	w.dial().mustOpen("X:Level")

	// A message that is too large is skipped, and the circuit goes on.
	c = w.dial()
	ch = c.mustOpen("X:Level")
	size := defaultMaxArrayBytes + 2*frameSlack
	c.mustSend(&cawire.WriteRequest{Type: cawire.DBRChar, Count: uint32(size), SID: ch.SID, Payload: make([]byte, size)})
	if e := until[*cawire.ErrorReply](c, nil); e.Status != cawire.ECATooLarge {
		t.Errorf("a message of %d bytes: %v", size, e.Status)
	}
	if got := c.text("X:Level"); got != "0.000000" {
		t.Errorf("behind it, the value reads %q", got)
	}
}

func TestBeforeItsVersionAClientIsNotServed(t *testing.T) {
	w := newWorld(t, float("level", rw))
	conn, err := net.Dial("tcp", w.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := &tester{&rawClient{conn: conn, buf: make([]byte, 4096), circuit: cawire.NewCircuit(cawire.Client)}, t}
	t.Cleanup(c.close)
	_ = conn.SetDeadline(time.Now().Add(limit))
	echo, _ := (&cawire.Echo{}).Append(nil, 13)
	if _, err := conn.Write(echo); err != nil {
		t.Fatal(err)
	}
	if e := until[*cawire.ErrorReply](c, nil); e.Status != cawire.ECADefunct {
		t.Errorf("got %v", e.Status)
	}
	for _, v := range []cawire.Version{{Minor: 3}, {Minor: 13, Priority: 100}} {
		conn, err := net.Dial("tcp", w.server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := &tester{&rawClient{conn: conn, buf: make([]byte, 4096), circuit: cawire.NewCircuit(cawire.Client)}, t}
		t.Cleanup(c.close)
		_ = conn.SetDeadline(time.Now().Add(limit))
		c.mustSend(&v)
		c.wantClosed()
	}
}

func TestNamesComeBeforeTheFirstChannel(t *testing.T) {
	w := newWorld(t, float("level", rw))
	c := w.dial()
	c.mustOpen("X:Level")
	c.mustSend(&cawire.ClientName{Name: []byte("other")})
	if e := until[*cawire.ErrorReply](c, nil); e.Status != cawire.ECAInternal {
		t.Errorf("got %v", e.Status)
	}
	sid := c.mustOpen("X:Level").SID
	if _, err := c.write(sid, cawire.DBRDouble, 1, encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})); err != nil {
		t.Fatal(err)
	}
	caller := w.device.Puts()[0].Caller
	if caller.Identity != "tester" || !strings.HasPrefix(caller.Peer, "testhost (127.0.0.1:") || caller.Protocol != protocol {
		t.Errorf("the put came from %+v", caller)
	}
}

func TestCA29Names(t *testing.T) {
	long := strings.Repeat("a", 57) // X: and 57 letters are 59
	w := newWorld(t, float("level", r), float(long, r), float(long+"bcd", r))
	c := w.dial()
	for name, want := range map[string]bool{
		"X:Level": true, "X:Level.VAL": true, "X:Level.": true, "x:level": false, "X:LEVEL": false, "X:Level.NOPE": false,
		"X:Level.val": false, "X:Level.VAL.VAL": false, "X": false, ".": false, strings.Repeat("n", 1400): false,
		"X:A" + long[1:]: true, "X:A" + long[1:] + "bcd": false,
	} {
		if found, err := c.find(name); found != want || err != nil {
			t.Errorf("%.40s: found %v, %v", name, found, err)
		}
	}
	if _, err := c.open(strings.Repeat("n", 60000)); err != errNoChannel { //nolint:errorlint // It is not wrapped.
		t.Errorf("a name of 60,000 bytes: %v", err)
	}
	first, second := c.mustOpen("X:Level"), c.mustOpen("X:Level.VAL")
	if first.Type != second.Type || first.Count != second.Count {
		t.Errorf("%+v and %+v differ", first, second)
	}
}

func TestCA54EchoIsAnsweredWhateverElseWaits(t *testing.T) {
	w := newWorld(t, float("target", rw), attribute("wave", r, gateway.Type{Kind: gateway.Float64, Shape: []int{250_000}}))
	w.update(change("wave", gateway.ArrayOf(make([]float64, 250_000))))
	w.device.OnPut(func(*hubtest.Device, *gateway.Put) {}) // never
	c := w.dial()
	sid, wave := c.mustOpen("X:Target").SID, c.mustOpen("X:Wave").SID
	one := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})
	c.mustSend(
		&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: 1, Payload: one},
		&cawire.WriteRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, Payload: one},
		&cawire.ReadNotifyRequest{Type: cawire.DBRDouble, Count: 250_000, SID: wave, IOID: 2},
		&cawire.ReadNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: 3},
		&cawire.Echo{Param1: 4711},
	)
	if e := until[*cawire.Echo](c, nil); e.Param1 != 4711 {
		t.Errorf("got %+v", e)
	}
}

func TestTooManyCircuits(t *testing.T) {
	w := newWorldWith(t, Config{Circuits: 2}, float("level", r))
	first := w.dial()
	first.mustOpen("X:Level")
	second := w.dial()
	second.mustOpen("X:Level")
	third, err := dialRaw(w.server.Addr().String(), 13)
	if err == nil {
		(&tester{third, t}).wantClosed()
		third.close()
	}
	first.mustOpen("X:Level")
	if status := fmt.Sprintf("%+v", w.server.Status()); !strings.Contains(status, "TurnedAway:1") {
		t.Errorf("the status is %s", status)
	}
}
