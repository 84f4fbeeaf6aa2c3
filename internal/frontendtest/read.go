package frontendtest

import (
	"fmt"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

func listShowsWhatExists(s *scene) {
	lister, ok := s.client.(Lister)
	if !ok {
		s.Skip("the protocol has no list")
	}
	for match, want := range map[string][]string{
		"rig.>":      {"rig.big", "rig.count", "rig.level", "rig.mode", "rig.reset", "rig.wave"},
		"rig.level":  {"rig.level"},
		"*.level":    {"rig.level"},
		"other.*":    nil,
		"rig.nosuch": nil,
	} {
		got, err := lister.List(s.ctx, match)
		if err != nil {
			s.Errorf("List(%s): %v", match, err)
			continue
		}
		if !contains(got, want...) || len(want) < 2 && len(got) != len(want) {
			s.Errorf("List(%s) = %v, want %v", match, got, want)
		}
	}
}

// eachKind holds one value of each kind, and its JSON.
var eachKind = []struct {
	path  gateway.Path
	value gateway.Value
	json  string
}{
	{"rig.target", gateway.Of(12.5), "12.5"},
	{"rig.count", gateway.Of(int32(-7)), "-7"},
	{"rig.big", gateway.Of(uint64(9007199254740992)), "9007199254740992"},
	{"rig.on", gateway.Of(true), "true"},
	{"rig.mode", gateway.EnumOf(1), `"On"`},
	{"rig.label", gateway.Of("gr\u00fcn <&>"), `"gr\u00fcn <&>"`},
}

func readOfEachKind(s *scene) {
	for _, x := range eachKind {
		s.Rig.Set(x.path, x.value)
		s.Rig.Update(hubtest.Change{Path: x.path, Role: gateway.Setpoint, Value: x.value})
	}
	s.Rig.Set("rig.level", gateway.Of(0.1))
	s.Rig.Set("rig.wave", gateway.ArrayOf([]float64{1, 2.5, -3}))
	s.Settle()
	for _, x := range eachKind {
		got, want := s.get(string(x.path)), s.Attribute(x.path)
		s.wantSample(string(x.path), got.Readback, want.Readback, x.json)
		s.wantSample(string(x.path)+" setpoint", got.Setpoint, want.Setpoint, x.json)
	}
	s.wantSample("rig.level", s.get("rig.level").Readback, s.Attribute("rig.level").Readback, "0.1")
	s.wantSample("rig.wave", s.get("rig.wave").Readback, s.Attribute("rig.wave").Readback, "[1, 2.5, -3]")
	if got := s.get("rig.level").Setpoint; got != nil {
		s.Errorf("rig.level is read-only and shows the setpoint %+v", got)
	}
}

func readOfWhatWasNeverRead(s *scene) {
	got := s.get("rig.level").Readback
	if got == nil || got.Severity != "INVALID" || got.Status != "UDF" {
		s.Errorf("rig.level was never read and shows %+v, want INVALID UDF", got)
	}
	if got := s.get("rig.trigger").Setpoint; got == nil || got.Severity != "INVALID" || got.Status != "UDF" {
		s.Errorf("rig.trigger was never put and shows %+v, want INVALID UDF", got)
	}
}

func readOfWhatDoesNotExist(s *scene) {
	_, err := s.client.Get(s.ctx, "rig.nosuch")
	s.wantFailure(err, gateway.KindNotFound)
	_, err = s.client.Get(s.ctx, "nodevice.level")
	s.wantFailure(err, gateway.KindNotFound)
}

func readShowsAlarms(s *scene) {
	for i, alarm := range []gateway.Alarm{
		{Severity: gateway.Minor, Status: gateway.StatusHigh},
		{Severity: gateway.Major, Status: gateway.StatusLoLo},
		{Severity: gateway.Invalid, Status: gateway.StatusCalc, Text: "unexpected reply"},
		{},
	} {
		s.Rig.Update(hubtest.Change{Path: "rig.level", Role: gateway.Readback, Value: gateway.Of(float64(i)), Alarm: alarm})
		s.Settle()
		s.wantSample("rig.level", s.get("rig.level").Readback, s.Attribute("rig.level").Readback, fmt.Sprint(i))
	}
}
