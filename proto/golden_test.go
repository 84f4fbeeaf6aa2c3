package proto

import (
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polygate/gateway"
)

// The bytes come from Google's implementation for Python (upb, written in C);
// testdata/golden.py made them.
func TestBytesOfAnotherImplementation(t *testing.T) {
	o := gateway.Owner{Device: "oven", Instance: "i1", Term: 7}
	id := gateway.PutID{Hub: 1, N: 2}
	at := time.Unix(1764504000, 123456789).UTC()
	enum := gateway.Type{
		Kind: gateway.Enum, PrecisionSet: true,
		States: []gateway.State{{Label: "Off"}, {Label: "On", Raw: "17", Severity: gateway.Minor}},
	}
	update := &gateway.Update{Owner: o, Revision: 300, Samples: []gateway.SampleUpdate{
		{Index: 200, Role: gateway.Readback, Sample: &gateway.Sample{
			Value: gateway.Of(int64(-(1 << 53) - 1)), Time: gateway.TimeOf(at), LastGood: gateway.TimeOf(at.Add(-time.Second)),
			Alarm: gateway.Alarm{Severity: gateway.Major, Status: gateway.StatusHiHi, Text: "zu heiß"},
			Seq:   1764504000123456, Mask: gateway.MaskValue | gateway.MaskAlarm,
		}},
		{Role: gateway.Setpoint, Accepts: gateway.PutID{Hub: math.MaxUint64, N: 3}, Sample: &gateway.Sample{
			Value: gateway.ArrayOf([]float64{1.5, math.Inf(1), math.Copysign(0, -1)}),
		}},
		{Index: 1, Role: gateway.Readback, Sample: &gateway.Sample{Value: gateway.ArrayOf([]int16{-32768, 0, 32767}), Seq: 2}},
	}}
	announcement := &gateway.Announcement{
		Owner: o, Revision: 1, Pieces: 1, Info: gateway.DeviceInfo{Driver: "serial"},
		State: gateway.DeviceState{Owner: o, Revision: 1, Connected: true, Since: time.Unix(0, 1).UTC(), Stale: []uint32{0, 300}},
		Attributes: []gateway.Announced{{
			Descriptor: &gateway.Descriptor{
				Path: "oven.mode", Annotations: map[string]string{"ca.name": "OVEN:Mode"},
				Traits: &gateway.Traits{
					Access: gateway.AccessReadWrite,
					Type:   enum,
					Poll:   200 * time.Millisecond,
				},
			},
			Readback: &gateway.Sample{Value: gateway.EnumOf(0), Seq: 9}, Setpoint: &gateway.Sample{},
		}},
	}
	state := &gateway.DeviceState{Owner: o, Leaving: true, Words: "stopped"}
	put := &gateway.Put{
		ID: id, To: o,
		PutRequest: gateway.PutRequest{Path: "oven.mode", Value: gateway.EnumOf(1), Budget: 10 * time.Second, Mode: gateway.Latest, Urgent: true},
		Caller:     gateway.Caller{Protocol: "ca", Peer: "127.0.0.1:5064"},
	}
	verdict := &gateway.PutVerdict{Owner: o, ID: id, Revision: 1, Verdict: gateway.Verdict{
		Stage: gateway.StageSent,
		Err:   &gateway.Error{Kind: gateway.KindRefusedByDevice, Stage: gateway.StageSent, Msg: "no", DeviceWords: "ERR 5"},
	}}
	golden := readGolden(t)
	for name, c := range map[string]struct {
		want   any
		decode func(*Decoder, []byte) (any, error)
		append func() ([]byte, error)
	}{
		"update":       {update, decodeUpdate, func() ([]byte, error) { return AppendUpdate(nil, update) }},
		"announcement": {announcement, decodeAnnouncement, func() ([]byte, error) { return AppendAnnouncement(nil, announcement) }},
		"state":        {state, decodeDeviceState, func() ([]byte, error) { return AppendDeviceState(nil, state) }},
		"put":          {put, decodePut, func() ([]byte, error) { return AppendPut(nil, put) }},
		"verdict":      {verdict, decodePutVerdict, func() ([]byte, error) { return AppendPutVerdict(nil, verdict) }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.decode(new(Decoder), golden[name])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, compareValues); diff != "" {
				t.Error(diff)
			}
			if b, err := c.append(); err != nil || string(b) != string(golden[name]) {
				t.Errorf("%v\n got %x\nwant %x", err, b, golden[name])
			}
		})
	}
}

func readGolden(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	golden := make(map[string][]byte)
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		if golden[name], err = hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
	}
	return golden
}
