package graph

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

const putValue = `mutation($n: String!, $v: Value!) { put(name: $n, value: $v) { name stage setpoint { value } readback { value } error { code } } }`

func TestPutAnswersWithTheVerdict(t *testing.T) {
	w := newWorld(t)
	w.want(putValue, `{"n":"oven.mode","v":"On"}`, `{"put":{"name":"oven.mode","stage":"VERIFIED","setpoint":{"value":"On"},"readback":{"value":"On"},"error":null}}`)
	w.want(`mutation { put(name: "oven.mode", value: Fault, mode: LATEST, budget: 0.5, urgent: true) { readback { index } } }`, "", `{"put":{"readback":{"index":2}}}`)
	puts := w.Device.Puts()
	last := puts[len(puts)-1]
	if last.Mode != gateway.Latest || !last.Urgent || last.Caller.Protocol != "graphql" || last.Caller.Peer == "" {
		t.Errorf("the device got %+v", last)
	}
	w.want(putValue, `{"n":"oven.secret","v":3}`, `{"put":{"name":"oven.secret","stage":"VERIFIED","setpoint":{"value":3},"readback":null,"error":null}}`)
	w.ask(putValue, `{"n":"oven.flag","v":true}`, "X-Request-Id", "job 7")
	puts = w.Device.Puts()
	if got := puts[len(puts)-1].Caller.Correlation; got != "job 7" {
		t.Errorf("correlation %q", got)
	}
}

func TestARefreshReadsTheDevice(t *testing.T) {
	w := newWorld(t)
	w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		d.Set(p.Path, gateway.Of(21.5))
		d.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	})
	w.want(`mutation { refresh(name: "oven.actual", mode: LATEST, budget: 1, urgent: true) { stage readback { value } } }`, "",
		`{"refresh":{"stage":"VERIFIED","readback":{"value":21.5}}}`)
	puts := w.Device.Puts()
	if p := puts[0]; len(puts) != 1 || !p.Refresh || !p.Urgent || p.Mode != gateway.Latest || p.Path != "oven.actual" {
		t.Errorf("the device got %+v", puts)
	}
	const refresh = `mutation($n: String!) { refresh(name: $n) { stage } }`
	w.wantError(refresh, `{"n":"oven.secret"}`, "write_only", "stage", "refused")
	w.wantError(refresh, `{"n":"oven.cancel"}`, "not_found", "stage", "refused")
	w.wantError(`mutation { refresh(name: "oven.actual", budget: 0) { stage } }`, "", "malformed", "stage", "refused")
	w.wantError(`mutation { execute(name: "oven.nosuch") { stage } }`, "", "not_found", "stage", "refused")
}

func TestRefusedPuts(t *testing.T) {
	w := newWorld(t)
	for _, x := range []struct{ name, value, code string }{
		{"oven.nosuch", "1", "not_found"},
		{"oven.cancel", "1", "not_found"},
		{"oven.actual", "1", "read_only"},
		{"oven.ramp", `"warm"`, "wrong_type"},
		{"oven.ramp", `{"a":1}`, "wrong_type"},
		{"oven.ramp", `[1]`, "wrong_type"},
		{"oven.ramp", `true`, "wrong_type"},
		{"oven.ramp", "10.5", "out_of_range"},
		{"oven.ramp", `"NaN"`, "out_of_range"},
		{"oven.ramp", "1e400", "out_of_range"},
		{"oven.count", "9223372036854775808", "out_of_range"},
		{"oven.count", "1.5", "wrong_type"},
		{"oven.mode", `"Standby"`, "not_a_label"},
		{"oven.mode", "3", "not_a_label"},
		{"oven.text", fmt.Sprintf("%q", strings.Repeat("x", 101)), "too_large"},
		{"oven.raw", `"?"`, "wrong_type"},
	} {
		w.wantError(putValue, `{"n":"`+x.name+`","v":`+x.value+`}`, x.code, "name", x.name, "stage", "refused")
	}
	w.wantError(putValue, `{"n":"oven.ramp","v":null}`, "GRAPHQL_VALIDATION_FAILED")
	w.wantError(putValue, `{"n":"oven.ramp"}`, "GRAPHQL_VALIDATION_FAILED")
	for _, literal := range []string{"9223372036854775808", "1e400", "[1, -9223372036854775809]", "{a: {b: [99999999999999999999]}}"} {
		w.wantError(`mutation { put(name: "oven.total", value: `+literal+`) { stage } }`, "", "GRAPHQL_VALIDATION_FAILED")
		w.wantError(`mutation($v: Value! = `+literal+`) { put(name: "oven.total", value: $v) { stage } }`, "", "GRAPHQL_VALIDATION_FAILED")
	}
	for _, budget := range []string{"0", "-1", "601", "1e300"} {
		w.wantError(`mutation { put(name: "oven.ramp", value: 1, budget: `+budget+`) { stage } }`, "", "malformed", "stage", "refused")
	}
	if n := len(w.Device.Puts()); n != 0 {
		t.Errorf("%d refused puts reached the device", n)
	}
}

func TestEveryErrorKind(t *testing.T) {
	w := newWorld(t)
	for _, kind := range gateway.ErrorKinds() {
		w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			d.Accept(p)
			err := gateway.Errorf(kind, "for the test of it")
			err.Stage, err.DeviceWords = gateway.StageSent, "ERR 17"
			d.Finish(p, gateway.Verdict{Stage: gateway.StageSent, Err: err})
		})
		w.wantError(putValue, `{"n":"oven.ramp","v":1}`, kind.String(), "stage", "sent", "deviceWords", "ERR 17", "name", "oven.ramp")
		w.wantError(`mutation { execute(name: "oven.cancel") { stage } }`, "", kind.String(), "stage", "sent", "deviceWords", "ERR 17", "name", "oven.cancel")
		w.want(`mutation { putMany(puts: [{name: "oven.ramp", value: 1}]) { stage error { code deviceWords } setpoint { value } } }`, "",
			`{"putMany":[{"stage":"SENT","error":{"code":"`+kind.String()+`","deviceWords":"ERR 17"},"setpoint":{"value":1}}]}`)
	}
}

func TestPutManyEachWithItsVerdict(t *testing.T) {
	w := newWorld(t)
	w.want(`mutation { putMany(puts: [
		{name: "oven.ramp", value: 2}, {name: "oven.nosuch", value: 1}, {name: "oven.actual", value: 1}, {name: "oven.ramp", value: 99},
		{name: "oven.mode", value: "On", budget: 2, mode: LATEST, urgent: true}, {name: "oven.mode", value: "On", budget: -2}
	]) { name stage error { code } readback { value } } }`, "", `{"putMany":[
		{"name":"oven.ramp","stage":"VERIFIED","error":null,"readback":{"value":2}},
		{"name":"oven.nosuch","stage":"REFUSED","error":{"code":"not_found"},"readback":null},
		{"name":"oven.actual","stage":"REFUSED","error":{"code":"read_only"},"readback":null},
		{"name":"oven.ramp","stage":"REFUSED","error":{"code":"out_of_range"},"readback":null},
		{"name":"oven.mode","stage":"VERIFIED","error":null,"readback":{"value":"On"}},
		{"name":"oven.mode","stage":"REFUSED","error":{"code":"malformed"},"readback":null}]}`)
	w.want(`mutation { putMany(puts: []) { stage } }`, "", `{"putMany":[]}`)
}

// TestPutManyRunsSideBySide has a device that answers when it has everything.
func TestPutManyRunsSideBySide(t *testing.T) {
	w := newWorld(t)
	const n = putsAtOnce
	arrived := make(chan *gateway.Put, n)
	w.Device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { arrived <- p })
	puts := make([]string, n)
	for i := range puts {
		puts[i] = fmt.Sprintf(`{"name":"oven.count","value":%d}`, i)
	}
	done := make(chan reply, 1)
	go func() {
		done <- w.ask(`mutation($p: [PutInput!]!) { putMany(puts: $p) { stage } }`, `{"p":[`+strings.Join(puts, ",")+`]}`)
	}()
	var all []*gateway.Put
	for range n {
		all = append(all, <-arrived)
	}
	for _, p := range all {
		w.Device.Accept(p)
		w.Device.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	}
	if r := <-done; strings.Count(r.text, "VERIFIED") != n {
		t.Error(r.text)
	}
	many, err := json.Marshal(make([]struct{}, maxPuts+1))
	if err != nil {
		t.Fatal(err)
	}
	w.wantError(`mutation($p: [PutInput!]!) { putMany(puts: $p) { stage } }`,
		`{"p":`+strings.ReplaceAll(string(many), "{}", `{"name":"oven.ramp","value":1}`)+`}`, "too_large")
}

func TestExecute(t *testing.T) {
	w := newWorld(t)
	w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		d.Accept(p)
		d.Finish(p, gateway.Verdict{Stage: gateway.StageAcknowledged, Result: gateway.Of("at " + fmt.Sprint(p.Value.Float()))})
	})
	w.want(`mutation { execute(name: "oven.move", argument: 1.5) { name stage result } }`, "", `{"execute":{"name":"oven.move","stage":"ACKNOWLEDGED","result":"at 1.5"}}`)
	w.want(`mutation { execute(name: "oven.cancel") { stage result } }`, "", `{"execute":{"stage":"ACKNOWLEDGED","result":null}}`)
	w.wantError(`mutation { execute(name: "oven.cancel", argument: 1) { stage } }`, "", "wrong_type", "name", "oven.cancel")
	w.wantError(`mutation { execute(name: "oven.move") { stage } }`, "", "malformed", "stage", "refused")
	w.wantError(`mutation { execute(name: "oven.move", argument: "far") { stage } }`, "", "wrong_type")
	w.wantError(`mutation { execute(name: "oven.ramp") { stage } }`, "", "not_found")
	w.wantError(`mutation { execute(name: "oven.cancel", budget: 0) { stage } }`, "", "malformed")
}
