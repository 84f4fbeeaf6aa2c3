package sim_test

import (
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/devicetest"
	"github.com/polygate/gateway/device/sim"
)

func TestSoftPassesTheSuite(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) *devicetest.Rig {
		t.Helper()
		d, err := sim.NewSoft("soft", sim.SoftConfig{Count: 3, Attributes: map[string]sim.SoftAttribute{
			"text": {Attribute: describe.Attribute{Type: describe.Type{Kind: "string"}}},
		}}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return &devicetest.Rig{
			Name: "soft", Driver: d,
			Reads: map[gateway.Path]gateway.Value{"soft.v00001": gateway.Of(0.0), "soft.text": gateway.Of("")},
			Put:   gateway.PutRequest{Path: "soft.v00001", Value: gateway.Of(1.5)},
		}
	})
}
