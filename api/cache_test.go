package api

import (
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

func snapshot(seq uint64) *gateway.Attribute {
	at := gateway.TimeOf(time.Unix(int64(seq), 0))
	return &gateway.Attribute{
		Descriptor: &gateway.Descriptor{Path: "oven.count", Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Int64}}},
		Readback:   &gateway.Sample{Value: gateway.Of(int64(seq)), Time: at, LastGood: at, Seq: seq},
		Standing:   &gateway.Standing{},
	}
}

func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

func TestASampleIsEncodedOnceForAllReaders(t *testing.T) {
	c := newCache()
	older, newer := snapshot(1), snapshot(2)
	sample := func(of *gateway.Attribute, opts gateway.JSONOptions) *encodedSample {
		return c.sample(&gateway.Event{Type: gateway.EventSample, Role: gateway.Readback, Attribute: of, Cursor: gateway.Cursor{Epoch: 1, N: of.Readback.Seq}}, opts)
	}
	for _, opts := range []gateway.JSONOptions{{}, {IntsAsText: true}} {
		first := sample(newer, opts)
		if first != sample(newer, opts) {
			t.Errorf("%+v: a sample was encoded twice", opts)
		}
		if behind := sample(older, opts); !strings.Contains(string(behind.json), `"seq":1`) {
			t.Errorf("a reader that is behind got %s", behind.json)
		}
		if first != sample(newer, opts) {
			t.Errorf("%+v: a reader that is behind took the newest from the others", opts)
		}
		whole, err := c.attribute(newer, opts)
		again, err2 := c.attribute(newer, opts)
		if err != nil || err2 != nil || !same(whole, again) {
			t.Errorf("%+v: an attribute was encoded twice, %v, %v", opts, err, err2)
		}
	}
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.wantOK(w.get("/attributes/oven.ramp"))
	w.wantOK(w.get("/attributes"))
	w.Device.Redescribe(frontendtest.OvenDescriptors()[:1]...)
	w.Settle()
	w.wantProblem(w.get("/attributes/oven.ramp"), 404, "not_found")
	w.server.cache.mu.RLock()
	defer w.server.cache.mu.RUnlock()
	if w.server.cache.entries["oven.ramp"] != nil {
		t.Error("the encoding of an attribute that is gone is kept")
	}
}
