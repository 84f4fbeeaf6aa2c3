package ca

import (
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// BenchmarkGet is one read over loopback, from the client's side.
func BenchmarkGet(b *testing.B) {
	w := newWorld(b, float("level", r))
	w.update(change("level", gateway.Of(1.5)))
	c := w.dial()
	sid := c.mustOpen("X:Level").SID
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.read(sid, cawire.DBRTimeDouble, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIOC is the same with softIoc in our place.
func BenchmarkIOC(b *testing.B) {
	port := startIOC(b, `record(ao, "X:Level") { field(VAL, 1.5) field(PINI, YES) }`)
	c := dialTester(b, "127.0.0.1:"+port, cawire.MinorCurrent)
	sid := c.mustOpen("X:Level").SID
	value := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})
	b.Run("Get", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.read(sid, cawire.DBRTimeDouble, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Put", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.write(sid, cawire.DBRDouble, 1, value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPut is one put with a callback to a device that answers at once.
func BenchmarkPut(b *testing.B) {
	w := newWorld(b, float("target", rw))
	c := w.dial()
	sid := c.mustOpen("X:Target").SID
	value := encode(cawire.DBRDouble, 1, cawire.Values{Doubles: []float64{1}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.write(sid, cawire.DBRDouble, 1, value); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvent is one update to 100 subscriptions on ten circuits, until the
// last client has it.
func BenchmarkEvent(b *testing.B) {
	const circuits, each = 10, 10
	w := newWorld(b, float("level", r))
	var clients []*tester
	for range circuits {
		c := w.dial()
		sid := c.mustOpen("X:Level").SID
		for range each {
			c.subscribe(sid, cawire.DBRTimeDouble, cawire.DBEValue)
		}
		for range each {
			until[*cawire.Event](c, nil)
		}
		clients = append(clients, c)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		w.device.Set("x.level", gateway.Of(float64(n)))
		for _, c := range clients {
			for range each {
				until[*cawire.Event](c, nil)
			}
		}
	}
}

// BenchmarkEncode is the payload of a sample that nobody has asked for before, and
// one that is kept.
func BenchmarkEncode(b *testing.B) {
	w := newWorld(b, float("level", r))
	w.update(change("level", gateway.Of(1.5)))
	a := w.Attribute("x.level")
	target, _ := w.server.directory.find("X:Level")
	var scratch cawire.Values
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			target.encodeNow(cawire.DBRTimeDouble, 1, a, &scratch)
		}
	})
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			target.encode(cawire.DBRTimeDouble, 1, a, &scratch)
		}
	})
}
