package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus/bustest"
)

type handler struct{ puts chan *gateway.Put }

func (h *handler) HandlePut(p *gateway.Put, answer func(*gateway.PutVerdict)) {
	answer(&gateway.PutVerdict{Owner: p.To, ID: p.ID, Verdict: gateway.Verdict{Stage: gateway.StageVerified, Readback: &gateway.Sample{Value: p.Value, Seq: 3}}})
}
func (h *handler) HandleDescribe()            {}
func (h *handler) HandleRival(gateway.Owner)  {}
func (h *handler) HandleBus(gateway.BusState) {}

func TestSmoke(t *testing.T) {
	c := bustest.New(t)
	s, err := c.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := gateway.Owner{Device: "oven", Instance: "i1", Term: 4}
	release, err := c.Own(o, &handler{})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := c.Update(&gateway.Update{Owner: o, Revision: 5, Samples: []gateway.SampleUpdate{{Index: 1, Role: gateway.Readback, Sample: &gateway.Sample{Value: gateway.Of(1.5), Time: time.Now()}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SendPut(&gateway.Put{ID: gateway.PutID{Hub: 1, N: 2}, To: o, PutRequest: gateway.PutRequest{Path: "oven.x", Value: gateway.Of("hi")}}); err != nil {
		t.Fatal(err)
	}
	bad := o
	bad.Instance = "zz"
	if err := s.SendPut(&gateway.Put{ID: gateway.PutID{Hub: 1, N: 3}, To: bad, PutRequest: gateway.PutRequest{Path: "oven.x", Value: gateway.Of("hi")}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for range 4 {
		m, err := s.Receive(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%T %+v", m, m)
	}
}
