package ca

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polygate/gateway"
)

// moreTwins are of kinds, values and limits that are rare.
func moreTwins() []twin {
	return slices.Concat(arrayTwins(), numberTwins(), limitTwins(), stateTwins(), unknownTwins())
}

// twinOf is a record of an attribute's type. Its fields are those that it has
// beyond its name.
func twinOf(name, rtyp, fields string, typ gateway.Type, v gateway.Value) twin {
	x := twin{
		desc:    gateway.Descriptor{Path: gateway.Path("t." + name), Traits: &gateway.Traits{Access: gateway.AccessWrite, Type: typ}},
		records: fmt.Sprintf("record(%s, \"T:%s%s\") { %s }", rtyp, strings.ToUpper(name[:1]), name[1:], fields),
	}
	if strings.HasSuffix(rtyp, "i") || strings.HasSuffix(rtyp, "in") {
		x.desc.Traits.Access = r
		x.readback = v
	} else {
		x.setpoint = v
	}
	return x
}

// arrayTwins are arrays of all types with and without values.
func arrayTwins() []twin {
	var list []twin
	for _, x := range []struct {
		kind  gateway.Kind
		ftvl  string
		value gateway.Value
		text  string
	}{
		{gateway.Int8, "CHAR", gateway.ArrayOf([]int8{-1, 5, -128, 127}), "[-1, 5, -128, 127]"},
		{gateway.Uint8, "UCHAR", gateway.ArrayOf([]uint8{255, 5, 128, 127, 0}), "[255, 5, 128, 127, 0]"},
		{gateway.Int16, "SHORT", gateway.ArrayOf([]int16{-1, 5, -32768, 32767, 256}), "[-1, 5, -32768, 32767, 256]"},
		{gateway.Uint16, "USHORT", gateway.ArrayOf([]uint16{65535, 5, 32768}), "[65535, 5, 32768]"},
		{gateway.Int32, "LONG", gateway.ArrayOf([]int32{-1, 65536, math.MinInt32, math.MaxInt32}), "[-1, 65536, -2147483648, 2147483647]"},
		{gateway.Uint32, "ULONG", gateway.ArrayOf([]uint32{4294967295, 65536, 1 << 31}), "[4294967295, 65536, 2147483648]"},
		{gateway.Int64, "INT64", gateway.ArrayOf([]int64{-1, 65536, -5, 1 << 30}), "[-1, 65536, -5, 1073741824]"},
		{gateway.Uint64, "UINT64", gateway.ArrayOf([]uint64{1, 65536, 5, 1 << 31}), "[1, 65536, 5, 2147483648]"},
		{gateway.Float32, "FLOAT", gateway.ArrayOf([]float32{-1, 1e10, 1e-10, 3.5}), "[-1, 1e10, 1e-10, 3.5]"},
		{gateway.Float64, "DOUBLE", gateway.ArrayOf([]float64{-1, 1e300, 1e-300, 3.5, -129.9}), "[-1, 1e300, 1e-300, 3.5, -129.9]"},
		{gateway.String, "STRING", gateway.ArrayOf([]string{"1", "", "2.5", "-3", "x"}), `["1", "", "2.5", "-3", "x"]`},
	} {
		typ := gateway.Type{Kind: x.kind, Shape: []int{5}, PrecisionSet: true}
		if x.kind == gateway.String {
			typ.MaxLength = 39
		}
		fields := fmt.Sprintf("field(NELM, 5) field(FTVL, %s)", x.ftvl)
		name := "array" + strings.ToLower(x.ftvl)
		list = append(list,
			twinOf(name, "aai", fields+fmt.Sprintf(" field(INP, %s) field(PINI, YES)", x.text), typ, x.value),
			twinOf("no"+name, "aao", fields, typ, gateway.Value{}),
		)
	}
	return list
}

// numberTwins are numbers at which one type or text ends.
func numberTwins() []twin {
	var list []twin
	for i, v := range []float64{
		0.5, -0.5, 255.9, 256, -1, -129, 32768, 65536.5, 2147483648, -2147483649, 1e15, 99999999, 1e7, 0.1234567891, 1e17, -1e16, math.Inf(-1),
	} {
		list = append(list, twinOf(fmt.Sprintf("double%d", i), "ao", fmt.Sprintf("field(VAL, %v) field(PREC, %d) field(PINI, YES)", v, i),
			gateway.Type{Kind: gateway.Float64, PrecisionSet: true, Precision: i}, gateway.Of(v)))
	}
	for i, v := range []int32{255, 256, 32768, 65535, 65536, math.MinInt32, math.MaxInt32} {
		list = append(list, twinOf(fmt.Sprintf("long%d", i), "longout", fmt.Sprintf("field(VAL, %d) field(PINI, YES)", v), gateway.Type{Kind: gateway.Int32}, gateway.Of(v)))
	}
	return list
}

// limitTwins have all limits, and texts that fill their fields.
func limitTwins() []twin {
	at := func(v float64, s gateway.Severity) gateway.Level {
		return gateway.Level{Limit: gateway.At(v), Severity: s}
	}
	description := strings.Repeat("d", 40)
	fields := `field(VAL, 5) field(UDF, 0) field(PINI, YES) field(EGU, "rather long uni") field(HOPR, 300) field(LOPR, -5) field(DESC, "` + description + `")
		field(HIHI, 100) field(HIGH, 80) field(LOW, -3) field(LOLO, -4) field(HHSV, MAJOR) field(HSV, MINOR) field(LSV, MINOR) field(LLSV, MAJOR) field(HYST, 1)`
	list := []twin{
		twinOf("limits", "longin", fields, gateway.Type{Kind: gateway.Int32, Units: "rather long uni"}, gateway.Of(int32(5))),
		twinOf("limits64", "int64in", fields, gateway.Type{Kind: gateway.Int64, Units: "rather long uni"}, gateway.Of(int64(5))),
	}
	for i := range list {
		d := &list[i].desc
		d.Description = description
		d.Display = gateway.Range{Low: gateway.At(-5), High: gateway.At(300)}
		d.Alarm = gateway.AlarmLevels{
			HiHi: at(100, gateway.Major), High: at(80, gateway.Minor), Low: at(-3, gateway.Minor), LoLo: at(-4, gateway.Major), Hysteresis: 1,
		}
	}
	return list
}

// stateTwins have as many states as there can be, with names as long as they can be.
func stateTwins() []twin {
	var states []gateway.State
	fields := "field(VAL, 15) field(PINI, YES)"
	for i := range maxStates {
		label := fmt.Sprintf("%-25d", i)[:10+i]
		label = strings.ReplaceAll(label, " ", "x")
		states = append(states, gateway.State{Label: label})
		fields += fmt.Sprintf(` field(%[1]sST, "%[2]s") field(%[1]sVL, %[3]d)`, stateNames[2*i:2*i+2], label, i)
	}
	return []twin{twinOf("states", "mbbo", fields, gateway.Type{Kind: gateway.Enum, States: states}, gateway.EnumOf(15))}
}

// unknownTwins have no value.
func unknownTwins() []twin {
	two := gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "a"}, {Label: "b"}}}
	var list []twin
	for _, x := range []struct {
		rtyp, fields string
		typ          gateway.Type
	}{
		{"longin", "", gateway.Type{Kind: gateway.Int32}},
		{"longout", "", gateway.Type{Kind: gateway.Int32}},
		{"int64in", "", gateway.Type{Kind: gateway.Int64}},
		{"int64out", "", gateway.Type{Kind: gateway.Int64}},
		{"bi", `field(ZNAM, "false") field(ONAM, "true")`, gateway.Type{Kind: gateway.Bool}},
		{"bo", `field(ZNAM, "false") field(ONAM, "true")`, gateway.Type{Kind: gateway.Bool}},
		{"mbbi", `field(ZRST, "a") field(ONST, "b") field(ONVL, 1)`, two},
		{"mbbo", `field(ZRST, "a") field(ONST, "b") field(ONVL, 1)`, two},
		{"stringin", "", gateway.Type{Kind: gateway.String, MaxLength: 39}},
		{"stringout", "", gateway.Type{Kind: gateway.String, MaxLength: 39}},
		{"lsi", "field(SIZV, 100)", gateway.Type{Kind: gateway.String, MaxLength: 99}},
		{"lso", "field(SIZV, 100)", gateway.Type{Kind: gateway.String, MaxLength: 99}},
		{"ao", "field(PREC, 3)", gateway.Type{Kind: gateway.Float64, PrecisionSet: true, Precision: 3}},
	} {
		list = append(list, twinOf("no"+x.rtyp, x.rtyp, x.fields, x.typ, gateway.Value{}))
	}
	return list
}
