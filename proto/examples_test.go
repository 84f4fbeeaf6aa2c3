package proto

import (
	"math"
	"time"

	"github.com/polygate/gateway"
)

// The examples have every field set somewhere, and every field unset somewhere.

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
	owner = gateway.Owner{Device: "oven", Instance: "host-1-8kq", Term: 7}
)

// values holds one value of each kind, the extremes, and arrays.
func values() []gateway.Value {
	return []gateway.Value{
		{},
		gateway.Of(false), gateway.Of(true),
		gateway.Of(int8(math.MinInt8)), gateway.Of(int8(math.MaxInt8)),
		gateway.Of(int16(math.MinInt16)), gateway.Of(int16(math.MaxInt16)),
		gateway.Of(int32(math.MinInt32)), gateway.Of(int32(math.MaxInt32)),
		gateway.Of(int64(math.MinInt64)), gateway.Of(int64(math.MaxInt64)), gateway.Of(int64(1<<53 + 1)),
		gateway.Of(uint8(math.MaxUint8)), gateway.Of(uint16(math.MaxUint16)), gateway.Of(uint32(math.MaxUint32)),
		gateway.Of(uint64(math.MaxUint64)), gateway.Of(uint64(0)),
		gateway.Of(float32(1.1)), gateway.Of(float32(math.Inf(-1))),
		gateway.Of(0.0), gateway.Of(math.Copysign(0, -1)), gateway.Of(math.Pi), gateway.Of(math.NaN()), gateway.Of(math.Inf(1)),
		gateway.Of(""), gateway.Of("Temperatur 21 °C"), gateway.BytesOf(nil), gateway.BytesOf([]byte{0, 0xff, 0x80}),
		gateway.EnumOf(0), gateway.EnumOf(65535),
		gateway.ArrayOf([]bool{true, false}), gateway.ArrayOf([]int8{-128, 127}), gateway.ArrayOf([]int16{-32768, 0, 32767}),
		gateway.ArrayOf([]int32{math.MinInt32, 5}), gateway.ArrayOf([]int64{math.MinInt64, 1<<53 + 1}),
		gateway.ArrayOf([]uint8{0, 255}), gateway.ArrayOf([]uint16{65535}), gateway.ArrayOf([]uint32{math.MaxUint32}),
		gateway.ArrayOf([]uint64{math.MaxUint64, 0}), gateway.ArrayOf([]float32{1.5, -0.25}),
		gateway.ArrayOf([]float64{math.Pi, math.Inf(1)}), gateway.ArrayOf([]string{"", "a", "ü"}),
		gateway.ArrayOf([]int32(nil)), gateway.ArrayOf([]bool(nil)), gateway.ArrayOf([]string(nil)), gateway.ArrayOf([]uint8(nil)),
		gateway.ArrayOf(make([]float64, 2000)), gateway.ArrayOf(make([]int16, 20)),
		gateway.ArrayOf(make([]uint8, 1<<14)), gateway.ArrayOf(make([]uint16, 1<<15)),
	}
}

func exampleSample(v gateway.Value) *gateway.Sample {
	return &gateway.Sample{
		Value: v, Time: gateway.TimeOf(noon), LastGood: gateway.TimeOf(noon.Add(-time.Second)),
		Alarm: gateway.Alarm{Severity: gateway.Major, Status: gateway.StatusHiHi, Text: "too hot"},
		Seq:   uint64(noon.UnixMicro()), Mask: gateway.MaskValue | gateway.MaskAlarm,
	}
}

func updates() []*gateway.Update {
	every := &gateway.Update{Owner: owner, Revision: 3, Samples: []gateway.SampleUpdate{}}
	for i, v := range values() {
		entry := gateway.SampleUpdate{Index: uint32(i), Role: gateway.Readback, Sample: exampleSample(v)}
		if i%2 == 1 {
			entry.Role, entry.Accepts = gateway.Setpoint, gateway.PutID{Hub: math.MaxUint64, N: uint64(i)}
		}
		every.Samples = append(every.Samples, entry)
	}
	return []*gateway.Update{
		every,
		{Owner: owner, Samples: []gateway.SampleUpdate{}},
		{Owner: owner, Revision: 1, Samples: []gateway.SampleUpdate{{Role: gateway.Readback, Sample: &gateway.Sample{}}}},
		{Owner: owner, Revision: 1, Samples: []gateway.SampleUpdate{{Index: 9, Role: gateway.Setpoint, Sample: gateway.NeverRead}}},
	}
}

func descriptor(path gateway.Path, access gateway.Access, kind gateway.Kind) *gateway.Descriptor {
	return &gateway.Descriptor{Path: path, Traits: &gateway.Traits{Access: access, Type: gateway.Type{Kind: kind}}}
}

func fullDescriptor() *gateway.Descriptor {
	return &gateway.Descriptor{
		Path: "oven.r1.start", Revision: 4, Description: "start of the ramp", Annotations: map[string]string{"ca.name": "OVEN:R1:Start", "b": "", "": "a"},
		Traits: &gateway.Traits{
			Access: gateway.AccessReadWrite,
			Type: gateway.Type{
				Kind: gateway.Float64, Shape: []int{3, 200}, MaxLength: 99, Units: "K", Precision: 0, PrecisionSet: true,
				Control: gateway.Range{Low: gateway.At(0), High: gateway.At(300)},
				States:  []gateway.State{{Label: "Off", Severity: gateway.Minor}, {Label: "On", Raw: "17"}},
			},
			Display: gateway.Range{High: gateway.At(-1)},
			Alarm: gateway.AlarmLevels{
				LoLo: gateway.Level{Limit: gateway.At(0), Severity: gateway.Major}, Low: gateway.Level{Severity: gateway.Minor},
				High: gateway.Level{Limit: gateway.At(2)}, HiHi: gateway.Level{Limit: gateway.At(3), Severity: gateway.Major}, Hysteresis: 0.5,
			},
			Deadband:    0.1,
			LogDeadband: -1,
			Always:      true,
			Poll:        200 * time.Millisecond,
		},
	}
}

func announcements() []*gateway.Announcement {
	run := descriptor("oven.run", gateway.AccessExecute, gateway.Bool)
	run.Argument = &gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "slow"}}}
	run.Result = &gateway.Type{Kind: gateway.String}
	full := &gateway.Announcement{
		Owner: owner, Revision: 4, Piece: 1, Pieces: 3, Offset: 70,
		Info: gateway.DeviceInfo{
			Description: "furnace", Driver: "serial", Link: "/dev/ttyUSB0 at 9600 8N1",
			Annotations: map[string]string{"ca.prefix": "OVEN"},
		},
		State: gateway.DeviceState{
			Owner: owner, Revision: 4, Connected: true, Since: noon, Words: "answers", Stale: []uint32{0, 3, 1 << 20},
		},
		Attributes: []gateway.Announced{
			{
				Descriptor: fullDescriptor(),
				Readback:   exampleSample(gateway.ArrayOf([]float64{1, 2})), Setpoint: exampleSample(gateway.Value{}),
			},
			{Descriptor: run, Setpoint: exampleSample(gateway.Of(false))},
			{Descriptor: descriptor("oven.power", gateway.AccessRead, gateway.Uint64), Readback: exampleSample(gateway.Of(uint64(1)))},
			{Descriptor: descriptor("oven.key", gateway.AccessWrite, gateway.Bytes), Setpoint: gateway.NeverRead},
		},
	}
	empty := &gateway.Announcement{Owner: owner, Pieces: 1, State: gateway.DeviceState{Owner: owner}, Attributes: []gateway.Announced{}}
	return []*gateway.Announcement{full, empty}
}

func deviceStates() []*gateway.DeviceState {
	return []*gateway.DeviceState{
		{Owner: owner},
		{Owner: owner, Revision: 1, Connected: true, Since: noon, Words: "ok", Stale: []uint32{1, 300}, Leaving: true, Clock: 90 * time.Second},
	}
}

func puts() []*gateway.Put {
	all := []*gateway.Put{{
		ID: gateway.PutID{Hub: 1}, To: owner,
		PutRequest: gateway.PutRequest{
			Path: "oven.r1.start", Value: gateway.Of(int32(10)), Budget: gateway.MaxBudget, Mode: gateway.Latest, Urgent: true,
		},
		Caller:   gateway.Caller{Identity: "anna", Protocol: "rest", Peer: "127.0.0.1:4711", Correlation: "c-1"},
		NotAfter: 91 * time.Second,
	}, {
		ID: gateway.PutID{Hub: 2}, To: owner, PutRequest: gateway.PutRequest{Path: "oven.r1.start"}, Refresh: true,
	}}
	for i, v := range values() {
		all = append(all, &gateway.Put{
			ID: gateway.PutID{Hub: math.MaxUint64, N: uint64(i)}, To: owner,
			PutRequest: gateway.PutRequest{Path: "oven.x", Value: v},
		})
	}
	return all
}

func verdicts() []*gateway.PutVerdict {
	return []*gateway.PutVerdict{
		{Owner: owner},
		{
			Owner: owner, ID: gateway.PutID{Hub: 5, N: 6}, Revision: 2, Index: 1,
			Verdict: gateway.Verdict{
				Stage:    gateway.StageVerified,
				Setpoint: exampleSample(gateway.Of("x")), Readback: &gateway.Sample{}, Result: gateway.ArrayOf([]string{"done"}),
			},
		},
		{
			Owner: owner, ID: gateway.PutID{Hub: 5, N: 7},
			Verdict: gateway.Verdict{
				Stage: gateway.StageSent,
				Err: &gateway.Error{
					Kind: gateway.KindRefusedByDevice, Stage: gateway.StageSent, Msg: "no", DeviceWords: "ERR 5",
				},
			},
		},
	}
}
