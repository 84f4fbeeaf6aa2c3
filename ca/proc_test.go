package ca

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
)

// A put to PROC is answered when the device has been read; who watches has the
// new value by then, and nothing was put.
func TestAPutToPROCReadsTheDevice(t *testing.T) {
	w := newWorld(t, float("level", r), float("target", rw))
	asked := make(chan *gateway.Put, 10)
	w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { asked <- p })
	c := w.dial()
	for name, readback := range map[string]string{"X:Level": "X:Level", "X:Target": "X:Target_RBV", "X:Target_RBV": "X:Target_RBV"} {
		proc, watched := c.mustOpen(name+".PROC").SID, c.mustOpen(readback).SID
		id := c.subscribe(watched, cawire.DBRDouble, cawire.DBEValue)
		until(c, func(e *cawire.Event) bool { return e.SubscriptionID == id })
		one := encode(cawire.DBRLong, 1, cawire.Values{Longs: []int32{1}})
		c.mustSend(&cawire.WriteNotifyRequest{Type: cawire.DBRLong, Count: 1, SID: proc, IOID: 1, Payload: one})
		put := <-asked
		if !put.Refresh || put.Value.Known() || put.Mode != gateway.Each {
			t.Errorf("%s: the driver got %+v", name, put)
		}
		_, before, _ := c.values(watched, cawire.DBRDouble, 1) // and nobody waits for the device
		w.device.Set(put.Path, gateway.Of(before.Doubles[0]+1))
		e := until(c, func(e *cawire.Event) bool { return e.SubscriptionID == id })
		if _, v := doubles(t, e); v[0] != before.Doubles[0]+1 {
			t.Errorf("%s: the monitor saw %v", name, v)
		}
		w.device.Finish(put, gateway.Verdict{Stage: gateway.StageVerified})
		if m := until[*cawire.WriteNotifyReply](c, nil); m.Status != cawire.ECANormal {
			t.Errorf("%s: got %+v", name, m)
		}
	}

	// One that fails is told so, and a plain one coalesces.
	proc := c.mustOpen("X:Level.PROC").SID
	one := encode(cawire.DBRString, 1, cawire.Values{Strings: []string{"1"}})
	c.mustSend(&cawire.WriteNotifyRequest{Type: cawire.DBRString, Count: 1, SID: proc, IOID: 2, Payload: one})
	err := gateway.Errorf(gateway.KindUnknownOutcome, "no answer")
	w.device.Finish(<-asked, gateway.Verdict{Stage: gateway.StageSent, Err: err})
	if m := until[*cawire.WriteNotifyReply](c, nil); m.Status != cawire.ECAPutFail {
		t.Errorf("a read that failed: %+v", m)
	}
	c.mustSend(&cawire.WriteRequest{Type: cawire.DBRString, Count: 1, SID: proc, Payload: one})
	if put := <-asked; !put.Refresh || put.Mode != gateway.Latest {
		t.Errorf("a plain one: %+v", put)
	}
	if a := w.Attribute("x.target"); a.Setpoint != gateway.NeverRead {
		t.Errorf("the setpoint became %+v", a.Setpoint)
	}
}

// caput to PROC is how people read a device that is polled slowly or never.
func TestCaputToPROC(t *testing.T) {
	repeater(t)
	w := newWorld(t, float("level", r))
	next := 1.0
	w.device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		d.Set(p.Path, gateway.Of(next))
		next++
		d.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	})
	env := searchEnv(w)
	monitor := start(t, env, epicsTool(t, "camonitor"), "X:Level")
	monitor.until(t, func(s string) bool { return strings.Contains(s, "UDF") })
	for _, want := range []string{"1", "2"} {
		run(t, env, epicsTool(t, "caput"), "-c", "X:Level.PROC", "1")
		if got := run(t, env, epicsTool(t, "caget"), "-t", "X:Level"); strings.TrimSpace(got) != want {
			t.Errorf("caget prints %q, want %s", got, want)
		}
		monitor.until(t, func(s string) bool { return strings.Contains(s, " "+want+" ") })
	}
}

// searchEnv is the environment of a client that searches on the world's port.
func searchEnv(w *world) []string {
	search := w.server.SearchAddr().(*net.UDPAddr)
	return clientEnv("EPICS_CA_ADDR_LIST="+search.String(), fmt.Sprintf("EPICS_CA_SERVER_PORT=%d", search.Port))
}
