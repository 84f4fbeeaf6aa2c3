package proto

import (
	"time"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// These functions build the generated messages field by field. They know
// nothing of the codec, so a mistake in one of its field numbers or types shows.

func pbValue(v gateway.Value) *pb.Value {
	switch a := v.Array().(type) {
	case []bool:
		return &pb.Value{Value: &pb.Value_BoolArray{BoolArray: &pb.BoolArray{Elements: a}}}
	case []int8:
		return &pb.Value{Value: &pb.Value_Int8Array{Int8Array: &pb.Int8Array{Elements: widen[int8, int32](a)}}}
	case []int16:
		return &pb.Value{Value: &pb.Value_Int16Array{Int16Array: &pb.Int16Array{Elements: widen[int16, int32](a)}}}
	case []int32:
		return &pb.Value{Value: &pb.Value_Int32Array{Int32Array: &pb.Int32Array{Elements: a}}}
	case []int64:
		return &pb.Value{Value: &pb.Value_Int64Array{Int64Array: &pb.Int64Array{Elements: a}}}
	case []uint8:
		return &pb.Value{Value: &pb.Value_Uint8Array{Uint8Array: a}}
	case []uint16:
		return &pb.Value{Value: &pb.Value_Uint16Array{Uint16Array: &pb.Uint16Array{Elements: widen[uint16, uint32](a)}}}
	case []uint32:
		return &pb.Value{Value: &pb.Value_Uint32Array{Uint32Array: &pb.Uint32Array{Elements: a}}}
	case []uint64:
		return &pb.Value{Value: &pb.Value_Uint64Array{Uint64Array: &pb.Uint64Array{Elements: a}}}
	case []float32:
		return &pb.Value{Value: &pb.Value_Float32Array{Float32Array: &pb.Float32Array{Elements: a}}}
	case []float64:
		return &pb.Value{Value: &pb.Value_Float64Array{Float64Array: &pb.Float64Array{Elements: a}}}
	case []string:
		return &pb.Value{Value: &pb.Value_StringArray{StringArray: &pb.StringArray{Elements: a}}}
	}
	switch v.Kind() {
	case gateway.Bool:
		return &pb.Value{Value: &pb.Value_BoolValue{BoolValue: v.Bool()}}
	case gateway.Int8:
		return &pb.Value{Value: &pb.Value_Int8Value{Int8Value: int32(v.Int())}}
	case gateway.Int16:
		return &pb.Value{Value: &pb.Value_Int16Value{Int16Value: int32(v.Int())}}
	case gateway.Int32:
		return &pb.Value{Value: &pb.Value_Int32Value{Int32Value: int32(v.Int())}}
	case gateway.Int64:
		return &pb.Value{Value: &pb.Value_Int64Value{Int64Value: v.Int()}}
	case gateway.Uint8:
		return &pb.Value{Value: &pb.Value_Uint8Value{Uint8Value: uint32(v.Uint())}}
	case gateway.Uint16:
		return &pb.Value{Value: &pb.Value_Uint16Value{Uint16Value: uint32(v.Uint())}}
	case gateway.Uint32:
		return &pb.Value{Value: &pb.Value_Uint32Value{Uint32Value: uint32(v.Uint())}}
	case gateway.Uint64:
		return &pb.Value{Value: &pb.Value_Uint64Value{Uint64Value: v.Uint()}}
	case gateway.Float32:
		return &pb.Value{Value: &pb.Value_Float32Value{Float32Value: float32(v.Float())}}
	case gateway.Float64:
		return &pb.Value{Value: &pb.Value_Float64Value{Float64Value: v.Float()}}
	case gateway.String:
		return &pb.Value{Value: &pb.Value_StringValue{StringValue: v.Text()}}
	case gateway.Bytes:
		return &pb.Value{Value: &pb.Value_BytesValue{BytesValue: []byte(v.Text())}}
	case gateway.Enum:
		return &pb.Value{Value: &pb.Value_EnumIndex{EnumIndex: uint32(v.Index())}}
	}
	return nil
}

func widen[From int8 | int16 | uint16, To int32 | uint32](from []From) []To {
	var to []To
	for _, v := range from {
		to = append(to, To(v))
	}
	return to
}

func pbTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func pbSample(s *gateway.Sample) *pb.Sample {
	if s == nil {
		return nil
	}
	to := &pb.Sample{
		Value: pbValue(s.Value), TimeNs: int64(s.Time), LastGoodNs: int64(s.LastGood), Seq: s.Seq, Mask: uint32(s.Mask),
	}
	if s.Alarm != (gateway.Alarm{}) {
		to.Alarm = &pb.Alarm{Severity: pb.Severity(s.Alarm.Severity), Status: pb.Status(s.Alarm.Status), Text: s.Alarm.Text}
	}
	return to
}

func pbOwner(o gateway.Owner) *pb.Owner {
	return &pb.Owner{Device: o.Device, Instance: o.Instance, Term: o.Term}
}

func pbPutID(id gateway.PutID) *pb.PutID {
	if id == (gateway.PutID{}) {
		return nil
	}
	return &pb.PutID{Hub: id.Hub, N: id.N}
}

func pbUpdate(u *gateway.Update) *pb.Update {
	to := &pb.Update{Owner: pbOwner(u.Owner), Revision: u.Revision}
	for _, s := range u.Samples {
		to.Samples = append(to.Samples, &pb.SampleUpdate{
			Index: s.Index, Role: pb.Role(s.Role), Sample: pbSample(s.Sample), Accepts: pbPutID(s.Accepts),
		})
	}
	return to
}

func pbLimit(l gateway.Limit) *float64 {
	if !l.Set {
		return nil
	}
	return &l.Value
}

func pbRange(r gateway.Range) *pb.Range {
	if r == (gateway.Range{}) {
		return nil
	}
	return &pb.Range{Low: pbLimit(r.Low), High: pbLimit(r.High)}
}

func pbLevel(l gateway.Level) *pb.Level {
	if l == (gateway.Level{}) {
		return nil
	}
	return &pb.Level{Value: pbLimit(l.Limit), Severity: pb.Severity(l.Severity)}
}

func pbType(t *gateway.Type) *pb.Type {
	if t == nil {
		return nil
	}
	to := &pb.Type{Kind: pb.Kind(t.Kind), MaxLength: uint32(t.MaxLength), Units: t.Units, Control: pbRange(t.Control)}
	for _, extent := range t.Shape {
		to.Shape = append(to.Shape, uint32(extent))
	}
	if t.PrecisionSet {
		precision := uint32(t.Precision)
		to.Precision = &precision
	}
	for _, s := range t.States {
		to.States = append(to.States, &pb.State{Label: s.Label, Raw: s.Raw, Severity: pb.Severity(s.Severity)})
	}
	return to
}

func pbDescriptor(d *gateway.Descriptor) *pb.Descriptor {
	to := &pb.Descriptor{
		Path: string(d.Path), Revision: d.Revision, Access: pb.Access(d.Access), Type: pbType(&d.Type),
		Description: d.Description, Display: pbRange(d.Display), Deadband: d.Deadband, LogDeadband: d.LogDeadband,
		Always: d.Always, PollNs: int64(d.Poll), Annotations: d.Annotations, Argument: pbType(d.Argument), Result: pbType(d.Result),
	}
	if a := d.Alarm; a != (gateway.AlarmLevels{}) {
		to.Alarm = &pb.AlarmLevels{
			Lolo: pbLevel(a.LoLo), Low: pbLevel(a.Low), High: pbLevel(a.High), Hihi: pbLevel(a.HiHi), Hysteresis: a.Hysteresis,
		}
	}
	return to
}

func pbAnnouncement(a *gateway.Announcement) *pb.Announcement {
	state := pbDeviceState(&a.State)
	state.Owner, state.Revision = nil, 0
	to := &pb.Announcement{
		Owner: pbOwner(a.Owner), Revision: a.Revision, Piece: uint32(a.Piece), Pieces: uint32(a.Pieces), Offset: a.Offset,
		Info: &pb.DeviceInfo{
			Description: a.Info.Description, Driver: a.Info.Driver, Link: a.Info.Link, Annotations: a.Info.Annotations,
		},
		State: state,
	}
	for _, attribute := range a.Attributes {
		to.Attributes = append(to.Attributes, &pb.Announced{
			Descriptor_: pbDescriptor(attribute.Descriptor), Readback: pbSample(attribute.Readback), Setpoint: pbSample(attribute.Setpoint),
		})
	}
	return to
}

func pbDeviceState(s *gateway.DeviceState) *pb.DeviceState {
	return &pb.DeviceState{
		Owner: pbOwner(s.Owner), Revision: s.Revision, Connected: s.Connected, SinceNs: pbTime(s.Since),
		Words: s.Words, Stale: s.Stale, Leaving: s.Leaving,
		ClockNs: int64(s.Clock),
	}
}

func pbPut(p *gateway.Put) *pb.Put {
	to := &pb.Put{
		Id: pbPutID(p.ID), To: pbOwner(p.To), Path: string(p.Path), Value: pbValue(p.Value),
		BudgetNs: int64(p.Budget), Mode: pb.Mode(p.Mode), Urgent: p.Urgent,
		NotAfterNs: int64(p.NotAfter), Refresh: p.Refresh,
	}
	if c := p.Caller; c != (gateway.Caller{}) {
		to.Caller = &pb.Caller{Identity: c.Identity, Protocol: c.Protocol, Peer: c.Peer, Correlation: c.Correlation}
	}
	return to
}

func pbPutVerdict(p *gateway.PutVerdict) *pb.PutVerdict {
	verdict := &pb.Verdict{
		Stage: pb.Stage(p.Verdict.Stage), Result: pbValue(p.Verdict.Result),
		Setpoint: pbSample(p.Verdict.Setpoint), Readback: pbSample(p.Verdict.Readback),
	}
	if e := p.Verdict.Err; e != nil {
		verdict.Error = &pb.Error{Kind: pb.ErrorKind(e.Kind), Stage: pb.Stage(e.Stage), Message: e.Msg, DeviceWords: e.DeviceWords}
	}
	return &pb.PutVerdict{Owner: pbOwner(p.Owner), Id: pbPutID(p.ID), Revision: p.Revision, Index: p.Index, Verdict: verdict}
}
