package device_test

import (
	"context"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

func TestConnectPollPut(t *testing.T) {
	rate := 1.0
	script := &devicetest.Script{Has: model()}
	script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(temperature, gateway.Of(20.5)), good(ramp, gateway.Of(rate))), nil
	}
	script.OnPut = func(_ context.Context, index int, v gateway.Value) device.Outcome {
		rate = v.Float()
		return device.Outcome{Stage: gateway.StageVerified, Readings: []device.Reading{good(index, v)}}
	}
	start(t, script, device.Options{}, func(r *rig) {
		messages := r.bus.Messages()
		first, ok := messages[0].(*gateway.Announcement)
		if !ok || first.State.Connected || len(first.Attributes) != 5 || first.Owner != r.bus.Owner() {
			t.Fatalf("the first message is not the announcement of a device that connects:\n%s", devicetest.Transcript(messages))
		}
		if !r.state().Connected || r.table()["oven.temperature"].Readback.Value.Float() != 20.5 {
			t.Fatalf("after the first poll:\n%s", devicetest.Transcript(messages))
		}

		v := r.verdict(r.put("oven.ramp", gateway.Of(5.0)))
		r.check(v, gateway.StageVerified, gateway.KindOK)
		if v.Setpoint.Value.Float() != 5 || v.Readback.Value.Float() != 5 {
			t.Errorf("the verdict has setpoint %v and readback %v", v.Setpoint, v.Readback)
		}
		// The acceptance, the read-back, the verdict: in this order.
		last := r.bus.Messages()[len(messages):]
		if len(last) != 3 {
			t.Fatalf("a put published:\n%s", devicetest.Transcript(last))
		}
		accepted := last[0].(*gateway.Update).Samples[0]
		if accepted.Accepts.N != 1 || accepted.Role != gateway.Setpoint || accepted.Sample.Value.Float() != 5 {
			t.Errorf("the acceptance is %+v", accepted)
		}
		if read := last[1].(*gateway.Update).Samples[0]; read.Sample != v.Readback {
			t.Errorf("the read-back is %+v, the verdict's %+v", read.Sample, v.Readback)
		}
		r.end()
		if state := r.state(); !state.Leaving || state.Connected {
			t.Errorf("the last state is %+v", state)
		}
	})
}
