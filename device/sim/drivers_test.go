package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/sim"
)

var noon = func() time.Time { return time.Unix(1_700_000_000, 0) }

func TestCountersAddOneAtEachPoll(t *testing.T) {
	for _, polls := range []int{0, 1, 3, 10} {
		d, err := sim.NewCounters("TEST", sim.CountersConfig{Count: 10, Rate: 100, Polls: polls}, noon)
		if err != nil {
			t.Fatal(err)
		}
		m := d.Model()
		if len(m.Attributes) != 10 || m.Attributes[7].Path != "TEST.CALC00007" || !m.Attributes[7].Always {
			t.Fatalf("got %+v", m.Attributes)
		}
		seen := make([]float64, 10)
		for range 3 {
			for p := range m.Polls {
				if m.Polls[p].Period != 10*time.Millisecond {
					t.Errorf("period %v", m.Polls[p].Period)
				}
				readings, err := d.Poll(t.Context(), p, nil)
				if err != nil || len(readings) != len(m.Polls[p].Indices) {
					t.Fatal(readings, err)
				}
				for _, r := range readings {
					if r.Value.Float() != seen[r.Index]+1 || r.Alarm.Severity != gateway.Minor || !r.Time.Equal(noon()) {
						t.Errorf("got %+v after %v", r, seen[r.Index])
					}
					seen[r.Index] = r.Value.Float()
				}
			}
		}
		for i, last := range seen {
			if last != 3 {
				t.Errorf("%d polls: counter %d stands at %v", polls, i, last)
			}
			if r, err := d.Refresh(t.Context(), i, nil); err != nil || r[0].Value.Float() != 3 {
				t.Errorf("refresh says %v, %v", r, err)
			}
		}
	}
}

type deliveries []device.Reading

func (d *deliveries) Deliver(r []device.Reading) { *d = append(*d, r...) }
func (d *deliveries) Down(error)                 {}
func (d *deliveries) Lost(error)                 {}

const soft = `
count: 2
ca: {prefix: SOFT}
attributes:
  text: {kind: string, value: hello}
  number: {kind: int16, value: -5, limits: {low: -10, high: -1}}
  unset: {kind: float64, limits: {low: 3}}
  mode: {kind: enum, states: [Off, On], value: On}
  list: {kind: float64, shape: 4, value: [1, 2.5, nan]}
  fixed: {kind: uint64, access: r, value: 18446744073709551615}
  raw: {kind: bytes, value: AAE=}
  matrix: {kind: int32, shape: [2, 2], value: [[1, 2], [3, 4]]}
`

func TestSoftTakesAnyValueAtOnce(t *testing.T) {
	var c sim.SoftConfig
	if err := yaml.Load([]byte(soft), &c, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	d, err := sim.NewSoft("soft", c, noon)
	if err != nil {
		t.Fatal(err)
	}
	m := d.Model()
	var got deliveries
	if err := d.Connect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, r := range got {
		a := &m.Attributes[r.Index]
		text[a.Path.Attribute()+" "+r.Role.String()] = a.Text(r.Value)
	}
	for name, want := range map[string]string{
		"v00000 readback": "0", "v00001 setpoint": "0", "text readback": "hello", "number setpoint": "-5", "unset readback": "3",
		"mode readback": "On", "list readback": `[1,2.5,"NaN"]`, "fixed readback": "18446744073709551615", "raw readback": "\x00\x01",
		"matrix readback": "[[1,2],[3,4]]",
	} {
		if text[name] != want {
			t.Errorf("%s is %q, want %q", name, text[name], want)
		}
	}
	if _, has := text["fixed setpoint"]; has {
		t.Error("a read-only attribute has a setpoint")
	}
	for i := range m.Attributes {
		if m.Attributes[i].Path != "soft.text" {
			continue
		}
		o := d.Put(t.Context(), i, gateway.Of("world"))
		if o.Err != nil || o.Stage != gateway.StageVerified || o.Readings[0].Value.Text() != "world" {
			t.Errorf("got %+v", o)
		}
		if r, _ := d.Refresh(t.Context(), i, nil); r[0].Value.Text() != "world" {
			t.Errorf("got %+v", r)
		}
	}
}

func TestMistakesOfSimulatedDevices(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"nothing", "{}", "a soft device needs"},
		{"count", "count: -1", "count: -1 attributes"},
		{"kind", "attributes: {a: {kind: flaot64}}", `attributes.a.kind: there is no kind "flaot64": did you mean "float64"?`},
		{"value", "attributes: {a: {kind: int8, value: 300}}", "attributes.a.value: 300 does not fit int8"},
		{"label", "attributes: {a: {kind: enum, states: [A], value: B}}", `attributes.a.value: no state "B"`},
		{"list", "attributes: {a: {kind: int8, value: [1, 2]}}", "attributes.a.value: want"},
		{"mapping", "attributes: {a: {kind: int8, shape: 3, value: {b: 1}}}", "attributes.a.value: want"},
		{"twice", "{count: 1, attributes: {v00000: {kind: int8}}}", "count makes an attribute of this name already"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c sim.SoftConfig
			if err := yaml.Load([]byte(test.config), &c); err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, p := range c.Check("soft") {
				all = append(all, p.String())
			}
			if got := strings.Join(all, "\n"); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
	for _, c := range []sim.CountersConfig{{}, {Count: 1, Rate: -1}, {Count: 1, Polls: 2}, {Count: 1e6}} {
		if c.Check("x") == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestUnknownSimulatedInstrument(t *testing.T) {
	_, err := sim.NewOpener("temperature-contoller", 1, nil)
	if err == nil || !strings.Contains(err.Error(), `did you mean "temperature-controller"?`) {
		t.Errorf("got %v", err)
	}
}

func TestOpenerKeepsTheInstrumentsState(t *testing.T) {
	o, err := sim.NewOpener(sim.TemperatureControllerName, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, step := range []struct{ say, want string }{{"S01=33\r\nS01?\r\n", "33\r\n"}, {"S01?\r\n", "33\r\n"}} {
		port, err := o.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		write(t, port, step.say)
		read(t, port, step.want)
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	}
}
