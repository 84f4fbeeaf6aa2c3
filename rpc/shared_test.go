package rpc

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/polygate/gateway"
	wire "github.com/polygate/gateway/proto"
)

const waveLength = 1000

// waveEvent is an event of a large sample.
func waveEvent(first float64) *gateway.Event {
	elements := make([]float64, waveLength)
	elements[0] = first
	s := &gateway.Sample{Value: gateway.ArrayOf(elements), Seq: 1, Mask: gateway.MaskValue}
	d := &gateway.Descriptor{Path: "rig.wave", Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{waveLength}}}}
	return &gateway.Event{
		Type: gateway.EventSample, Watch: 1, Role: gateway.Readback, Mask: s.Mask,
		Attribute: &gateway.Attribute{Descriptor: d, Readback: s, Standing: &gateway.Standing{}},
	}
}

// benchEvents are n samples of n attributes, as counters make them.
func benchEvents(n int) []gateway.Event {
	events := make([]gateway.Event, n)
	now := time.Now()
	for i := range events {
		d := &gateway.Descriptor{Path: gateway.Path(fmt.Sprintf("TEST.CALC%05d", i)), Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Float64}}}
		s := &gateway.Sample{
			Value: gateway.Of(float64(i)), Time: gateway.TimeOf(now), LastGood: gateway.TimeOf(now), Seq: uint64(now.UnixMicro()),
			Alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh}, Mask: gateway.MaskValue,
		}
		events[i] = gateway.Event{
			Type: gateway.EventSample, Watch: 1, Role: gateway.Readback, Mask: s.Mask,
			Attribute: &gateway.Attribute{Descriptor: d, Readback: s, Standing: &gateway.Standing{}}, Cursor: gateway.Cursor{Epoch: 1 << 60, N: uint64(i)},
		}
	}
	return events
}

func TestLargeSamplesAreEncodedOnce(t *testing.T) {
	known := &shared{}
	first, second := &selection{}, &selection{}
	e := waveEvent(1)
	for _, s := range []*selection{first, second} {
		if _, err := (part{s, 0}).add(e, known); err != nil {
			t.Fatal(err)
		}
	}
	if &first.parts[0][0] != &second.parts[0][0] {
		t.Error("two clients have an encoding each")
	}
	newer := waveEvent(2)
	body, err := known.event(newer)
	if want, _ := wire.AppendEvent(nil, newer, false); err != nil || !bytes.Equal(body, want) {
		t.Errorf("a newer sample is not what is shared: %v", err)
	}
	// One who is behind gets his own again.
	body, err = known.event(e)
	if want, _ := wire.AppendEvent(nil, e, false); err != nil || !bytes.Equal(body, want) {
		t.Errorf("an older sample is not what is shared: %v", err)
	}
	// What nobody sends any more is not kept.
	runtime.GC()
	if body, err = known.event(e); err != nil || &body[0] == &first.parts[0][0] {
		t.Errorf("the encoding was kept: %v", err)
	}
}

// Parts that are shared stand in their place among the others.
func TestSharedPartsKeepTheOrder(t *testing.T) {
	lost := waveEvent(3)
	lost.Lost = 4 // this client's alone
	small := benchEvents(2)
	all := []*gateway.Event{waveEvent(1), &small[0], waveEvent(2), lost, &small[1]}
	s, want := &selection{options: make([]gateway.WatchOptions, 1)}, []byte(nil)
	for _, e := range all {
		if _, err := (part{s, 0}).add(e, &shared{}); err != nil {
			t.Fatal(err)
		}
		want, _ = wire.AppendEvent(want, e, false)
	}
	want = wire.AppendBatchEnd(want, all[len(all)-1].Cursor, 4)
	if got := slices.Concat(s.take()...); !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}
