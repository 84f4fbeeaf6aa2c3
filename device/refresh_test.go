package device_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

// refreshed is a request for a refresh of the ramp.
var refreshed = gateway.PutRequest{Path: "oven.ramp"}

func TestARefreshReadsTheDeviceAndChangesNoSetpoint(t *testing.T) {
	script := &devicetest.Script{Has: quiet()}
	script.OnRefresh = func(_ context.Context, index int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(index, gateway.Of(4.5)), good(temperature, gateway.Of(20.0))), nil
	}
	start(t, script, device.Options{}, func(r *rig) {
		before := r.table()["oven.ramp"].Setpoint
		v := r.verdict(r.bus.Refresh(refreshed))
		r.check(v, gateway.StageVerified, gateway.KindOK)
		table := r.table() // of what was published before the verdict
		if v.Readback != table["oven.ramp"].Readback || v.Readback.Value.Float() != 4.5 || v.Setpoint != before {
			t.Errorf("readback %+v, setpoint %+v", v.Readback, v.Setpoint)
		}
		if got := table["oven.temperature"].Readback.Value.Float(); got != 20 {
			t.Errorf("the neighbour in the same reply is %v", got)
		}
		if puts := r.sup.Stats().Puts; len(puts) != 0 {
			t.Errorf("it counts as a put: %v", puts)
		}
		// A setpoint with an alarm keeps it, and puts keep theirs off refreshes.
		script.OnPut = func(context.Context, int, gateway.Value) device.Outcome {
			return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindRefusedByDevice, "no")}
		}
		r.put("oven.ramp", gateway.Of(7.0))
		v = r.verdict(r.bus.Refresh(refreshed))
		r.check(v, gateway.StageVerified, gateway.KindOK)
		if v.Setpoint.Alarm.Status != gateway.StatusWrite || v.Setpoint.Value.Float() != 7 {
			t.Errorf("the setpoint is %+v", v.Setpoint)
		}
	})
}

func TestHowARefreshFails(t *testing.T) {
	for name, test := range map[string]struct {
		request gateway.PutRequest
		answer  func(context.Context) ([]device.Reading, error)
		stage   gateway.Stage
		kind    gateway.ErrorKind
	}{
		"write-only":     {gateway.PutRequest{Path: "oven.level"}, nil, gateway.StageRefused, gateway.KindWriteOnly},
		"command":        {gateway.PutRequest{Path: "oven.cancel_all"}, nil, gateway.StageRefused, gateway.KindWriteOnly},
		"with a value":   {gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0)}, nil, gateway.StageRefused, gateway.KindWrongType},
		"only by itself": {refreshed, func(context.Context) ([]device.Reading, error) { return nil, nil }, gateway.StageRefused, gateway.KindWriteOnly},
		"silence": {refreshed, func(context.Context) ([]device.Reading, error) {
			return []device.Reading{fault(ramp, gateway.StatusTimeout)}, nil
		}, gateway.StageSent, gateway.KindUnknownOutcome},
		"of another type": {refreshed, func(context.Context) ([]device.Reading, error) {
			return []device.Reading{good(ramp, gateway.Of("hot"))}, nil
		}, gateway.StageSent, gateway.KindUnknownOutcome},
		"lost": {refreshed, func(context.Context) ([]device.Reading, error) {
			return nil, fmt.Errorf("%w: unplugged", device.ErrLost)
		}, gateway.StageAccepted, gateway.KindNotConnected},
		"budget": {refreshed, func(ctx context.Context) ([]device.Reading, error) {
			<-ctx.Done()
			return []device.Reading{good(ramp, gateway.Of(1.0))}, nil
		}, gateway.StageSent, gateway.KindUnknownOutcome},
		"crash": {refreshed, func(context.Context) ([]device.Reading, error) {
			panic(errors.New("a fault of the driver")) //nolint:forbidigo // It is what is tested.
		}, gateway.StageSent, gateway.KindInternal},
	} {
		t.Run(name, func(t *testing.T) {
			script := &devicetest.Script{Has: quiet()}
			script.OnRefresh = func(ctx context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
				readings, err := test.answer(ctx)
				return append(into, readings...), err
			}
			start(t, script, device.Options{}, func(r *rig) {
				setpoint := r.table()["oven.ramp"].Setpoint
				answers := r.bus.Refresh(test.request)
				after(gateway.DefaultBudget)
				r.check(r.verdict(answers), test.stage, test.kind)
				if now := r.table()["oven.ramp"].Setpoint; now != setpoint {
					t.Errorf("the setpoint became %+v", now)
				}
			})
		})
	}
}

// A refresh waits for its turn like a put, before polls, and expires like one.
func TestARefreshWaitsForItsTurn(t *testing.T) {
	g := gated()
	g.script.OnRefresh = func(_ context.Context, index int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(index, gateway.Of(1.0))), nil
	}
	start(t, g.script, device.Options{}, func(r *rig) {
		first := r.put("oven.level", gateway.Of(1.0))
		impatient := refreshed
		impatient.Budget = 1
		late := r.bus.Refresh(impatient)
		latest := refreshed
		latest.Mode = gateway.Latest
		replaced, kept := r.bus.Refresh(latest), r.bus.Refresh(latest)
		after(1)
		r.check(r.verdict(late), gateway.StageAccepted, gateway.KindExpired)
		r.check(r.verdict(replaced), gateway.StageSuperseded, gateway.KindSuperseded)
		g.open <- struct{}{}
		r.check(r.verdict(first), gateway.StageAcknowledged, gateway.KindOK)
		r.check(r.verdict(kept), gateway.StageVerified, gateway.KindOK)
	})
}
