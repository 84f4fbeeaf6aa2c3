package ca_test

import (
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca"
)

func TestNamesFollowTheAttribute(t *testing.T) {
	tests := []struct {
		path               gateway.Path
		access             gateway.Access
		prefix, name       string // annotations
		setpoint, readback string
	}{
		{"oven.ramp_rate", gateway.AccessReadWrite, "", "", "OVEN:RampRate", "OVEN:RampRate_RBV"},
		{"oven.r1.start", gateway.AccessReadWrite, "", "", "OVEN:R1:Start", "OVEN:R1:Start_RBV"},
		{"oven.power", gateway.AccessRead, "", "", "", "OVEN:Power"},
		{"oven.key", gateway.AccessWrite, "", "", "OVEN:Key", ""},
		{"oven.cancel_all", gateway.AccessExecute, "", "", "OVEN:CancelAll", ""},
		{"oven.temp_1_1", gateway.AccessRead, "", "", "", "OVEN:Temp1_1"},
		{"oven.temp-1-a", gateway.AccessRead, "", "", "", "OVEN:Temp1A"},
		{"TEST.CALC00000", gateway.AccessRead, "", "", "", "TEST:CALC00000"},
		{"oven.power", gateway.AccessRead, "BL07I-EA-OVEN-01", "", "", "BL07I-EA-OVEN-01:Power"},
		{"oven.power", gateway.AccessReadWrite, "X", "My:Own", "My:Own", "My:Own_RBV"},
	}
	for _, test := range tests {
		d := &gateway.Descriptor{Path: test.path, Traits: &gateway.Traits{Access: test.access}}
		if test.name != "" {
			d.Annotations = map[string]string{ca.AnnotationName: test.name}
		}
		got := ca.NamesOf(d, map[string]string{ca.AnnotationPrefix: test.prefix})
		if got.Setpoint != test.setpoint || got.Readback != test.readback {
			t.Errorf("%s: got %+v, want %q and %q", test.path, got, test.setpoint, test.readback)
		}
	}
}

func TestCA29CA01WhatCannotBeServedIsAProblem(t *testing.T) {
	long := gateway.Path("oven." + strings.Repeat("a", 52)) // OVEN: and 52 letters fit, _RBV does not
	label := gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "Waiting for interlock chain OK"}}}
	problems := ca.Check([]*gateway.Descriptor{
		{Path: long, Traits: &gateway.Traits{Access: gateway.AccessReadWrite}},
		{Path: "oven.ramp_rate", Traits: &gateway.Traits{Access: gateway.AccessRead}},
		{Path: "oven.rampRate", Traits: &gateway.Traits{Access: gateway.AccessRead}},
		{Path: "oven.state", Traits: &gateway.Traits{Access: gateway.AccessRead, Type: label}},
		{Path: "oven.fine", Traits: &gateway.Traits{Access: gateway.AccessReadWrite}},
		{Path: "oven.other", Annotations: map[string]string{ca.AnnotationName: "OVEN:Start_RBV"}, Traits: &gateway.Traits{Access: gateway.AccessRead}},
		{Path: "oven.start", Traits: &gateway.Traits{Access: gateway.AccessReadWrite}}, // served without its readback
		{Path: "oven.fine_", Traits: &gateway.Traits{Access: gateway.AccessReadWrite}}, // one problem, not one for each role
	}, nil)
	want := []struct {
		path gateway.Path
		text string
	}{
		{long, "61 characters"},
		{"oven.rampRate", "also that of oven.ramp_rate"},
		{"oven.state", "30 bytes"},
		{"oven.start", "OVEN:Start_RBV is also that of oven.other"},
		{"oven.fine_", "OVEN:Fine is also that of oven.fine"},
	}
	if len(problems) != len(want) {
		t.Fatalf("got %d problems: %v", len(problems), problems)
	}
	for i, w := range want {
		if problems[i].Path != w.path || !strings.Contains(problems[i].Msg, w.text) {
			t.Errorf("got %v, want %s about %q", problems[i], w.path, w.text)
		}
	}
}
