package ca

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/polygate/gateway"
)

// A twin is an attribute and the records of an IOC that are its equivalent.
type twin struct {
	desc     gateway.Descriptor
	readback gateway.Value
	setpoint gateway.Value
	alarm    gateway.Alarm // of the readback
	records  string
}

func twins() []twin {
	r, rw := gateway.AccessRead, gateway.AccessReadWrite
	at := func(v float64, s gateway.Severity) gateway.Level {
		return gateway.Level{Limit: gateway.At(v), Severity: s}
	}
	between := func(low, high float64) gateway.Range {
		return gateway.Range{Low: gateway.At(low), High: gateway.At(high)}
	}
	enum := gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "Idle"}, {Label: "Run"}, {Label: "Fault", Severity: gateway.Major}}}
	long := strings.Repeat("1234567890", 5)
	return []twin{
		{
			desc: gateway.Descriptor{
				Path: "t.ai", Description: "an input",
				Traits: &gateway.Traits{
					Access:      r,
					Display:     between(-50, 150),
					Deadband:    0.5,
					LogDeadband: 2,
					Type:        gateway.Type{Kind: gateway.Float64, Units: "degC", Precision: 3, PrecisionSet: true},
					Alarm:       gateway.AlarmLevels{HiHi: at(100, gateway.Major), High: at(80, gateway.Minor), LoLo: at(-20, gateway.Major), Hysteresis: 1},
				},
			},
			readback: gateway.Of(81.2345), alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh},
			records: `record(ai, "T:Ai") { field(DESC, "an input") field(INP, "81.2345") field(HOPR, 150) field(LOPR, -50) field(MDEL, 0.5) field(ADEL, 2)
				field(EGU, "degC") field(PREC, 3) field(HIHI, 100) field(HHSV, MAJOR) field(HIGH, 80) field(HSV, MINOR) field(LOLO, -20) field(LLSV, MAJOR)
				field(HYST, 1) field(SCAN, "I/O Intr") field(PINI, YES) }`,
		},
		{
			desc: gateway.Descriptor{
				Path: "t.ao", Description: "an output",
				Traits: &gateway.Traits{
					Access:  rw,
					Display: between(0, 120),
					Type:    gateway.Type{Kind: gateway.Float64, Units: "mm/s", Precision: 2, PrecisionSet: true, Control: between(0, 100)},
				},
			},
			readback: gateway.Of(12.5), setpoint: gateway.Of(12.5),
			records: `record(ao, "T:Ao") { field(DESC, "an output") field(VAL, 12.5) field(EGU, "mm/s") field(PREC, 2) field(HOPR, 120)
				field(DRVH, 100) field(PINI, YES) field(FLNK, "T:Ao_RBV") }
				record(ai, "T:Ao_RBV") { field(DESC, "an output") field(INP, "T:Ao") field(EGU, "mm/s") field(PREC, 2) field(HOPR, 120) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.free", Traits: &gateway.Traits{Access: rw, Type: gateway.Type{Kind: gateway.Float64, Precision: 4, PrecisionSet: true}}},
			readback: gateway.Of(0.0), setpoint: gateway.Of(0.0),
			records: `record(ao, "T:Free") { field(VAL, 0) field(PREC, 4) field(PINI, YES) field(FLNK, "T:Free_RBV") }
				record(ai, "T:Free_RBV") { field(INP, "T:Free") field(PREC, 4) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.huge", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, Precision: 3, PrecisionSet: true}}},
			readback: gateway.Of(1.25e20),
			records:  `record(ai, "T:Huge") { field(INP, "1.25e20") field(PREC, 3) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.million", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, Precision: 5, PrecisionSet: true}}},
			readback: gateway.Of(-123456789.98765),
			records:  `record(ai, "T:Million") { field(INP, "-123456789.98765") field(PREC, 5) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.fine", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, Precision: 12, PrecisionSet: true}}},
			readback: gateway.Of(math.Pi),
			records:  `record(ai, "T:Fine") { field(INP, "3.141592653589793") field(PREC, 12) field(PINI, YES) }`,
		},
		{
			desc: gateway.Descriptor{
				Path: "t.count", Description: "a counter",
				Traits: &gateway.Traits{
					Access:  rw,
					Display: between(-10, 10),
					Type:    gateway.Type{Kind: gateway.Int32, Units: "cts", Control: between(-1000, 1000)},
				},
			},
			readback: gateway.Of(int32(-7)), setpoint: gateway.Of(int32(-7)),
			records: `record(longout, "T:Count") { field(DESC, "a counter") field(VAL, -7) field(EGU, "cts") field(HOPR, 10) field(LOPR, -10)
				field(DRVH, 1000) field(DRVL, -1000) field(PINI, YES) field(FLNK, "T:Count_RBV") }
				record(longin, "T:Count_RBV") { field(DESC, "a counter") field(INP, "T:Count") field(EGU, "cts") field(HOPR, 10) field(LOPR, -10) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.big", Traits: &gateway.Traits{Access: rw, Type: gateway.Type{Kind: gateway.Int64}}},
			readback: gateway.Of(int64(9999999999999)), setpoint: gateway.Of(int64(9999999999999)),
			records: `record(int64out, "T:Big") { field(VAL, "9999999999999") field(PINI, YES) field(FLNK, "T:Big_RBV") }
				record(int64in, "T:Big_RBV") { field(INP, "T:Big") field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.on", Traits: &gateway.Traits{Access: rw, Type: gateway.Type{Kind: gateway.Bool}}},
			readback: gateway.Of(true), setpoint: gateway.Of(true),
			records: `record(bo, "T:On") { field(VAL, 1) field(ZNAM, "false") field(ONAM, "true") field(PINI, YES) field(FLNK, "T:On_RBV") }
				record(bi, "T:On_RBV") { field(INP, "T:On") field(ZNAM, "false") field(ONAM, "true") field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.mode", Traits: &gateway.Traits{Access: rw, Type: enum}},
			readback: gateway.EnumOf(1), setpoint: gateway.EnumOf(1),
			records: `record(mbbo, "T:Mode") { field(VAL, 1) field(ZRST, "Idle") field(ONST, "Run") field(TWST, "Fault") field(TWSV, MAJOR) field(PINI, YES) field(FLNK, "T:Mode_RBV")
				field(ZRVL, 0) field(ONVL, 1) field(TWVL, 2) }
				record(mbbi, "T:Mode_RBV") { field(INP, "T:Mode") field(ZRST, "Idle") field(ONST, "Run") field(TWST, "Fault") field(TWSV, MAJOR) field(PINI, YES)
				field(ZRVL, 0) field(ONVL, 1) field(TWVL, 2) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.text", Traits: &gateway.Traits{Access: rw, Type: gateway.Type{Kind: gateway.String, MaxLength: 39}}},
			readback: gateway.Of("hello"), setpoint: gateway.Of("hello"),
			records: `record(stringout, "T:Text") { field(VAL, "hello") field(PINI, YES) field(FLNK, "T:Text_RBV") }
				record(stringin, "T:Text_RBV") { field(INP, "T:Text") field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.number", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.String, MaxLength: 39}}},
			readback: gateway.Of("42"),
			records:  `record(stringin, "T:Number") { field(INP, "42") field(PINI, YES) field(VAL, "42") }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.long", Traits: &gateway.Traits{Access: rw, Type: gateway.Type{Kind: gateway.String, MaxLength: 99}}},
			readback: gateway.Of(long), setpoint: gateway.Of(long),
			records: `record(lso, "T:Long") { field(SIZV, 100) field(DOL, {const:"` + long + `"}) field(PINI, YES) field(FLNK, "T:Long_RBV") }
				record(lsi, "T:Long_RBV") { field(SIZV, 100) field(INP, {const:"` + long + `"}) field(PINI, YES) }`,
		},
		{
			desc: gateway.Descriptor{
				Path: "t.wave",
				Traits: &gateway.Traits{
					Access:  rw,
					Display: between(0, 10),
					Type: gateway.Type{
						Kind: gateway.Float64, Shape: []int{6}, Units: "V", Precision: 2, PrecisionSet: true,
					},
				},
			},
			readback: gateway.ArrayOf([]float64{1, 2.5, -3}), setpoint: gateway.ArrayOf([]float64{1, 2.5, -3}),
			records: `record(aao, "T:Wave") { field(NELM, 6) field(FTVL, DOUBLE) field(EGU, "V") field(PREC, 2) field(HOPR, 10) field(DOL, [1, 2.5, -3])
				field(OMSL, "closed_loop") field(PINI, YES) field(FLNK, "T:Wave_RBV") }
				record(aai, "T:Wave_RBV") { field(NELM, 6) field(FTVL, DOUBLE) field(EGU, "V") field(PREC, 2) field(HOPR, 10) field(INP, [1, 2.5, -3]) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.shorts", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Int16, Shape: []int{4}}}},
			readback: gateway.ArrayOf([]int16{-1, 300, 7}),
			records:  `record(aai, "T:Shorts") { field(NELM, 4) field(FTVL, SHORT) field(INP, [-1, 300, 7]) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.chars", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Uint8, Shape: []int{8}}}},
			readback: gateway.ArrayOf([]byte("abc")),
			records:  `record(aai, "T:Chars") { field(NELM, 8) field(FTVL, UCHAR) field(INP, [97, 98, 99]) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.floats", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float32, Shape: []int{3}, Precision: 3, PrecisionSet: true}}},
			readback: gateway.ArrayOf([]float32{0.1, 1e9, -2.5}),
			records:  `record(aai, "T:Floats") { field(NELM, 3) field(FTVL, FLOAT) field(PREC, 3) field(INP, [0.1, 1e9, -2.5]) field(PINI, YES) }`,
		},
		{
			desc:     gateway.Descriptor{Path: "t.names", Traits: &gateway.Traits{Access: rw, Type: gateway.Type{Kind: gateway.String, MaxLength: 39, Shape: []int{4}}}},
			readback: gateway.ArrayOf([]string{"one", "two"}), setpoint: gateway.ArrayOf([]string{"one", "two"}),
			records: `record(aao, "T:Names") { field(NELM, 4) field(FTVL, STRING) field(DOL, ["one", "two"]) field(OMSL, "closed_loop")
				field(PINI, YES) field(FLNK, "T:Names_RBV") }
				record(aai, "T:Names_RBV") { field(NELM, 4) field(FTVL, STRING) field(INP, ["one", "two"]) field(PINI, YES) }`,
		},
		{
			desc:    gateway.Descriptor{Path: "t.never", Traits: &gateway.Traits{Access: r, Type: gateway.Type{Kind: gateway.Float64, PrecisionSet: true}}},
			records: `record(ai, "T:Never") {}`,
		},
	}
}

// What differs from run to run.
var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}`)
	anyHost = regexp.MustCompile(`Host: .*`)
	anyDate = regexp.MustCompile(`Current Time: .*`)
	anyText = regexp.MustCompile(`ctx="[^\n]*"`)
)

func comparable(s string) string {
	s = anyTime.ReplaceAllString(s, "TIME")
	s = anyHost.ReplaceAllString(s, "Host: HOST")
	s = anyDate.ReplaceAllString(s, "Current Time: NOW")
	s = anyText.ReplaceAllString(s, `ctx="..."`)
	if strings.Contains(s, "CA.Client.Exception") {
		// The exception and the values come from different threads.
		list := strings.Split(s, "\n")
		slices.Sort(list)
		s = strings.Join(list, "\n")
	}
	return s
}

// commands are run against both. A deviation says why the two differ; then they
// must.
var commands = []struct {
	line      string
	deviation string
}{
	{line: "caget T:Ai"},
	{line: "caget -t T:Ai"},
	{line: "caget -s T:Ai"},
	{line: "caget -a T:Ai"},
	{line: "caget -f2 T:Ai"},
	{line: "caget -lx T:Ai"},
	{line: "caget -d DBR_STRING T:Ai"},
	{line: "caget -d DBR_LONG T:Ai"},
	{line: "caget -d DBR_SHORT T:Ai"},
	{line: "caget -d DBR_CHAR T:Ai"},
	{line: "caget -d DBR_ENUM T:Ai"},
	{line: "caget -d DBR_FLOAT T:Ai"},
	{line: "caget -d DBR_STS_DOUBLE T:Ai"},
	{line: "caget -d DBR_TIME_DOUBLE T:Ai"},
	{line: "caget -d DBR_GR_DOUBLE T:Ai"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Ai"},
	{line: "caget -d DBR_CTRL_FLOAT T:Ai"},
	{line: "caget -d DBR_CTRL_LONG T:Ai"},
	{line: "caget -d DBR_CTRL_SHORT T:Ai"},
	{line: "caget -d DBR_CTRL_CHAR T:Ai", deviation: "a limit that does not fit is the nearest number, not a wrapped one"},
	{line: "caget -d DBR_CTRL_STRING T:Ai"},
	{line: "caget -d DBR_CTRL_ENUM T:Ai"},
	{line: "caget -d DBR_STSACK_STRING T:Ai"},
	{line: "caget -d DBR_CLASS_NAME T:Ai"},
	{line: "cainfo T:Ai", deviation: "a readback is read-only"},
	{line: "cainfo T:Ai.VAL", deviation: "a readback is read-only"},
	{line: "caget T:Ai.DESC T:Ai.NAME T:Ai.EGU T:Ai.PREC T:Ai.HOPR T:Ai.LOPR T:Ai.MDEL T:Ai.ADEL T:Ai.HYST"},
	{line: "caget T:Ai.HIHI T:Ai.HIGH T:Ai.LOW T:Ai.LOLO T:Ai.HHSV T:Ai.HSV T:Ai.LSV T:Ai.LLSV"},
	{line: "caget T:Ai.STAT T:Ai.SEVR T:Ai.UDF T:Ai.RTYP T:Ai.PACT T:Ai.ACKT T:Ai.ACKS T:Ai.DISV T:Ai.PHAS"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Ai.HIHI"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Ai.MDEL"},
	{line: "caget -d DBR_CTRL_SHORT T:Ai.PREC"},
	{line: "caget -d DBR_CTRL_ENUM T:Ai.SEVR"},
	{line: "caget -d DBR_CTRL_ENUM T:Ai.STAT"},
	{line: "caget -d DBR_CTRL_STRING T:Ai.DESC"},
	{line: "caget -S T:Ai.DESC$"},
	{line: "cainfo T:Ai.DESC$", deviation: "fields are read-only"},
	{line: "caget T:Ai.NAME$"},
	{line: "cainfo T:Ai.STAT T:Ai.UDF T:Ai.UTAG T:Ai.PREC T:Ai.EGU", deviation: "fields are read-only"},
	{line: "cainfo T:Ai.NAME T:Ai.RTYP", deviation: "base says that these can be written, and then refuses"},
	{line: "caget -w 0.3 T:Ai.NOPE"},
	{line: "caget -w 0.3 T:ai"},
	{line: "caget -w 0.3 T:Ai$"},
	{line: "caget T:Ai."},
	{line: "cainfo T:Ao"},
	{line: "cainfo T:Ao_RBV", deviation: "a readback is read-only"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Ao"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Ao_RBV"},
	{line: "caget T:Ao.DRVH T:Ao.DRVL T:Ao.OMSL T:Ao.RTYP T:Ao.SCAN"},
	{line: "caput T:Ao 20"},
	{line: "caput -c T:Ao 21.5"},
	{line: "caget T:Ao T:Ao_RBV"},
	{line: "caput -t T:Ao 22"},
	{line: "caput -l T:Ao 23"},
	{line: "caput T:Ao warm"},
	{line: "caput -c T:Ao 1000", deviation: "beyond the limits is refused, not clamped"},
	{line: "caput -c T:Ao 24", deviation: "the old value is another one since the last put"},
	{line: "caput -c T:Ao 25"},
	{line: "caput -c T:Free nan"},
	{line: "caget T:Free T:Free_RBV"},
	{line: "caput -c T:Free inf"},
	{line: "caget -d DBR_STRING T:Free"},
	{line: "caget -d DBR_LONG T:Free"},
	{line: "caget -d DBR_FLOAT T:Free"},
	{line: "caput -c T:Free 1e300"},
	{line: "caget -d DBR_FLOAT T:Free"},
	{line: "caput -c T:Free -0.00005"},
	{line: "caget -d DBR_STRING T:Free"},
	{line: "caput -c T:Free 3.99995"},
	{line: "caget -d DBR_STRING T:Free"},
	{line: "caget -d DBR_LONG T:Free"},
	{line: "caget -d DBR_STRING T:Huge"},
	{line: "caget -d DBR_STRING T:Million"},
	{line: "caget -d DBR_STRING T:Fine"},
	{line: "caget T:Huge T:Million T:Fine"},
	{line: "caget T:Count"},
	{line: "caget -0x T:Count"},
	{line: "caget -d DBR_CTRL_LONG T:Count"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Count"},
	{line: "caget -d DBR_CTRL_LONG T:Count_RBV"},
	{line: "caget -d DBR_STRING T:Count"},
	{line: "caget -d DBR_CHAR T:Count"},
	{line: "caput -c T:Count 300"},
	{line: "caget -d DBR_CHAR T:Count"},
	{line: "caput -c T:Count 5.7", deviation: "what stands behind a number is not ignored"},
	{line: "caput T:Count 0x10", deviation: "hexadecimal numbers are taken"},
	{line: "caget T:Count.HOPR T:Count.DRVL T:Count.RTYP T:Count.EGU"},
	{line: "cainfo T:Big"},
	{line: "caget T:Big"},
	{line: "caget -d DBR_STRING T:Big"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Big"},
	{line: "caget -d DBR_LONG T:Big", deviation: "64 bits are not wrapped into 32"},
	{line: "cainfo T:On"},
	{line: "caget T:On T:On_RBV"},
	{line: "caget -n T:On"},
	{line: "caget -d DBR_CTRL_ENUM T:On"},
	{line: "caget -d DBR_CTRL_DOUBLE T:On"},
	{line: "caget -d DBR_CTRL_DOUBLE T:On_RBV"},
	{line: "caget -d DBR_CTRL_LONG T:On_RBV"},
	{line: "caput T:On false"},
	{line: "caput -n T:On 1"},
	{line: "caput -c T:On maybe"},
	{line: "caget T:On.ZNAM T:On.ONAM T:On.ZSV T:On.RTYP"},
	{line: "cainfo T:Mode"},
	{line: "caget T:Mode T:Mode_RBV"},
	{line: "caget -n T:Mode"},
	{line: "caget -d DBR_STRING T:Mode"},
	{line: "caget -d DBR_GR_ENUM T:Mode"},
	{line: "caget -d DBR_CTRL_ENUM T:Mode"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Mode"},
	{line: "caput T:Mode Idle"},
	{line: "caput -c T:Mode Run"},
	{line: "caput -c T:Mode 0"},
	{line: "caput T:Mode Nonsense"},
	{line: "caget T:Mode.ZRST T:Mode.TWST T:Mode.FFST T:Mode.TWSV T:Mode.ONVL T:Mode.RTYP T:Mode_RBV.UNSV", deviation: "a number without a state is INVALID here"},
	{line: "caget T:Mode.ZRST T:Mode.TWST T:Mode.FFST T:Mode.TWSV T:Mode.ONVL T:Mode.RTYP"},
	{line: "cainfo T:Text"},
	{line: "caget T:Text"},
	{line: "caget -S T:Text.VAL$"},
	{line: "caget T:Text.VAL$"},
	{line: "cainfo T:Text.VAL$"},
	{line: "caget T:Text.$"},
	{line: "caput T:Text world"},
	{line: "caput -S T:Text.VAL$ there"},
	{line: "caget T:Text"},
	{line: "caget -d DBR_LONG T:Text"},
	{line: "caget -d DBR_LONG T:Number"},
	{line: "caget -d DBR_DOUBLE T:Number"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Number"},
	{line: "cainfo T:Long"},
	{line: "caget T:Long"},
	{line: "caget -S T:Long.VAL$"},
	{line: "cainfo T:Long.VAL$"},
	{line: "caget T:Long_RBV.VAL$"},
	{line: "caget T:Long.SIZV T:Long.LEN T:Long.RTYP"},
	{line: "caput -S T:Long.VAL$ abc"},
	{line: "caget T:Long T:Long.LEN"},
	{line: "cainfo T:Wave"},
	{line: "caget T:Wave"},
	{line: "caget -#2 T:Wave"},
	{line: "caget -#6 T:Wave"},
	{line: "caget -d DBR_STRING T:Wave"},
	{line: "caget -d DBR_LONG T:Wave"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Wave"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Wave_RBV"},
	{line: "caget T:Wave.NELM T:Wave.NORD T:Wave.FTVL T:Wave.RTYP T:Wave.EGU T:Wave.PREC"},
	{line: "caput -a T:Wave 3 7 8.5 9"},
	{line: "caget T:Wave T:Wave.NORD"},
	{line: "caput -c -a T:Wave 0"},
	{line: "caget T:Wave T:Wave.NORD"},
	{line: "caput -c T:Wave 4"},
	{line: "caput -c -a T:Wave 7 1 2 3 4 5 6 7"}, // refused by the client
	{line: "cainfo T:Names"},
	{line: "caget T:Names T:Names.NELM T:Names.NORD T:Names.FTVL"},
	{line: "caget -#3 T:Names"},
	{line: "caget -d DBR_DOUBLE T:Names"},
	{line: "caget -d DBR_TIME_STRING T:Names"},
	{line: "caput -a T:Names 3 a bc def"},
	{line: "caput -c T:Names alone"},
	{line: "caget T:Names"},
	{line: "caget T:Shorts"},
	{line: "caget -d DBR_CHAR T:Shorts"},
	{line: "caget -d DBR_STRING T:Shorts"},
	{line: "caget T:Chars"},
	{line: "caget -S T:Chars"},
	{line: "cainfo T:Chars", deviation: "a readback is read-only"},
	{line: "caget T:Floats"},
	{line: "caget -d DBR_STRING T:Floats"},
	{line: "caget -a T:Never"},
	{line: "caget -d DBR_CTRL_DOUBLE T:Never"},
	{line: "caget T:Never.UDF T:Never.STAT T:Never.SEVR"},
}

// TestPrintsWhatAnIOCPrints has every second command search by name server; with
// -full once more, the other ones.
func TestPrintsWhatAnIOCPrints(t *testing.T) {
	repeater(t)
	first := []int{0}
	if *full {
		first = []int{0, 1}
	}
	for _, first := range first {
		pair := startTwins(t, twins())
		byNameServer := clientEnv("EPICS_CA_ADDR_LIST=", "EPICS_CA_NAME_SERVERS="+pair.server.Addr().String())
		for i, c := range commands {
			env := pair.ours
			if i%2 == first {
				env = byNameServer
			}
			compareWithIOC(t, c.line, c.deviation, env, pair.theirs)
		}
	}
}

func compareWithIOC(t *testing.T, line, deviation string, ours, theirs []string) {
	t.Helper()
	words := strings.Fields(line)
	program := epicsTool(t, words[0])
	var got, want string
	var both errgroup.Group
	both.Go(func() (err error) { got, err = output(ours, program, words[1:]...); return })
	both.Go(func() (err error) { want, err = output(theirs, program, words[1:]...); return })
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	got, want = comparable(got), comparable(want)
	switch {
	case got != want && deviation == "":
		t.Errorf("%s prints\n%s\nand with an IOC\n%s", line, got, want)
	case got == want && deviation != "":
		t.Errorf("%s prints the same with an IOC, although %s", line, deviation)
	}
}
