package ca

import (
	"math"
	"strconv"
	"strings"

	"github.com/polygate/gateway"
)

// A field is one field of a record: a channel of its own.
type field struct {
	name   string
	dbf    dbf
	size   int      // bytes of a text field, with its NUL
	menu   []string // the states of a menu
	get    func(*record, *gateway.Attribute) gateway.Value
	ranged bool // shows the limits of VAL rather than those of its type
}

// valueType stands for the type of VAL in the tables below.
const valueType = dbf(0xFF)

// field finds a field of the record, or returns false. VAL is one of them, and
// so is the empty name.
func (r *record) field(name string) (field, bool) {
	if name == "" || name == "VAL" {
		f := r.value
		f.size = r.size
		return f, true
	}
	for _, table := range [][]field{commonFields, typeFields[r.rtyp], groupFields[groups[r.rtyp]]} {
		for i := range table {
			if table[i].name != name {
				continue
			}
			f := table[i]
			if f.dbf == valueType {
				f.dbf = r.value.dbf
			}
			return f, true
		}
	}
	return field{}, false
}

// splitName parts what a client calls a channel: the name of the record, that
// of the field, and whether it ends in '$', which asks for a text as characters.
func splitName(name string) (record, field string, long bool) {
	record, field, _ = strings.Cut(name, ".")
	if strings.HasSuffix(field, "$") {
		return record, field[:len(field)-1], true
	}
	return record, field, false
}

// Menus (epics-base menuAlarmSevr.dbd and its neighbours).
var (
	severities = []string{"NO_ALARM", "MINOR", "MAJOR", "INVALID"}
	statuses   = alarmStatuses()
	scans      = []string{
		"Passive", "Event", "I/O Intr", "10 second", "5 second", "2 second", "1 second", ".5 second", ".2 second", ".1 second",
	}
	yesNo      = []string{"NO", "YES"}
	pinis      = []string{"NO", "YES", "RUN", "RUNNING", "PAUSE", "PAUSED"}
	priorities = []string{"LOW", "MEDIUM", "HIGH"}
	posts      = []string{"On Change", "Always"}
	modes      = []string{"supervisory", "closed_loop"}
	deviceType = []string{"polygate"}
	elements   = []string{
		"STRING", "CHAR", "UCHAR", "SHORT", "USHORT", "LONG", "ULONG", "INT64", "UINT64", "FLOAT", "DOUBLE", "ENUM",
	}
)

func alarmStatuses() []string {
	var names []string
	for s := gateway.StatusNone; s <= gateway.StatusWriteAccess; s++ {
		names = append(names, s.String())
	}
	return names
}

// constant is the value of a field that never changes.
func constant(v gateway.Value) func(*record, *gateway.Attribute) gateway.Value {
	return func(*record, *gateway.Attribute) gateway.Value { return v }
}

// number is a field that the descriptor has.
func number(get func(*gateway.Descriptor) float64) func(*record, *gateway.Attribute) gateway.Value {
	return func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(get(r.desc)) }
}

func severityField(name string, get func(*record) gateway.Severity) field {
	return field{name: name, dbf: dbfMenu, menu: severities, get: func(r *record, _ *gateway.Attribute) gateway.Value {
		return gateway.EnumOf(int(get(r)))
	}}
}

var (
	none  = gateway.EnumOf(0)
	zero  = gateway.Of(int32(0))
	empty = gateway.Of("")
)

// commonFields are those of every record (epics-base dbCommon.dbd).
var commonFields = []field{
	{name: "NAME", dbf: dbfString, size: 61, get: func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(r.name) }},
	{name: "DESC", dbf: dbfString, size: 41, get: func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(r.desc.Description) }},
	{name: "RTYP", dbf: dbfString, size: 40, get: func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(r.rtyp) }},
	{name: "ASG", dbf: dbfString, size: 29, get: constant(empty)},
	{name: "EVNT", dbf: dbfString, size: 40, get: constant(empty)},
	{name: "SCAN", dbf: dbfMenu, menu: scans, get: scan},
	{name: "PINI", dbf: dbfMenu, menu: pinis, get: constant(none)},
	{name: "PHAS", dbf: dbfShort, get: constant(zero)},
	{name: "TSE", dbf: dbfShort, get: constant(gateway.Of(int32(-2)))}, // the device's own time
	{name: "DTYP", dbf: dbfMenu, menu: deviceType, get: constant(none)},
	{name: "DISV", dbf: dbfShort, get: constant(gateway.Of(int32(1)))},
	{name: "DISA", dbf: dbfShort, get: constant(zero)},
	{name: "DISS", dbf: dbfMenu, menu: severities, get: constant(none)},
	{name: "DISP", dbf: dbfUChar, get: constant(zero)},
	{name: "PROC", dbf: dbfUChar, get: constant(zero)},
	{name: "PRIO", dbf: dbfMenu, menu: priorities, get: constant(none)},
	{name: "STAT", dbf: dbfMenu, menu: statuses, get: func(r *record, a *gateway.Attribute) gateway.Value {
		return gateway.EnumOf(int(a.EffectiveAlarm(r.role).Status))
	}},
	{name: "SEVR", dbf: dbfMenu, menu: severities, get: func(r *record, a *gateway.Attribute) gateway.Value {
		return gateway.EnumOf(int(a.EffectiveAlarm(r.role).Severity))
	}},
	{name: "AMSG", dbf: dbfString, size: 40, get: func(r *record, a *gateway.Attribute) gateway.Value {
		return gateway.Of(a.EffectiveAlarm(r.role).Text)
	}},
	{name: "ACKS", dbf: dbfMenu, menu: severities, get: func(r *record, a *gateway.Attribute) gateway.Value {
		return gateway.EnumOf(int(a.EffectiveAlarm(r.role).Severity)) // nobody has acknowledged it
	}},
	{name: "ACKT", dbf: dbfMenu, menu: yesNo, get: constant(gateway.EnumOf(1))},
	{name: "PACT", dbf: dbfUChar, get: constant(zero)},
	{name: "UDF", dbf: dbfUChar, get: func(r *record, a *gateway.Attribute) gateway.Value {
		return gateway.Of(!r.val(a).Known())
	}},
	{name: "UDFS", dbf: dbfMenu, menu: severities, get: constant(gateway.EnumOf(int(gateway.Invalid)))},
	{name: "UTAG", dbf: dbfUInt64, get: func(r *record, a *gateway.Attribute) gateway.Value {
		if s := a.Sample(r.role); s != nil {
			return gateway.Of(s.Seq)
		}
		return gateway.Of(uint64(0))
	}},
}

// scan is how a record comes to its values: a setpoint by a put, a readback by
// the driver.
func scan(r *record, _ *gateway.Attribute) gateway.Value {
	if r.isOutput() {
		return gateway.EnumOf(0)
	}
	return gateway.EnumOf(2)
}

// groups tells which of groupFields a record type has.
var groups = map[string]string{
	"ai": "number", "ao": "number", "longin": "number", "longout": "number", "int64in": "number", "int64out": "number",
	"bi": "two", "bo": "two", "mbbi": "many", "mbbo": "many", "stringin": "text", "stringout": "text",
	"lsi": "long", "lso": "long", "aai": "array", "aao": "array",
}

// units is EGU, which exists beside a value that may have some.
var units = field{name: "EGU", dbf: dbfString, size: 16, get: func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(r.desc.Units) }}

var precisionField = field{name: "PREC", dbf: dbfShort, get: func(r *record, _ *gateway.Attribute) gateway.Value {
	return gateway.Of(r.precision())
}}

var groupFields = map[string][]field{
	"number": {
		units,
		{name: "HOPR", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return d.Display.High.Or(0) })},
		{name: "LOPR", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return d.Display.Low.Or(0) })},
		levelField("HIHI", func(a *gateway.AlarmLevels) *gateway.Level { return &a.HiHi }),
		levelField("HIGH", func(a *gateway.AlarmLevels) *gateway.Level { return &a.High }),
		levelField("LOW", func(a *gateway.AlarmLevels) *gateway.Level { return &a.Low }),
		levelField("LOLO", func(a *gateway.AlarmLevels) *gateway.Level { return &a.LoLo }),
		levelSeverity("HHSV", func(a *gateway.AlarmLevels) *gateway.Level { return &a.HiHi }),
		levelSeverity("HSV", func(a *gateway.AlarmLevels) *gateway.Level { return &a.High }),
		levelSeverity("LSV", func(a *gateway.AlarmLevels) *gateway.Level { return &a.Low }),
		levelSeverity("LLSV", func(a *gateway.AlarmLevels) *gateway.Level { return &a.LoLo }),
		{name: "HYST", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return d.Alarm.Hysteresis })},
		{name: "MDEL", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return deadband(d, d.Deadband) })},
		{name: "ADEL", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return deadband(d, d.LogDeadband) })},
	},
	"two": {
		{name: "ZNAM", dbf: dbfString, size: 26, get: stateName(0)},
		{name: "ONAM", dbf: dbfString, size: 26, get: stateName(1)},
		severityField("ZSV", stateSeverity(0)),
		severityField("OSV", stateSeverity(1)),
		severityField("COSV", func(*record) gateway.Severity { return gateway.NoAlarm }),
	},
	"many": append(stateFields(), severityField("UNSV", func(*record) gateway.Severity { return gateway.Invalid }),
		severityField("COSV", func(*record) gateway.Severity { return gateway.NoAlarm })),
	"text": textFields,
	"long": append([]field{
		{name: "SIZV", dbf: dbfUShort, get: func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(int32(r.size)) }},
		{name: "LEN", dbf: dbfULong, get: textLength},
	}, textFields...),
	"array": {
		units, precisionField,
		{name: "HOPR", dbf: dbfDouble, get: number(func(d *gateway.Descriptor) float64 { return d.Display.High.Or(0) })},
		{name: "LOPR", dbf: dbfDouble, get: number(func(d *gateway.Descriptor) float64 { return d.Display.Low.Or(0) })},
		{name: "NELM", dbf: dbfULong, get: func(r *record, _ *gateway.Attribute) gateway.Value { return gateway.Of(uint32(r.count)) }},
		{name: "NORD", dbf: dbfULong, get: func(r *record, a *gateway.Attribute) gateway.Value { return gateway.Of(uint32(lengthOf(r.val(a)))) }},
		{name: "FTVL", dbf: dbfMenu, menu: elements, get: func(r *record, _ *gateway.Attribute) gateway.Value {
			return gateway.EnumOf(int(r.value.dbf))
		}},
	},
}

var textFields = []field{
	{name: "MPST", dbf: dbfMenu, menu: posts, get: constant(none)},
	{name: "APST", dbf: dbfMenu, menu: posts, get: constant(none)},
}

// typeFields are those that a record type has beyond its group.
var typeFields = map[string][]field{
	"ai": {precisionField},
	"ao": {precisionField, drvh, drvl, omsl}, "longout": {drvh, drvl, omsl}, "int64out": {drvh, drvl, omsl},
	"bo": {omsl}, "mbbo": {omsl}, "stringout": {omsl}, "lso": {omsl}, "aao": {omsl},
}

var (
	drvh = field{name: "DRVH", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return d.Control.High.Or(0) })}
	drvl = field{name: "DRVL", dbf: valueType, get: number(func(d *gateway.Descriptor) float64 { return d.Control.Low.Or(0) })}
	omsl = field{name: "OMSL", dbf: dbfMenu, menu: modes, get: constant(none)}
)

// levelOf returns an alarm level, which readbacks alone have.
func levelOf(r *record, pick func(*gateway.AlarmLevels) *gateway.Level) gateway.Level {
	if r.isOutput() {
		return gateway.Level{}
	}
	return *pick(&r.desc.Alarm)
}

func levelField(name string, pick func(*gateway.AlarmLevels) *gateway.Level) field {
	return field{name: name, dbf: valueType, ranged: true, get: func(r *record, _ *gateway.Attribute) gateway.Value {
		return gateway.Of(levelOf(r, pick).Or(0))
	}}
}

func levelSeverity(name string, pick func(*gateway.AlarmLevels) *gateway.Level) field {
	return severityField(name, func(r *record) gateway.Severity {
		if l := levelOf(r, pick); l.Set {
			return l.Severity
		}
		return gateway.NoAlarm
	})
}

// deadband is -1, every value, where each poll is a change.
func deadband(d *gateway.Descriptor, width float64) float64 {
	if d.Always {
		return -1
	}
	return width
}

// stateNames are the fields of mbbi and mbbo, two letters for each state.
const stateNames = "ZRONTWTHFRFVSXSVEINITEELTVTTFTFF"

func stateFields() []field {
	var list []field
	for i := range maxStates {
		prefix := stateNames[2*i : 2*i+2]
		list = append(list,
			field{name: prefix + "ST", dbf: dbfString, size: 26, get: stateName(i)},
			field{name: prefix + "VL", dbf: dbfULong, get: stateRaw(i)},
			severityField(prefix+"SV", stateSeverity(i)),
		)
	}
	return list
}

func stateName(i int) func(*record, *gateway.Attribute) gateway.Value {
	return func(r *record, _ *gateway.Attribute) gateway.Value {
		if i < len(r.meta.States) {
			return gateway.Of(r.meta.States[i])
		}
		return empty
	}
}

// stateRaw is what the device calls the state, if that is a number.
func stateRaw(i int) func(*record, *gateway.Attribute) gateway.Value {
	return func(r *record, _ *gateway.Attribute) gateway.Value {
		if i >= len(r.desc.States) {
			return gateway.Of(uint32(0))
		}
		if raw, err := strconv.ParseUint(r.desc.States[i].Raw, 0, 32); err == nil {
			return gateway.Of(uint32(raw))
		}
		return gateway.Of(uint32(i))
	}
}

func stateSeverity(i int) func(*record) gateway.Severity {
	return func(r *record) gateway.Severity {
		if i < len(r.desc.States) {
			return r.desc.States[i].Severity
		}
		return gateway.NoAlarm
	}
}

// textLength counts the NUL of a text that was ever set.
func textLength(r *record, a *gateway.Attribute) gateway.Value {
	v := r.val(a)
	if !v.Known() {
		return gateway.Of(uint32(0))
	}
	return gateway.Of(uint32(min(len(r.label(v))+1, math.MaxInt32)))
}

// label is the text of a text or of a state.
func (r *record) label(v gateway.Value) string {
	if v.Kind() == gateway.Enum {
		text, _ := r.desc.Label(v.Index())
		return text
	}
	return v.Text()
}

// lengthOf is the number of elements of an array, or of the bytes of a text.
func lengthOf(v gateway.Value) int {
	if v.Kind() == gateway.Bytes {
		return len(v.Text())
	}
	return v.Len()
}
