package ca

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
)

const everyMask = cawire.DBEValue | cawire.DBELog | cawire.DBEAlarm | cawire.DBEProperty

// collect receives events up to the answer to an echo behind them, by subscription.
func (c *tester) collect() map[uint32][]*cawire.Event {
	c.t.Helper()
	found := map[uint32][]*cawire.Event{}
	mark := c.id()
	c.mustSend(&cawire.Echo{Param1: mark})
	for {
		switch m := c.mustReceive().(type) {
		case *cawire.Event:
			found[m.SubscriptionID] = append(found[m.SubscriptionID], m)
		case *cawire.Echo:
			if m.Param1 == mark {
				return found
			}
		}
	}
}

// A marker is a second attribute whose events show that all earlier ones have come.
const markerName = "marker"

// listen subscribes with each mask, and takes the first events.
func (w *world) listen(c *tester, name string, typ cawire.Type, masks ...cawire.Mask) (ids []uint32) {
	w.t.Helper()
	sid := c.mustOpen(name).SID
	for _, mask := range masks {
		id := c.subscribe(sid, typ, mask)
		until(c, func(e *cawire.Event) bool { return e.SubscriptionID == id })
		ids = append(ids, id)
	}
	return ids
}

// eventsOf returns what came for each subscription until the marker's next value.
func (w *world) eventsOf(c *tester, n float64) map[uint32][]*cawire.Event {
	w.t.Helper()
	w.update(change(markerName, gateway.Of(n)))
	sid := c.mustOpenQuietly("X:Marker")
	id := c.subscribe(sid.SID, cawire.DBRDouble, cawire.DBEValue)
	found := map[uint32][]*cawire.Event{}
	for _, e := range sid.early {
		found[e.SubscriptionID] = append(found[e.SubscriptionID], e)
	}
	for {
		e := until[*cawire.Event](c, nil)
		if e.SubscriptionID == id {
			c.mustSend(&cawire.EventCancel{Type: cawire.DBRDouble, SID: sid.SID, SubscriptionID: id})
			until[*cawire.EventCancelReply](c, nil)
			return found
		}
		found[e.SubscriptionID] = append(found[e.SubscriptionID], e)
	}
}

type quiet struct {
	*cawire.CreateChanReply
	early []*cawire.Event
}

// mustOpenQuietly opens a channel and keeps the events that come before it is open.
func (c *tester) mustOpenQuietly(name string) quiet {
	c.t.Helper()
	cid := c.id()
	c.mustSend(&cawire.CreateChanRequest{CID: cid, Minor: c.minor, Name: []byte(name)})
	var q quiet
	for {
		switch m := c.mustReceive().(type) {
		case *cawire.Event:
			q.early = append(q.early, m)
		case *cawire.CreateChanReply:
			q.CreateChanReply = m
			return q
		}
	}
}

func TestCA36AlarmsWithoutANewValue(t *testing.T) {
	w := newWorld(t, float("level", r), float(markerName, r))
	w.update(change("level", gateway.Of(5.0)))
	c := w.dial()
	ids := w.listen(c, "X:Level", cawire.DBRTimeDouble,
		cawire.DBEValue|cawire.DBEAlarm, cawire.DBEAlarm, cawire.DBEValue, cawire.DBELog)
	w.device.SetState(false, "unplugged")
	w.Settle()
	w.device.SetState(true, "")
	w.Settle()
	found := w.eventsOf(c, 1)
	for i, want := range []int{2, 2, 0, 0} {
		events := found[ids[i]]
		if len(events) != want {
			t.Errorf("subscription %d got %d events, want %d", i, len(events), want)
			continue
		}
		for j, e := range events {
			meta, v := doubles(t, e)
			if severity := []cawire.Severity{cawire.InvalidAlarm, cawire.NoAlarm}[j]; meta.Severity != severity || v[0] != 5 {
				t.Errorf("subscription %d, event %d: %v %v, want 5 and %v", i, j, v, meta.Severity, severity)
			}
		}
	}
}

func TestCA37MasksAreHonoured(t *testing.T) {
	w := newWorld(t, float("level", r), float(markerName, r))
	c := w.dial()
	ids := w.listen(c, "X:Level", cawire.DBRDouble, cawire.DBEValue, cawire.DBELog, cawire.DBEAlarm, cawire.DBEProperty)
	// The driver judges the dead-bands: it says which change this is.
	same := change("level", gateway.Of(0.4))
	same.Same = true
	w.update(same) // within both
	w.update(change("level", gateway.Of(2.1)))
	found := w.eventsOf(c, 1)
	for i, want := range []int{1, 1, 0, 0} {
		if got := len(found[ids[i]]); got != want {
			t.Errorf("mask %v: %d events, want %d", []string{"VALUE", "LOG", "ALARM", "PROPERTY"}[i], got, want)
		}
	}
}

func TestCA39PropertiesThatReallyChange(t *testing.T) {
	describe := func(hihi float64, units string) *gateway.Descriptor {
		d := float("level", r)
		d.Units = units
		d.Alarm.HiHi = gateway.Level{Limit: gateway.At(hihi), Severity: gateway.Major}
		return d
	}
	marker := float(markerName, r)
	w := newWorld(t, describe(50, "K"), marker)
	c := w.dial()
	ids := w.listen(c, "X:Level", cawire.DBRCtrlDouble, cawire.DBEProperty, cawire.DBEProperty, cawire.DBEValue)
	for range 5 {
		w.device.Redescribe(describe(50, "K"), marker)
	}
	w.device.Redescribe(describe(60, "K"), marker)
	w.device.Redescribe(describe(60, "degC"), marker)
	w.Settle()
	found := w.eventsOf(c, 1)
	for _, id := range ids[:2] {
		events := found[id]
		if len(events) != 2 {
			t.Fatalf("%d events, want one for each real change", len(events))
		}
		first, _ := doubles(t, events[0])
		second, _ := doubles(t, events[1])
		if first.Limits.UpperAlarm != 60 || first.Units != "K" || second.Units != "degC" {
			t.Errorf("got %+v and %+v", first, second)
		}
	}
	if n := len(found[ids[2]]); n != 0 {
		t.Errorf("a value monitor got %d events", n)
	}
}

func TestCA41MetadataComesWithEveryEvent(t *testing.T) {
	d := float("level", r)
	d.Units, d.Display = "mm", gateway.Range{Low: gateway.At(-1), High: gateway.At(9)}
	w := newWorld(t, d, attribute("mode", r, states(3, func(i int) string { return string(rune('a' + i)) })), float(markerName, r))
	c := w.dial()
	ctrl := w.listen(c, "X:Level", cawire.DBRCtrlDouble, everyMask)[0]
	gr := w.listen(c, "X:Level", cawire.DBRGrShort, everyMask)[0]
	enum := w.listen(c, "X:Mode", cawire.DBRCtrlEnum, everyMask)[0]
	for i := range 5 {
		w.update(change("level", gateway.Of(float64(i))), change("mode", gateway.EnumOf(i%3)))
	}
	found := w.eventsOf(c, 1)
	for _, id := range []uint32{ctrl, gr, enum} {
		if len(found[id]) != 5 {
			t.Errorf("%d events, want 5", len(found[id]))
		}
		for _, e := range found[id] {
			meta, _ := doubles(t, e)
			if id == enum && !slices.Equal(meta.States, []string{"a", "b", "c"}) ||
				id != enum && (meta.Units != "mm" || meta.Limits.UpperDisplay != 9 || meta.Limits.LowerDisplay != -1) {
				t.Errorf("an event of %v has %+v", e.Type, meta)
			}
		}
	}
}

func TestCA42EventsOffAndOnLoseNothing(t *testing.T) {
	const n = 20
	var list []*gateway.Descriptor
	for i := range n {
		list = append(list, float(fmt.Sprintf("v%d", i), r))
	}
	w := newWorld(t, list...)
	for range 20 {
		c := w.dial()
		var sids []uint32
		for i := range n {
			sids = append(sids, c.mustOpen(fmt.Sprintf("X:V%d", i)).SID)
		}
		var burst []cawire.Message
		missing := map[uint32]bool{}
		for _, sid := range sids {
			id := c.id()
			missing[id] = true
			burst = append(burst, &cawire.EventAdd{Type: cawire.DBRTimeDouble, SID: sid, SubscriptionID: id, Mask: everyMask})
		}
		burst = append(burst, &cawire.EventsOff{}, &cawire.EventsOn{}, &cawire.EventsOff{}, &cawire.EventsOn{})
		c.mustSend(burst...)
		for len(missing) > 0 {
			delete(missing, until[*cawire.Event](c, nil).SubscriptionID)
		}
		c.close()
	}
}

func TestEventsWaitWhileTheyAreOff(t *testing.T) {
	w := newWorld(t, float("level", r))
	c := w.dial()
	w.listen(c, "X:Level", cawire.DBRDouble, cawire.DBEValue)
	c.mustSend(&cawire.EventsOff{})
	c.collect() // the server knows
	for i := range 10 {
		w.update(change("level", gateway.Of(float64(i))))
	}
	if found := c.collect(); len(found) != 0 {
		t.Errorf("%d subscriptions got events that were off", len(found))
	}
	c.mustSend(&cawire.EventsOn{})
	for {
		if _, v := doubles(t, until[*cawire.Event](c, nil)); v[0] == 9 {
			break
		}
	}
}

func TestCA44NoEventFollowsItsCancel(t *testing.T) {
	w := newWorld(t, float("level", r))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			w.device.Set("x.level", gateway.Of(float64(i)))
			runtime.Gosched()
		}
	}()
	defer func() { cancel(); <-done }()
	c := w.dial()
	sid := c.mustOpen("X:Level").SID
	for range 50 {
		id := c.subscribe(sid, cawire.DBRTimeDouble, cawire.DBEValue)
		for range 3 {
			until[*cawire.Event](c, nil)
		}
		c.mustSend(&cawire.EventCancel{Type: cawire.DBRTimeDouble, SID: sid, SubscriptionID: id})
		reply := until[*cawire.EventCancelReply](c, nil)
		if reply.SubscriptionID != id || reply.Type != cawire.DBRTimeDouble || reply.SID != sid {
			t.Errorf("got %+v", reply)
		}
		if found := c.collect(); len(found) != 0 { // the client's state table refuses them as well
			t.Errorf("events came behind the confirmation")
		}
	}
	raw, _ := (&cawire.EventCancel{Type: cawire.DBRTimeDouble, SID: sid, SubscriptionID: 999}).Append(nil, 13)
	if _, err := c.conn.Write(raw); err != nil {
		t.Fatal(err)
	}
	if e := until[*cawire.ErrorReply](c, nil); e.Status != cawire.ECABadMonID {
		t.Errorf("cancelling what is not there: %v", e.Status)
	}
	c.wantClosed()
}

func TestCA46AClientThatNeverReadsCostsBoundedMemory(t *testing.T) {
	const elements = 131072 // 1 MB
	w := newWorld(t, attribute("wave", r, gateway.Type{Kind: gateway.Float64, Shape: []int{elements}}), float("level", r))
	slow, quick := w.dial(), w.dial()
	wave := slow.subscribe(slow.mustOpen("X:Wave").SID, cawire.DBRTimeDouble, cawire.DBEValue)
	level := slow.subscribe(slow.mustOpen("X:Level").SID, cawire.DBRTimeDouble, cawire.DBEValue)
	until(slow, func(e *cawire.Event) bool { return e.SubscriptionID == level })
	quickSID := quick.mustOpen("X:Level").SID
	const rounds = 60
	for i := range rounds {
		data := make([]float64, elements)
		data[0] = float64(i)
		w.update(change("wave", gateway.ArrayOf(data)), change("level", gateway.Of(float64(i))))
		if _, v, _ := quick.values(quickSID, cawire.DBRDouble, 1); v.Doubles[0] != float64(i) {
			t.Fatalf("the other client reads %v, want %d", v.Doubles, i)
		}
	}
	for _, status := range w.server.circuitStatus() {
		// What the queue may hold, and what has left it and waits for the socket.
		if status.Bytes > gateway.DefaultMaxBytes || status.Unsent > 2*gateway.DefaultMaxBytes+batch {
			t.Errorf("the client costs %d bytes in its queue and %d behind it", status.Bytes, status.Unsent)
		}
	}
	seen := map[uint32]float64{wave: -1, level: -1}
	for seen[wave] < rounds-1 || seen[level] < rounds-1 {
		e := until[*cawire.Event](slow, nil)
		_, v := doubles(t, e)
		if v[0] < seen[e.SubscriptionID] {
			t.Fatalf("it went back from %v to %v", seen[e.SubscriptionID], v[0])
		}
		seen[e.SubscriptionID] = v[0]
	}
}

func TestFieldsAreMonitored(t *testing.T) {
	d := float("level", r)
	w := newWorld(t, d, float(markerName, r))
	c := w.dial()
	severity := w.listen(c, "X:Level.SEVR", cawire.DBRString, cawire.DBEValue)[0]
	units := w.listen(c, "X:Level.EGU", cawire.DBRString, everyMask)[0]
	utag := w.listen(c, "X:Level.UTAG", cawire.DBRDouble, cawire.DBEValue)[0]
	high := change("level", gateway.Of(90.0))
	high.Alarm = gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh}
	w.update(change("level", gateway.Of(1.0)))
	w.update(change("level", gateway.Of(2.0)))
	w.update(high)
	described := float("level", r)
	described.Units = "V"
	w.device.Redescribe(described, float(markerName, r))
	w.Settle()
	found := w.eventsOf(c, 1)
	if got := textsOf(t, found[severity]); !slices.Equal(got, []string{"NO_ALARM", "MINOR"}) {
		t.Errorf("SEVR said %q", got)
	}
	if got := textsOf(t, found[units]); !slices.Equal(got, []string{"V"}) {
		t.Errorf("EGU said %q", got)
	}
	if len(found[utag]) != 3 {
		t.Errorf("UTAG said %d things", len(found[utag]))
	}
	_, v := doubles(t, found[utag][len(found[utag])-1])
	if want := w.Attribute("x.level").Readback.Seq; uint64(v[0]) != want {
		t.Errorf("UTAG is %v, want %d", v[0], want)
	}
}

func textsOf(t *testing.T, events []*cawire.Event) (list []string) {
	t.Helper()
	for _, e := range events {
		var v cawire.Values
		if err := cawire.DecodeDBR(e.Type, e.Count, e.Payload, nil, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v.Strings...)
	}
	return list
}

func TestAPayloadIsEncodedOnce(t *testing.T) {
	w := newWorld(t, float("level", r))
	w.update(change("level", gateway.Of(1.0)))
	target, _ := w.server.directory.find("X:Level")
	a := w.Attribute("x.level")
	var scratch cawire.Values
	first, _ := target.encode(cawire.DBRTimeDouble, 1, a, &scratch)
	second, _ := target.encode(cawire.DBRTimeDouble, 1, a, &scratch)
	if &first.data[0] != &second.data[0] {
		t.Error("it was encoded twice")
	}
	w.update(hubtest.Change{Path: "x.level", Role: gateway.Readback, Value: gateway.Of(2.0)})
	if third, _ := target.encode(cawire.DBRTimeDouble, 1, w.Attribute("x.level"), &scratch); &third.data[0] == &first.data[0] {
		t.Error("a new sample shows the old one")
	}
	if again, _ := target.encode(cawire.DBRTimeDouble, 1, a, &scratch); &again.data[0] == &first.data[0] {
		t.Error("what a late reader needs is kept")
	}
}

func TestAnArrayIsEncodedOnceForAllWhoAskForAllOfIt(t *testing.T) {
	w := newWorld(t, &gateway.Descriptor{Path: "x.wave", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{4}}}})
	w.update(change("wave", gateway.ArrayOf([]float64{1, 2, 3})))
	target, _ := w.server.directory.find("X:Wave")
	a := w.Attribute("x.wave")
	var scratch cawire.Values
	all, _ := target.encode(cawire.DBRDouble, 0, a, &scratch)
	exactly, _ := target.encode(cawire.DBRDouble, 3, a, &scratch)
	if &all.data[0] != &exactly.data[0] || exactly.count != 3 {
		t.Errorf("asked for all and for 3 of 3, got two payloads, of %d and %d elements", all.count, exactly.count)
	}
	for _, count := range []uint32{2, 4} {
		if p, status := target.encode(cawire.DBRDouble, count, a, &scratch); p.count != count || status != cawire.ECANormal {
			t.Errorf("asked for %d, got %d elements and %v", count, p.count, status)
		}
	}
}

func TestAMaskOfNoEventsEndsTheCircuit(t *testing.T) {
	w := newWorld(t, float("level", r))
	for _, mask := range []cawire.Mask{0, 0x100} {
		c := w.dial()
		c.subscribe(c.mustOpen("X:Level").SID, cawire.DBRDouble, mask)
		if got := until[*cawire.ErrorReply](c, nil).Status; got != cawire.ECAAllocMem {
			t.Errorf("mask %#x: %v", mask, got)
		}
		c.wantClosed()
	}
}
