package gateway_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/polygate/gateway"
)

var (
	onOff   = &gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "On"}}}
	percent = &gateway.Type{Kind: gateway.Float64, Units: "%", Control: gateway.Range{Low: gateway.At(0), High: gateway.At(100)}}
	matrix  = &gateway.Type{Kind: gateway.Int16, Shape: []int{3, 2}}
)

func of(kind gateway.Kind) *gateway.Type { return &gateway.Type{Kind: kind} }

func TestParseText(t *testing.T) {
	tests := []struct {
		typ  *gateway.Type
		in   string
		want string // the value as text, or the error's kind
	}{
		{of(gateway.Bool), "true", "true"},
		{of(gateway.Bool), " 0 ", "false"},
		{of(gateway.Bool), "on", "wrong_type"},
		{of(gateway.Int8), "-128", "-128"},
		{of(gateway.Int8), "128", "out_of_range"},
		{of(gateway.Int8), "-0x80", "-128"},
		{of(gateway.Int8), "1e2", "100"},
		{of(gateway.Int8), "1e3", "out_of_range"},
		{of(gateway.Int8), "1.5", "wrong_type"},
		{of(gateway.Int8), "NaN", "out_of_range"},
		{of(gateway.Int8), "", "wrong_type"},
		{of(gateway.Int8), "1_0", "wrong_type"},
		{of(gateway.Int8), "017", "17"},
		{of(gateway.Int8), "--5", "wrong_type"},
		{of(gateway.Int8), "0x", "wrong_type"},
		{of(gateway.Int64), "9007199254740993", "9007199254740993"},
		{of(gateway.Int64), "-9223372036854775808", "-9223372036854775808"},
		{of(gateway.Int64), "9223372036854775808", "out_of_range"},
		{of(gateway.Int64), "-9223372036854775809", "out_of_range"},
		{of(gateway.Int64), "99999999999999999999", "out_of_range"},
		{of(gateway.Uint64), "18446744073709551615", "18446744073709551615"},
		{of(gateway.Uint64), "-1", "out_of_range"},
		{of(gateway.Uint32), "0xF0000000", "4026531840"},
		{of(gateway.Uint32), "4294967296", "out_of_range"},
		{of(gateway.Float64), "1.5", "1.5"},
		{of(gateway.Float64), "-inf", "-Infinity"},
		{of(gateway.Float64), "nan", "NaN"},
		{of(gateway.Float64), "1e999", "out_of_range"},
		{of(gateway.Float64), "1,5", "wrong_type"},
		{of(gateway.Float64), "0x1p-2", "wrong_type"},
		{of(gateway.Float64), "18446744073709551616", "1.8446744073709552e+19"},
		{of(gateway.Float32), "0.1", "0.1"},
		{of(gateway.Float32), "1e39", "out_of_range"},
		{percent, "100", "100"},
		{percent, "100.01", "out_of_range"},
		{percent, "-1", "out_of_range"},
		{percent, "NaN", "out_of_range"},
		{onOff, "On", "On"},
		{onOff, "1", "On"},
		{onOff, " Off ", "Off"},
		{onOff, "on", "not_a_label"},
		{onOff, "2", "not_a_label"},
		{onOff, "-1", "not_a_label"},
		{of(gateway.String), "", ""},
		{of(gateway.String), "µ", "µ"},
		{of(gateway.String), "\xff", "wrong_type"},
		{&gateway.Type{Kind: gateway.String, MaxLength: 3}, "abcd", "too_large"},
		{of(gateway.Bytes), "\x00\xff", "\x00\xff"},
		{matrix, "[[1,2],[3,4]]", "[[1,2],[3,4]]"},
		{matrix, "[]", "[]"},
		{matrix, "[[1,2],[3]]", "wrong_type"},
		{matrix, "[1,2]", "wrong_type"},
		{matrix, "[[1,2],[3,4],[5,6],[7,8]]", "too_large"},
		{matrix, "[[1,2],[3,40000]]", "out_of_range"},
		{matrix, "[[1,2", "malformed"},
		{matrix, "1", "wrong_type"},
	}
	for _, test := range tests {
		v, err := test.typ.Parse(test.in)
		got := test.typ.Text(v)
		if err != nil {
			got = gateway.KindOf(err).String()
		}
		if got != test.want {
			t.Errorf("%v from text %q: got %q (%v), want %q", test.typ.Kind, test.in, got, err, test.want)
		}
	}
}

func TestParseJSON(t *testing.T) {
	tests := []struct {
		typ  *gateway.Type
		in   string
		want string // JSON again, or the error's kind
	}{
		{of(gateway.Bool), `true`, `true`},
		{of(gateway.Bool), `1`, `true`},
		{of(gateway.Bool), `2`, "out_of_range"},
		{of(gateway.Bool), `null`, "wrong_type"},
		{of(gateway.Int32), `10.0`, `10`},
		{of(gateway.Int32), `1e1`, `10`},
		{of(gateway.Int32), `10.5`, "wrong_type"},
		{of(gateway.Int32), `"10"`, `10`},
		{of(gateway.Int32), `"NaN"`, "out_of_range"},
		{of(gateway.Int32), `true`, "wrong_type"},
		{of(gateway.Int32), `[1]`, "wrong_type"},
		{of(gateway.Int32), `{"value":1}`, "wrong_type"},
		{of(gateway.Int32), `2147483648`, "out_of_range"},
		{of(gateway.Int32), ``, "malformed"},
		{of(gateway.Int32), `1 2`, "malformed"},
		{of(gateway.Int32), `01`, "malformed"},
		{of(gateway.Int64), `9007199254740993`, `9007199254740993`},
		{of(gateway.Uint64), `18446744073709551615`, `18446744073709551615`},
		{of(gateway.Float64), `1.5`, `1.5`},
		{of(gateway.Float64), `-0.0`, `-0`},
		{of(gateway.Float64), `"NaN"`, `"NaN"`},
		{of(gateway.Float64), `"-Infinity"`, `"-Infinity"`},
		{of(gateway.Float64), `NaN`, "malformed"},
		{of(gateway.Float64), `1e999`, "out_of_range"},
		{of(gateway.Float64), `1e-7`, `1e-07`},
		{of(gateway.Float64), `123456789012`, `123456789012`},
		{of(gateway.Float32), `0.1`, `0.1`},
		{onOff, `"On"`, `"On"`},
		{onOff, `0`, `"Off"`},
		{onOff, `"2"`, "not_a_label"},
		{onOff, `2`, "not_a_label"},
		{onOff, `0.5`, "wrong_type"},
		{onOff, `1e999`, "out_of_range"},
		{of(gateway.String), `"a\"b<\u0001"`, `"a\"b\u003c\u0001"`},
		{of(gateway.String), `1`, "wrong_type"},
		{of(gateway.Bytes), `"AP8="`, `"AP8="`},
		{of(gateway.Bytes), `"!"`, "wrong_type"},
		{&gateway.Type{Kind: gateway.Float64, Shape: []int{3}}, `[1,"NaN",3]`, `[1,"NaN",3]`},
		{&gateway.Type{Kind: gateway.Float64, Shape: []int{3}}, `[1,2,3,4]`, "too_large"},
		{&gateway.Type{Kind: gateway.String, Shape: []int{3}}, `["a",""]`, `["a",""]`},
		{matrix, `[[1,2],[3,4]]`, `[[1,2],[3,4]]`},
	}
	for _, test := range tests {
		v, err := test.typ.ParseJSON([]byte(test.in))
		got := string(test.typ.AppendJSON(nil, v, gateway.JSONOptions{}))
		if err != nil {
			got = gateway.KindOf(err).String()
		}
		if got != test.want {
			t.Errorf("%v from JSON %s: got %s (%v), want %s", test.typ.Kind, test.in, got, err, test.want)
		}
	}
}

func TestNumbersAreNeverRoundedOrWrapped(t *testing.T) {
	tests := []struct {
		typ  *gateway.Type
		in   float64
		want string
	}{
		{of(gateway.Int32), 2147483647, "2147483647"},
		{of(gateway.Int32), 2147483648, "out_of_range"},
		{of(gateway.Int32), -0.5, "wrong_type"},
		{of(gateway.Int32), math.NaN(), "out_of_range"},
		{of(gateway.Int32), math.Inf(1), "out_of_range"},
		{of(gateway.Uint8), -1, "out_of_range"},
		{of(gateway.Uint32), 4294967295, "4294967295"},
		{of(gateway.Uint64), 1 << 63, "9223372036854775808"},
		{of(gateway.Uint64), 1 << 64, "out_of_range"},
		{of(gateway.Int64), -1 << 63, "-9223372036854775808"},
		{of(gateway.Int64), 1 << 63, "out_of_range"},
		{of(gateway.Float32), 1e300, "out_of_range"},
		{of(gateway.Float64), math.Inf(-1), "-Infinity"},
		{of(gateway.String), 1, "wrong_type"},
		{onOff, 1, "On"},
		{onOff, 4294967297, "not_a_label"},
	}
	for _, test := range tests {
		v, err := test.typ.FromFloat(test.in)
		got := test.typ.Text(v)
		if err != nil {
			got = gateway.KindOf(err).String()
		}
		if got != test.want {
			t.Errorf("%v from %v: got %q (%v), want %q", test.typ.Kind, test.in, got, err, test.want)
		}
	}
}

func TestConvertBetweenKinds(t *testing.T) {
	tests := []struct {
		typ  *gateway.Type
		in   gateway.Value
		want string
	}{
		{of(gateway.Int16), gateway.Of(int64(300)), "300"},
		{of(gateway.Int16), gateway.Of("300"), "300"},
		{of(gateway.Int16), gateway.ArrayOf([]float64{300}), "300"},
		{of(gateway.Int16), gateway.ArrayOf([]float64{1, 2}), "wrong_type"},
		{of(gateway.Int16), gateway.Value{}, "wrong_type"},
		{of(gateway.Float64), gateway.Of(uint64(1)), "1"},
		{onOff, gateway.Of("On"), "On"},
		{onOff, gateway.EnumOf(7), "not_a_label"},
		{matrix, gateway.ArrayOf([]float64{1, 2, 3, 4}), "[[1,2],[3,4]]"},
		{matrix, gateway.ArrayOf([]float64{1, 2, 3}), "wrong_type"},
		{matrix, gateway.ArrayOf([]float64{1, 2.5}), "wrong_type"},
		{&gateway.Type{Kind: gateway.Float64, Shape: []int{2}}, gateway.Of(1.5), "[1.5]"},
	}
	for _, test := range tests {
		v, err := test.typ.Convert(test.in)
		got := test.typ.Text(v)
		if err != nil {
			got = gateway.KindOf(err).String()
		}
		if got != test.want {
			t.Errorf("%v from %v: got %q (%v), want %q", test.typ.Kind, test.in, got, err, test.want)
		}
	}
}

func TestWEB04IntegersBeyondBrowserPrecisionCanBeText(t *testing.T) {
	typ := of(gateway.Int64)
	v := gateway.Of(int64(9007199254740993))
	if got := string(typ.AppendJSON(nil, v, gateway.JSONOptions{IntsAsText: true})); got != `"9007199254740993"` {
		t.Errorf("got %s", got)
	}
	if back, err := typ.ParseJSON([]byte(`"9007199254740993"`)); err != nil || !back.Equal(v) {
		t.Errorf("comes back as %v, %v", back, err)
	}
}

func TestErrorsNameTheLimitAndTheStates(t *testing.T) {
	_, err := percent.Parse("101")
	if want := "101 is outside 0 ... 100 %"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = onOff.Parse("Auto")
	if want := `no state "Auto": states are Off, On`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEqualTakesNaNAsUnchanged(t *testing.T) {
	nan := gateway.Of(math.NaN())
	if !nan.Equal(gateway.Of(math.NaN())) {
		t.Error("NaN counts as a change from NaN")
	}
	if nan.Equal(gateway.Of(0.0)) || gateway.Of(int32(1)).Equal(gateway.Of(int64(1))) {
		t.Error("different values are equal")
	}
	if !gateway.ArrayOf([]float64{1, math.NaN()}).Equal(gateway.ArrayOf([]float64{1, math.NaN()})) {
		t.Error("equal arrays differ")
	}
	if gateway.ArrayOf([]float64{1}).Equal(gateway.Of(1.0)) || gateway.ArrayOf([]float64{}).Equal(gateway.Value{}) {
		t.Error("an array equals what is no array")
	}
}

// FuzzConversion holds what every protocol relies on: whatever comes in, there
// is an error of a known kind or a value that passes Check, and the value
// survives its own JSON and text.
func FuzzConversion(f *testing.F) {
	types := []*gateway.Type{onOff, percent, matrix, of(gateway.Bool), of(gateway.Int8), of(gateway.Int64), of(gateway.Uint64), of(gateway.Float32), of(gateway.Float64), of(gateway.String), of(gateway.Bytes)}
	for i := range types {
		f.Add(i, `1`)
		f.Add(i, `"On"`)
		f.Add(i, `-1.5e300`)
		f.Add(i, `[[1,2],[3,4]]`)
		f.Add(i, `0xfF`)
	}
	f.Fuzz(func(t *testing.T, which int, in string) {
		typ := types[(which%len(types)+len(types))%len(types)]
		if v, err := typ.ParseJSON([]byte(in)); err == nil {
			encoded := typ.AppendJSON(nil, v, gateway.JSONOptions{IntsAsText: true})
			back, err := typ.ParseJSON(encoded)
			if !json.Valid(encoded) || err != nil || !back.Equal(v) {
				t.Errorf("%v from JSON %q: %s comes back as %v, %v", typ.Kind, in, encoded, back, err)
			}
		} else if gateway.KindOf(err) == gateway.KindInternal {
			t.Errorf("%v from JSON %q: error without a kind: %v", typ.Kind, in, err)
		}
		v, err := typ.Parse(in)
		if err != nil {
			if gateway.KindOf(err) == gateway.KindInternal {
				t.Errorf("%v from text %q: error without a kind: %v", typ.Kind, in, err)
			}
			return
		}
		if err := typ.Check(v); err != nil {
			t.Errorf("%v from text %q: accepted, but %v", typ.Kind, in, err)
		}
		if back, err := typ.Parse(typ.Text(v)); err != nil || !back.Equal(v) {
			t.Errorf("%v from text %q: %q comes back as %v, %v", typ.Kind, in, typ.Text(v), back, err)
		}
	})
}

func TestJSONTextIsAlwaysValid(t *testing.T) {
	for _, s := range []string{"\xff", "a\x00b", "\u2028", strings.Repeat("\xc3", 5), `"\`} {
		if got := gateway.AppendJSONString(nil, s); !json.Valid(got) {
			t.Errorf("%q becomes %s", s, got)
		}
	}
}
