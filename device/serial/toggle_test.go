package serial_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/polygate/gateway/device/devicetest"
)

// A toggled instrument has a button in the place of on and off.
const toggled = head + `
attributes:
  shutter: {kind: enum, access: rw, states: [Closed, Open], read: "ens?", reply: "%d", write: "ens", write_reply: "ens", toggle: true}
  light: {kind: bool, access: rw, write: [{send: "unlock", reply: ok}, "light"], toggle: true}
  other: {kind: int32}
queries:
  all: {read: "all?", reply: "%d %d", values: [light, other]}
`

func TestToggleIsSentOnlyIfTheStateDiffers(t *testing.T) {
	tests := []struct {
		name, attribute, value string
		request                string // the one that is spoilt
		fault                  devicetest.Fault
		want, talk             string
	}{
		{"it differs", "shutter", "Open", "", devicetest.Fault{}, "verified: shutter=Open", "ens? ens ens?"},
		{"it does not", "shutter", "Closed", "", devicetest.Fault{}, "verified: shutter=Closed", "ens?"},
		{"it is not known", "shutter", "Open", "ens?", devicetest.Fault{Silent: true}, "accepted not_connected: shutter= INVALID/TIMEOUT", "ens?"},
		{"it makes no sense", "shutter", "Open", "ens?", devicetest.Fault{Raw: "2\r\n"}, "accepted not_connected: shutter= INVALID/STATE", "ens?"},
		{"the acknowledgement is lost", "shutter", "Open", "ens", devicetest.Fault{Silent: true}, "sent unknown_outcome: shutter=Open", "ens? ens ens?"},
		{"several steps, a bool of a query", "light", "true", "", devicetest.Fault{}, "verified: light=true, other=7", "all? unlock light all?"},
		{"the same without need", "light", "false", "", devicetest.Fault{}, "verified: light=false, other=7", "all?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := plug(t, toggled)
			button := map[string]string{"ens": "0", "light": "0"}
			r.instrument.Handle(func(request string) (string, bool) {
				switch request {
				case "ens?":
					return button["ens"], true
				case "all?":
					return button["light"] + " 7", true
				case "unlock":
					return "ok", true
				}
				button[request] = map[string]string{"0": "1", "1": "0"}[button[request]]
				return request, request == "ens"
			})
			r.connect()
			before := len(r.instrument.Requests())
			if test.request != "" {
				r.instrument.Spoil(test.request, test.fault)
			}
			expect(t, r.put(test.attribute, test.value), test.want)
			// How often it is asked in vain after a fault does not matter.
			talk := slices.CompactFunc(r.instrument.Requests()[before:], func(a, b string) bool { return a == b && strings.HasSuffix(a, "?") })
			expect(t, strings.Join(talk, " "), test.talk)
		})
	}
}

// Somebody has pressed the button since it was polled.
func TestToggleDoesNotTrustTheLastPoll(t *testing.T) {
	r := plug(t, toggled)
	r.instrument.Answer("ens?", "0")
	r.instrument.Answer("all?", "0 7")
	r.connect()
	r.instrument.Answer("ens?", "1")
	before := len(r.instrument.Requests())
	expect(t, r.put("shutter", "Open"), "verified: shutter=Open")
	expect(t, strings.Join(r.instrument.Requests()[before:], " "), "ens?")
}
