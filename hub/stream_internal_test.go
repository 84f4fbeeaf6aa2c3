package hub

import (
	"testing"

	"github.com/polygate/gateway"
)

func newTestStream() (*stream, item) {
	s := newStream(New(nil, Options{}), gateway.Caller{}, gateway.StreamOptions{})
	attr := &gateway.Attribute{Descriptor: &gateway.Descriptor{Path: "dev.x", Traits: &gateway.Traits{}}, Readback: gateway.NeverRead, Standing: &gateway.Standing{}}
	return s, item{attr: attr, watch: &watch{stream: s, id: 1}, typ: gateway.EventSample, role: gateway.Readback}
}

func TestQueueOfAReaderThatKeepsUpIsReused(t *testing.T) {
	for _, events := range []int{1, 50, 5000} {
		s, it := newTestStream()
		var buf []gateway.Event
		round := func() {
			for range events {
				s.push(it, 128)
			}
			buf = s.Take(buf[:0])
		}
		for range 5 {
			round()
		}
		if n := testing.AllocsPerRun(10, round); n > 0 {
			t.Errorf("%d events at a time: %v allocations in the steady state", events, n)
		}
	}
}

func TestQueueOfABurstIsGivenBack(t *testing.T) {
	s, it := newTestStream()
	for range 10000 {
		s.push(it, 128)
	}
	s.Take(nil)
	if n := cap(s.queue) + cap(s.spare); n > 64 {
		t.Errorf("room for %d events is kept after a burst", n)
	}
}
