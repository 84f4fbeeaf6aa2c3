package cawire

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestLayoutIsThatOfDbAccess compares sizes and offsets with those that a C
// compiler gives db_access.h's structures.
func TestLayoutIsThatOfDbAccess(t *testing.T) {
	file, err := os.ReadFile("testdata/dbr_layout.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	if len(lines) != numTypes {
		t.Fatalf("%d types", len(lines))
	}
	for i, line := range lines {
		typ := Type(i)
		got := fmt.Sprintf("%d %v %d %d %d", i, typ, typ.Size(1), typ.ElementSize(), typ.ValueOffset())
		if got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
	if Type(39).Valid() || Type(39).String() != "DBR_39" || Type(39).ValueOffset() != 0 {
		t.Error("type 39")
	}
}

func TestFormsAndNativeTypes(t *testing.T) {
	for _, form := range []Form{Plain, Sts, Time, Gr, Ctrl} {
		for native := DBRString; native <= DBRDouble; native++ {
			typ := native.In(form)
			if typ.Form() != form || typ.Native() != native || typ.In(Plain) != native {
				t.Errorf("%v in form %d is %v", native, form, typ)
			}
		}
	}
	for typ, native := range map[Type]Type{
		DBRPutAckT: DBREnum, DBRPutAckS: DBREnum, DBRStsAckString: DBRString, DBRClassName: DBRString,
	} {
		if typ.Form() != Special || typ.Native() != native {
			t.Errorf("%v: form %d, native %v", typ, typ.Form(), typ.Native())
		}
	}
}

func exampleMeta() Meta {
	return Meta{
		Status: StatusHigh, Severity: MinorAlarm, Time: TimeStamp{1164904542, 451247258},
		AckT: true, AckS: MajorAlarm, Precision: -3, Units: "mbar",
		Limits: Limits{100, -100, 90, 80, -80, -90, 50, -50},
		States: []string{"zero", "", "two"},
	}
}

func exampleValues() Values {
	return Values{
		Strings: []string{"first", "", strings.Repeat("x", 39)},
		Shorts:  []int16{math.MinInt16, 0, math.MaxInt16},
		Floats:  []float32{-1.5, 0, float32(math.Inf(1))},
		Enums:   []uint16{0, 2, 65535},
		Chars:   []byte{0, 1, 255},
		Longs:   []int32{math.MinInt32, 0, math.MaxInt32},
		Doubles: []float64{-1e300, 0, math.Inf(-1)},
	}
}

// only returns what a type carries of m and v, by names of fields.
func only(t Type, m Meta, v Values) (Meta, Values) {
	var keep Meta
	form, native := t.Form(), t.Native()
	if form != Plain && form != Special || t == DBRStsAckString {
		keep.Status, keep.Severity = m.Status, m.Severity
	}
	switch {
	case form == Time:
		keep.Time = m.Time
	case t == DBRStsAckString:
		keep.AckT, keep.AckS = m.AckT, m.AckS
	case (form == Gr || form == Ctrl) && native == DBREnum:
		keep.States = m.States
	case (form == Gr || form == Ctrl) && native != DBRString:
		keep.Units, keep.Limits = m.Units, m.Limits
		if native == DBRFloat || native == DBRDouble {
			keep.Precision = m.Precision
		}
		if native == DBRChar { // has no negative numbers
			keep.Limits.LowerDisplay, keep.Limits.LowerAlarm, keep.Limits.LowerWarning, keep.Limits.LowerControl = 0, 0, 0, 0
		}
		if form == Gr {
			keep.Limits.UpperControl, keep.Limits.LowerControl = 0, 0
		}
	}
	var values Values
	name := map[Type]string{
		DBRString: "Strings", DBRShort: "Shorts", DBRFloat: "Floats", DBREnum: "Enums",
		DBRChar: "Chars", DBRLong: "Longs", DBRDouble: "Doubles",
	}[native]
	reflect.ValueOf(&values).Elem().FieldByName(name).Set(reflect.ValueOf(v).FieldByName(name))
	return keep, values
}

func TestEveryTypeRoundTrips(t *testing.T) {
	for typ := range Type(numTypes) {
		m, v := exampleMeta(), exampleValues()
		b, err := AppendDBR([]byte("x"), typ, 3, &m, &v)
		if err != nil || int64(len(b)-1) != int64(Pad(int(typ.Size(3)))) {
			t.Fatalf("%v: %d bytes, %v", typ, len(b)-1, err)
		}
		var gotM Meta
		var gotV Values
		if err := DecodeDBR(typ, 3, b[1:], &gotM, &gotV); err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		wantM, wantV := only(typ, m, v)
		if !reflect.DeepEqual(gotM, wantM) || !reflect.DeepEqual(gotV, wantV) {
			t.Errorf("%v:\n got %+v %+v\nwant %+v %+v", typ, gotM, gotV, wantM, wantV)
		}
	}
}

// TestShortPayloadsOfEveryType cuts a payload at every byte.
func TestShortPayloadsOfEveryType(t *testing.T) {
	for typ := range Type(numTypes) {
		m, v := exampleMeta(), exampleValues()
		b, err := AppendDBR(nil, typ, 2, &m, &v)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range int(typ.Size(2)) {
			if err := DecodeDBR(typ, 2, b[:cut], &m, &v); err != ErrShortPayload {
				t.Errorf("%v cut at %d: %v", typ, cut, err)
			}
		}
		if err := DecodeDBR(typ, 2, b[:typ.Size(2)], &m, &v); err != nil {
			t.Errorf("%v without padding: %v", typ, err)
		}
	}
}

func TestCountFromThePeerAllocatesNothing(t *testing.T) {
	payload := make([]byte, 424)
	var m Meta
	var v Values
	allocs := testing.AllocsPerRun(10, func() {
		for typ := range Type(numTypes) {
			if err := DecodeDBR(typ, 0xFFFFFFFF, payload, &m, &v); err != ErrShortPayload {
				t.Errorf("%v: %v", typ, err)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// One DBR_STRING may be cut behind its NUL; no other type may be shorter.
func TestSingleStringMayBeCut(t *testing.T) {
	var v Values
	for _, c := range []struct{ payload, want string }{
		{"hi\x00\x00\x00\x00\x00\x00", "hi"}, {"notermin", "notermin"}, {"\x00", ""},
	} {
		if err := DecodeDBR(DBRString, 1, []byte(c.payload), nil, &v); err != nil || v.Strings[0] != c.want {
			t.Errorf("%q: %q, %v", c.payload, v.Strings, err)
		}
	}
	if err := DecodeDBR(DBRString, 1, nil, nil, &v); err != ErrShortPayload {
		t.Errorf("nothing: %v", err)
	}
	for _, typ := range []Type{DBRStsString, DBRClassName} {
		if err := DecodeDBR(typ, 1, make([]byte, 39), nil, &v); err != ErrShortPayload {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

func TestCA21RareTypes(t *testing.T) {
	b, err := AppendDBR(nil, DBRClassName, 1, nil, &Values{Strings: []string{"mbbo"}})
	if err != nil || len(b) != 40 || !strings.HasPrefix(string(b), "mbbo\x00") {
		t.Errorf("class name: %q, %v", b, err)
	}
	m := exampleMeta()
	b, err = AppendDBR(nil, DBRStsAckString, 1, &m, &Values{Strings: []string{"text"}})
	if err != nil || len(b) != 48 || !bytes.HasPrefix(b, []byte("\x00\x04\x00\x01\x00\x01\x00\x02text\x00")) {
		t.Errorf("status and acknowledge: %q, %v", b, err)
	}
	for _, typ := range []Type{DBRPutAckT, DBRPutAckS} {
		var v Values
		if err := DecodeDBR(typ, 1, []byte{0, 2, 0, 0, 0, 0, 0, 0}, nil, &v); err != nil || v.Enums[0] != 2 {
			t.Errorf("%v: %v, %v", typ, v.Enums, err)
		}
	}
	for _, typ := range []Type{39, 500, 65535} {
		if err := DecodeDBR(typ, 1, make([]byte, 500), nil, nil); err != ErrBadType {
			t.Errorf("decoding %v: %v", typ, err)
		}
		if b, err := AppendDBR([]byte("x"), typ, 1, nil, &Values{}); err != ErrBadType || string(b) != "x" {
			t.Errorf("encoding %v: %q, %v", typ, b, err)
		}
	}
}

func TestCA16ZeroCount(t *testing.T) {
	// What travels around a value stays when there are no elements.
	m := exampleMeta()
	for typ := range Type(numTypes) {
		b, err := AppendDBR(nil, typ, 0, &m, &Values{})
		if err != nil || len(b) != Pad(typ.ValueOffset()) {
			t.Errorf("%v: %d bytes, %v", typ, len(b), err)
		}
		v := exampleValues()
		if err := DecodeDBR(typ, 0, b, &m, &v); err != nil || v.Len(typ) != 0 {
			t.Errorf("%v: %d elements, %v", typ, v.Len(typ), err)
		}
	}
}

func TestCA17MissingElementsAreZero(t *testing.T) {
	dirty := bytes.Repeat([]byte{0xAA}, 4096)[:0]
	for typ := range Type(numTypes) {
		v := exampleValues()
		b, err := AppendDBR(dirty, typ, 5, nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		from := typ.ValueOffset() + 3*typ.ElementSize()
		if len(b) != Pad(int(typ.Size(5))) || len(bytes.Trim(b[from:], "\x00")) != 0 {
			t.Errorf("%v: %d bytes, %x", typ, len(b), b[from:])
		}
	}
	// And what was not asked for is left out.
	b, err := AppendDBR(nil, DBRLong, 1, nil, &Values{Longs: []int32{1, 2, 3}})
	if err != nil || !bytes.Equal(b, []byte{0, 0, 0, 1, 0, 0, 0, 0}) {
		t.Errorf("%x, %v", b, err)
	}
}

func TestCA02AtMost16States(t *testing.T) {
	m := Meta{States: make([]string, 20)}
	for i := range m.States {
		m.States[i] = fmt.Sprintf("state %d", i)
	}
	b, err := AppendDBR(nil, DBRCtrlEnum, 1, &m, &Values{Enums: []uint16{19}})
	if err != nil || len(b) != 424 || b[5] != 16 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	var got Meta
	var v Values
	if err := DecodeDBR(DBRCtrlEnum, 1, b, &got, &v); err != nil || !reflect.DeepEqual(got.States, m.States[:16]) || v.Enums[0] != 19 {
		t.Errorf("%q %d, %v", got.States, v.Enums, err)
	}
	// A peer that claims more states than there is room for.
	b[4], b[5] = 0xFF, 0xFF
	if err := DecodeDBR(DBRCtrlEnum, 1, b, &got, &v); err != nil || len(got.States) != 16 {
		t.Errorf("%d states, %v", len(got.States), err)
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		typ        Type
		text, want string
	}{
		{DBRString, "1234567890123456789012345678901234567890", "123456789012345678901234567890123456789"}, // CA-07
		{DBRString, strings.Repeat("x", 38) + "é", strings.Repeat("x", 38)},
		{DBRString, strings.Repeat("x", 37) + "é", strings.Repeat("x", 37) + "é"},
		{DBRString, strings.Repeat("x", 36) + "😀y", strings.Repeat("x", 36)},
		{DBRString, strings.Repeat("\xff", 50), strings.Repeat("\xff", 39)},
		{DBRString, "with\x00NUL", "with"},
		{DBRGrDouble, "degrees Celsius", "degrees"},
		{DBRGrDouble, "µmol/m²s", "µmol/m"},
		{DBRGrDouble, "mol/cm²", "mol/cm"},
		{DBRGrEnum, "Waiting for interlock chain OK", "Waiting for interlock cha"}, // CA-01
		{DBRGrEnum, strings.Repeat("x", 24) + "é", strings.Repeat("x", 24)},
	} {
		m := &Meta{Units: c.text, States: []string{c.text}}
		b, err := AppendDBR(nil, c.typ, 1, m, &Values{Strings: []string{c.text}})
		if err != nil {
			t.Fatal(err)
		}
		var gotM Meta
		var gotV Values
		if err := DecodeDBR(c.typ, 1, b, &gotM, &gotV); err != nil {
			t.Fatal(err)
		}
		got := gotM.Units
		switch c.typ {
		case DBRString:
			got = gotV.Strings[0]
		case DBRGrEnum:
			got = gotM.States[0]
		}
		if got != c.want {
			t.Errorf("%v: %q became %q, want %q", c.typ, c.text, got, c.want)
		}
	}
}

func TestLimitsThatDoNotFit(t *testing.T) {
	m := Meta{Limits: Limits{UpperDisplay: 1e9, LowerDisplay: -1e9, UpperAlarm: math.NaN(), UpperWarning: 1.9, LowerWarning: -1.9, LowerAlarm: math.Inf(-1)}}
	for typ, want := range map[Type]Limits{
		DBRGrShort:  {UpperDisplay: 32767, LowerDisplay: -32768, UpperWarning: 1, LowerWarning: -1, LowerAlarm: -32768},
		DBRGrChar:   {UpperDisplay: 255, UpperWarning: 1},
		DBRGrLong:   {UpperDisplay: 1e9, LowerDisplay: -1e9, UpperWarning: 1, LowerWarning: -1, LowerAlarm: math.MinInt32},
		DBRCtrlLong: {UpperDisplay: 1e9, LowerDisplay: -1e9, UpperWarning: 1, LowerWarning: -1, LowerAlarm: math.MinInt32},
	} {
		b, err := AppendDBR(nil, typ, 0, &m, &Values{})
		if err != nil {
			t.Fatal(err)
		}
		var got Meta
		if err := DecodeDBR(typ, 0, b, &got, nil); err != nil || got.Limits != want {
			t.Errorf("%v: %+v, %v", typ, got.Limits, err)
		}
	}
	// NaN stays NaN where there is one: that is how base says that a limit is not set.
	b, _ := AppendDBR(nil, DBRGrDouble, 0, &m, &Values{})
	var got Meta
	if err := DecodeDBR(DBRGrDouble, 0, b, &got, nil); err != nil || !math.IsNaN(got.Limits.UpperAlarm) {
		t.Errorf("%v, %v", got.Limits.UpperAlarm, err)
	}
}

// A DBR_GR or CTRL payload says nothing about the time, so decoding keeps it.
func TestDecodingLeavesOtherFieldsAlone(t *testing.T) {
	m, v := exampleMeta(), exampleValues()
	b, err := AppendDBR(nil, DBRStsDouble, 1, &Meta{Status: StatusLow}, &Values{Doubles: []float64{7}})
	if err != nil {
		t.Fatal(err)
	}
	if err := DecodeDBR(DBRStsDouble, 1, b, &m, &v); err != nil {
		t.Fatal(err)
	}
	want := exampleMeta()
	want.Status, want.Severity = StatusLow, NoAlarm
	if !reflect.DeepEqual(m, want) || !reflect.DeepEqual(v.Longs, exampleValues().Longs) || v.Doubles[0] != 7 {
		t.Errorf("%+v %+v", m, v)
	}
}

func TestPayloadsThatNoHeaderCanTell(t *testing.T) {
	if b, err := AppendDBR([]byte("x"), DBRDouble, 1<<29, nil, &Values{}); err != ErrTooLarge || string(b) != "x" {
		t.Errorf("4 GiB: %q, %v", b, err)
	}
}

func TestFirstErrorOfAReaderSticks(t *testing.T) {
	r := reader{buf: []byte{1, 2, 3}}
	if r.uint16() != 0x0102 || r.uint32() != 0 || r.uint8() != 0 || r.float64() != 0 || r.take(0) != nil || r.err != ErrShortPayload {
		t.Errorf("%+v", r)
	}
	if r := (reader{buf: []byte{1}}); r.take(-1) != nil || r.err != ErrShortPayload {
		t.Errorf("%+v", r)
	}
}

// Base leaves old bytes of its buffer where the structures have holes.
func TestHolesInStructuresAreZero(t *testing.T) {
	dirty := bytes.Repeat([]byte{0xAA}, 4096)[:0]
	for typ, hole := range map[Type][2]int{
		DBRStsChar: {4, 5}, DBRStsDouble: {4, 8}, DBRTimeShort: {12, 14}, DBRTimeEnum: {12, 14}, DBRTimeChar: {12, 15},
		DBRTimeDouble: {12, 16}, DBRGrFloat: {6, 8}, DBRGrDouble: {6, 8}, DBRGrChar: {18, 19},
		DBRCtrlFloat: {6, 8}, DBRCtrlDouble: {6, 8}, DBRCtrlChar: {20, 21},
	} {
		m, v := exampleMeta(), exampleValues()
		b, err := AppendDBR(dirty, typ, 1, &m, &v)
		if err != nil || len(bytes.Trim(b[hole[0]:hole[1]], "\x00")) != 0 {
			t.Errorf("%v: %x, %v", typ, b, err)
		}
	}
}
