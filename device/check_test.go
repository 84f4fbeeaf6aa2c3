package device_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

func TestNewReportsEveryMistake(t *testing.T) {
	number := gateway.Type{Kind: gateway.Float64}
	r, rw := gateway.AccessRead, gateway.AccessReadWrite
	level := func(v float64) gateway.Level { return gateway.Level{Limit: gateway.At(v), Severity: gateway.Major} }
	m := device.Model{
		ReplyTimeout: -1,
		Attributes: []gateway.Descriptor{
			{Path: "oven.a", Traits: &gateway.Traits{Access: r, Type: number}},
			{Path: "oven.a", Traits: &gateway.Traits{Access: r, Type: number}},
			{Path: "other.b", Traits: &gateway.Traits{Access: r, Type: number}},
			{Path: "oven.c d", Traits: &gateway.Traits{Access: r, Type: number}},
			{Path: "oven.access", Traits: &gateway.Traits{Type: number}},
			{Path: "oven.kind", Traits: &gateway.Traits{Access: r}},
			{Path: "oven.shape", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{3, 0}}}},
			{Path: "oven.huge", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{math.MaxInt, 4}}}},
			{
				Path: "oven.labels",
				Traits: &gateway.Traits{
					Access: r,
					Type: gateway.Type{
						Kind: gateway.Enum, States: []gateway.State{{Label: "On"}, {Label: "On"}, {Label: "", Raw: "0"}},
					},
				},
			},
			{Path: "oven.states", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Enum}}},
			{Path: "oven.levels", Traits: &gateway.Traits{Access: r, Type: number, Alarm: gateway.AlarmLevels{High: level(5), HiHi: level(4)}}},
			{
				Path: "oven.control",
				Traits: &gateway.Traits{
					Access: rw,
					Type: gateway.Type{
						Kind: gateway.Int16, Control: gateway.Range{Low: gateway.At(2), High: gateway.At(1)},
					},
				},
			},
			{Path: "oven.nan", Traits: &gateway.Traits{Access: r, Type: number, Display: gateway.Range{Low: gateway.At(math.NaN())}}},
			{Path: "oven.band", Traits: &gateway.Traits{Access: r, Type: number, Deadband: -1}},
			{Path: "oven.textband", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.String}, LogDeadband: 1}},
			{Path: "oven.w", Traits: &gateway.Traits{Access: gateway.AccessWrite, Type: number, Alarm: gateway.AlarmLevels{High: level(5)}}},
			{Path: "oven.run", Traits: &gateway.Traits{Access: gateway.AccessExecute, Type: number, Argument: &gateway.Type{}}},
			{Path: "oven.argument", Traits: &gateway.Traits{Access: r, Type: number, Argument: &number}},
			{Path: "oven.nothing"},
		},
		Polls: []device.Poll{
			{Period: 0, Indices: []int{0}},
			{Period: time.Second, Indices: []int{99, 16, 18}},
			{Period: time.Second},
		},
	}
	_, err := device.New("oven", &devicetest.Script{Has: m}, devicetest.NewBus(), device.Options{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"oven.a: there are two", "other.b: it does not belong", "oven.c d: name", "oven.access: access 0", "oven.kind: it has no kind",
		"oven.nothing: it has no traits", "oven.shape: the shape", "oven.huge: the shape", "oven.labels: states 0 and 1 have the same label", "oven.labels: state 2 has no label",
		`oven.labels: states 0 and 2 are the same "0"`, "oven.states: an enum needs states", "oven.levels: the alarm levels are in the wrong order",
		"oven.control: the control limits", "oven.nan: the display limits", "oven.band: the dead-bands", "oven.textband: dead-bands need",
		"oven.w: alarm levels need", "oven.run: a command's own type", "oven.run: argument: it has no kind", "oven.argument: only a command",
		"reply timeout", "poll 0: the period", "poll 1: there is no attribute 99", "poll 1: the command oven.run", "poll 2: it refreshes",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 26 {
		t.Errorf("%d mistakes, want 26:\n%v", n, err)
	}
	if _, err := device.New("no.dots", &devicetest.Script{}, devicetest.NewBus(), device.Options{}); err == nil {
		t.Error("a device's name with a dot was taken")
	}
	if _, err := device.New("oven", &devicetest.Script{Has: model()}, devicetest.NewBus(), device.Options{}); err != nil {
		t.Errorf("a good model: %v", err)
	}
}
