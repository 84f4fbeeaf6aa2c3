package ca

import (
	"context"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestCA57WriteThenReadDoesNotWaitForAcknowledgements(t *testing.T) {
	w := newWorld(t, float("target", rw))
	c := w.dial()
	sid := c.mustOpen("X:Target").SID
	for i := range 1000 { // 40 s if each took the 40 ms of a delayed acknowledgement
		start := time.Now()
		c.mustSend(&cawire.WriteRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, Payload: encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{float64(i)}})})
		// On a machine that stands still for so long a read need not wait.
		if _, v, _ := c.values(sid, cawire.DBRDouble, 1); v.Doubles[0] != float64(i) && time.Since(start) < acceptance {
			t.Fatalf("wrote %d and read %v", i, v.Doubles)
		}
	}
}

func TestWhatIsAskedBehindAPutWaitsForItsAcceptance(t *testing.T) {
	const double = cawire.DBRDouble
	value := encode(double, 1, cawire.Values{Doubles: []float64{7}})
	for name, x := range map[string]struct {
		put  func(sid uint32) cawire.Message
		ask  func(sid uint32) cawire.Message
		mode gateway.Mode
	}{
		"plain put and read": {
			func(sid uint32) cawire.Message {
				return &cawire.WriteRequest{Type: double, Count: 1, SID: sid, Payload: value}
			},
			func(sid uint32) cawire.Message {
				return &cawire.ReadNotifyRequest{Type: double, Count: 1, SID: sid, IOID: 1}
			},
			gateway.Latest,
		},
		"put with callback and read": {
			func(sid uint32) cawire.Message {
				return &cawire.WriteNotifyRequest{Type: double, Count: 1, SID: sid, IOID: 2, Payload: value}
			},
			func(sid uint32) cawire.Message {
				return &cawire.ReadNotifyRequest{Type: double, Count: 1, SID: sid, IOID: 1}
			},
			gateway.Each,
		},
		"plain put and subscription": {
			func(sid uint32) cawire.Message {
				return &cawire.WriteRequest{Type: double, Count: 1, SID: sid, Payload: value}
			},
			func(sid uint32) cawire.Message {
				return &cawire.EventAdd{Type: double, Count: 1, SID: sid, SubscriptionID: 3, Mask: cawire.DBEValue}
			},
			gateway.Latest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, float("target", rw))
			held := make(chan *gateway.Put, 1)
			w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { held <- p })
			c := w.dial()
			sid := c.mustOpen("X:Target").SID
			start := time.Now()
			c.mustSend(x.put(sid), x.ask(sid))
			put := <-held
			if put.Mode != x.mode {
				t.Errorf("the put has mode %v, want %v", put.Mode, x.mode)
			}
			w.device.Accept(put) // the device has not answered
			if got := firstDouble(c); got != 7 && time.Since(start) < acceptance {
				t.Errorf("it is %v", got)
			}
		})
	}
}

// firstDouble waits for the first answer to a read or the first event.
func firstDouble(c *tester) float64 {
	c.t.Helper()
	for {
		var payload []byte
		switch m := c.mustReceive().(type) {
		case *cawire.ReadNotifyReply:
			payload = m.Payload
		case *cawire.Event:
			payload = m.Payload
		default:
			continue
		}
		var v cawire.Values
		if err := cawire.DecodeDBR(cawire.DBRDouble, 1, payload, nil, &v); err != nil {
			c.t.Fatal(err)
		}
		return v.Doubles[0]
	}
}

func TestCA47CA49PutsAreOnTheirOwn(t *testing.T) {
	w := newWorld(t, float("target", rw), float("stop", rw))
	puts := make(chan *gateway.Put, 100)
	w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { puts <- p })
	c := w.dial()
	target, stop := c.mustOpen("X:Target").SID, c.mustOpen("X:Stop").SID
	value := func(f float64) []byte { return encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{f}}) }
	c.mustSend(
		&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: target, IOID: 1, Payload: value(1)},
		&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: target, IOID: 2, Payload: value(2)},
		&cawire.WriteRequest{Type: cawire.DBRDouble, Count: 1, SID: stop, Payload: value(3)},
		&cawire.ReadNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: target, IOID: 3},
	)
	first, second, third := <-puts, <-puts, <-puts
	if first.Value.Float() != 1 || second.Value.Float() != 2 || third.Path != "x.stop" || first.Mode != gateway.Each || third.Mode != gateway.Latest {
		t.Errorf("the device got %+v, %+v, %+v", first.PutRequest, second.PutRequest, third.PutRequest)
	}
	if m := until[*cawire.ReadNotifyReply](c, nil); m.IOID != 3 {
		t.Errorf("a read behind puts that wait: %+v", m)
	}
	hubtest.Comply(w.device, first)
	if m := until[*cawire.WriteNotifyReply](c, nil); m.IOID != 1 || m.Status != cawire.ECANormal {
		t.Errorf("got %+v", m)
	}
	w.device.Reject(second, "no")
	if m := until[*cawire.WriteNotifyReply](c, nil); m.IOID != 2 || m.Status != cawire.ECAPutFail {
		t.Errorf("got %+v", m)
	}
}

func TestAPutOutlivesItsClient(t *testing.T) {
	w := newWorld(t, float("target", rw))
	puts := make(chan *gateway.Put, 1)
	w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { puts <- p })
	c := w.dial()
	sid := c.mustOpen("X:Target").SID
	c.mustSend(&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: 1, Payload: encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{5}})})
	put := <-puts
	c.close()
	hubtest.Comply(w.device, put)
	w.Settle()
	if got := w.Attribute("x.target").Readback.Value.Float(); got != 5 {
		t.Errorf("the readback is %v", got)
	}
}

func TestStopSaysTheVerdictsThatThereAre(t *testing.T) {
	w := newWorld(t, float("target", rw))
	puts := make(chan *gateway.Put, 1)
	w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { puts <- p })
	c := w.dial()
	sid := c.mustOpen("X:Target").SID
	c.mustSend(&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: 1, Payload: encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{5}})})
	hubtest.Comply(w.device, <-puts)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := w.Hub.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if m := until[*cawire.WriteNotifyReply](c, nil); m.Status != cawire.ECANormal {
		t.Errorf("got %+v", m)
	}
	c.wantClosed()
}

func TestMorePutsThanMayBeUnderWayWaitInTheConnection(t *testing.T) {
	const all = maxPuts/2 + 100 // of each sort
	w := newWorld(t, float("target", rw))
	puts := make(chan *gateway.Put, 2*all)
	w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { puts <- p })
	c := w.dial()
	sid := c.mustOpen("X:Target").SID
	for i := range all {
		value := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{float64(i)}})
		c.mustSend(
			&cawire.WriteNotifyRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: uint32(i + 1), Payload: value},
			&cawire.WriteRequest{Type: cawire.DBRDouble, Count: 1, SID: sid, Payload: value},
		)
	}
	var first []*gateway.Put
	for range maxPuts {
		first = append(first, <-puts)
	}
	w.Settle()
	if n := len(puts); n != 0 {
		t.Errorf("%d puts more than may be are under way", n)
	}
	for _, p := range first {
		hubtest.Comply(w.device, p)
	}
	for range 2*all - maxPuts {
		hubtest.Comply(w.device, <-puts)
	}
	for range all {
		if m := until[*cawire.WriteNotifyReply](c, nil); m.Status != cawire.ECANormal {
			t.Fatalf("put %d: %v", m.IOID, m.Status)
		}
	}
	if _, v, _ := c.values(sid, cawire.DBRDouble, 1); v.Doubles[0] != all-1 {
		t.Errorf("the last value is %v, want %v", v.Doubles[0], all-1)
	}
}

func TestStopDoesNotWaitForRoom(t *testing.T) {
	w := newWorld(t, float("target", rw))
	puts := make(chan *gateway.Put, maxPuts)
	w.device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { puts <- p })
	c := w.dial()
	sid := c.mustOpen("X:Target").SID
	for i := range maxPuts + 1 {
		c.mustSend(&cawire.WriteNotifyRequest{
			Type: cawire.DBRDouble, Count: 1, SID: sid, IOID: uint32(i + 1), Payload: encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{5}}),
		})
	}
	for range maxPuts {
		<-puts
	}
	w.stop()
	c.wantClosed()
}
