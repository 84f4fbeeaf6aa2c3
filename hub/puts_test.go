package hub_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func ramp(v float64) gateway.PutRequest {
	return gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(v)}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestVerdictComesAfterItsSamples(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		synctest.Wait()
		p, err := w.view.Put(ramp(5))
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(context.Background(), p)
		if v.Err != nil || v.Stage != gateway.StageVerified || !isClosed(p.Accepted()) {
			t.Fatalf("verdict %+v", v)
		}
		// Without waiting for anything else:
		a, _ := w.view.Get("oven.ramp")
		if a.Readback.Value.Float() != 5 || a.Setpoint.Value.Float() != 5 || v.Readback != a.Readback {
			t.Errorf("after the verdict: readback %v, setpoint %v", a.Readback.Value, a.Setpoint.Value)
		}
	})
}

func TestPutsAreRefusedSynchronously(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		limited := hubtest.Float("oven.limited", readWrite)
		limited.Control = gateway.Range{Low: gateway.At(0), High: gateway.At(10)}
		mode := &gateway.Descriptor{Path: "oven.mode", Access: readWrite, Type: gateway.Type{
			Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "On"}}}}
		move := hubtest.Command("oven.move")
		move.Argument = &gateway.Type{Kind: gateway.Int32}
		oven.Redescribe(append(ovenDescriptors(), limited, mode, move)...)
		synctest.Wait()
		put, execute := w.view.Put, w.view.Execute
		tests := []struct {
			name string
			do   func(gateway.PutRequest) (gateway.Pending, error)
			r    gateway.PutRequest
			want gateway.ErrorKind
		}{
			{"unknown", put, gateway.PutRequest{Path: "oven.nothing", Value: gateway.Of(1.0)}, gateway.KindNotFound},
			{"read-only", put, gateway.PutRequest{Path: "oven.actual", Value: gateway.Of(1.0)}, gateway.KindReadOnly},
			{"put to a command", put, gateway.PutRequest{Path: "oven.cancel", Value: gateway.Of(true)}, gateway.KindReadOnly},
			{"no value", put, gateway.PutRequest{Path: "oven.ramp"}, gateway.KindWrongType},
			{"wrong type", put, gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of("1")}, gateway.KindWrongType},
			{"out of range", put, gateway.PutRequest{Path: "oven.limited", Value: gateway.Of(11.0)}, gateway.KindOutOfRange},
			{"no such state", put, gateway.PutRequest{Path: "oven.mode", Value: gateway.EnumOf(2)}, gateway.KindNotALabel},
			{"negative budget", put, gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: -1}, gateway.KindMalformed},
			{"endless budget", put, gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Budget: time.Hour}, gateway.KindMalformed},
			{"execute an attribute", execute, ramp(1), gateway.KindNotFound},
			{"argument for none", execute, gateway.PutRequest{Path: "oven.cancel", Value: gateway.Of(int32(1))}, gateway.KindWrongType},
			{"no argument", execute, gateway.PutRequest{Path: "oven.move"}, gateway.KindWrongType},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				p, err := tt.do(tt.r)
				if p != nil {
					t.Errorf("got a pending put")
				}
				wantKind(t, err, tt.want)
				if e := gateway.AsError(err); e == nil || e.Stage != gateway.StageRefused {
					t.Errorf("stage of %v is not refused", err)
				}
			})
		}
		if n := len(oven.Puts()); n != 0 {
			t.Errorf("%d puts reached the device", n)
		}
	})
}

func TestExecuteRunsACommand(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			d.Accept(p)
			d.Finish(p, gateway.Verdict{Stage: gateway.StageAcknowledged, Result: gateway.Of("done")})
		})
		synctest.Wait()
		p, err := w.view.Execute(gateway.PutRequest{Path: "oven.cancel"})
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(context.Background(), p)
		if v.Err != nil || v.Result.Text() != "done" {
			t.Errorf("verdict %+v", v)
		}
	})
}
