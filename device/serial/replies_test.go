package serial_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/devicetest"
)

// TestReplies asks once and compares what is published.
func TestReplies(t *testing.T) {
	tests := []struct {
		name      string
		attribute string
		extra     string // other keys of the device
		reply     string // behind it comes CR LF
		want      string
	}{
		{
			"SD-06 texts with a comma between them", `{kind: string, shape: 8, reply: "FW 2 %s", separator: ","}`, "",
			"FW 2 100,0.9.1,101,0.9.2,102,0.9.3", `x=["100","0.9.1","101","0.9.2","102","0.9.3"]`,
		},
		{"SD-06 an empty element", `{kind: string, shape: 8, reply: "%s", separator: ","}`, "", "a,,b", `x=["a","","b"]`},
		{
			"SD-21 over range", `{kind: float64, reply: "%f", special: [{above: 9.8e37, value: inf, severity: MAJOR, status: HIHI}]}`, "",
			"+9.90000000E+37", "x=Infinity MAJOR/HIHI",
		},
		{
			"SD-21 under range", `{kind: float64, reply: "%f", special: [{below: -9.8e37, value: -inf, severity: MAJOR, status: LOLO}]}`, "",
			"-9.9E37", "x=-Infinity MAJOR/LOLO",
		},
		{
			"SD-21 not a number", `{kind: float64, reply: "%f", special: [{above: 9.905e37, value: nan}, {above: 9.8e37, value: inf}]}`, "",
			"9.91e37", "x=NaN INVALID/READ",
		},
		{"SD-21 a listed text", `{kind: float64, reply: "%f", special: [{text: OL}]}`, "", " OL ", "x= INVALID/READ"},
		{"SD-21 an unlisted text", `{kind: float64, reply: "%f", special: [{text: OL}]}`, "", "------", "x= INVALID/CALC"},
		{"SD-21 an integer is never its first digit", `{kind: int32, reply: "%d"}`, "", "+9.9e37", "x= INVALID/CALC"},
		{"SD-22 a byte that is not UTF-8", `{kind: string, reply: "%s"}`, "", "20\xa8C", "x=20\u00a8C"},
		{"SD-22 UTF-8 stays", `{kind: string, reply: "%s"}`, "", "20\u00b0C", "x=20\u00b0C"},
		{"SD-26 a comma ends a number", `{kind: float64, reply: "%f"}`, "", "230,5 V", "x= INVALID/CALC"},
		{"SD-26 thousands", `{kind: float64, reply: "%f"}`, "", "1,234", "x= INVALID/CALC"},
		{"SD-26 declared comma", `{kind: float64, reply: "%f V"}`, "decimal: ','", "230,5 V", "x=230.5"},
		{"SD-26 declared comma, negative", `{kind: float64, reply: "%f"}`, "decimal: ','", "-0,66", "x=-0.66"},
		{"SD-31 wide hex in int64", `{kind: int64, reply: "%i"}`, "", "0xffffffff", "x=4294967295"},
		{"SD-31 wide hex does not fit int32", `{kind: int32, reply: "%d"}`, "", "4294967295", "x= INVALID/CALC"},
		{"SD-31 octal", `{kind: int32, reply: "%i"}`, "", " 017", "x=15"},
		{"SD-31 decimal with zero", `{kind: int32, reply: "%d"}`, "", "017", "x=17"},
		{"SD-31 hex for decimal", `{kind: int32, reply: "%d"}`, "", " 0x2A", "x= INVALID/CALC"},
		{"SD-31 negative hex", `{kind: int32, reply: "%i"}`, "", "-0x2A", "x=-42"},
		{"SD-31 bits of an uint", `{kind: uint16, reply: "%x"}`, "", "FFE0", "x=65504"},
		{"SD-31 bits of a signed type", `{kind: int16, reply: "%x"}`, "", "FFE0", "x=-32"},
		{"SD-31 largest unsigned", `{kind: uint32, reply: "%u"}`, "", "4294967295", "x=4294967295"},
		{"SD-31 unsigned is never negative", `{kind: uint32, reply: "%u"}`, "", "-1", "x= INVALID/CALC"},
		{"SD-32 extra input", `{kind: string, reply: "%[a-z]"}`, "", "ok rest", "x= INVALID/CALC"},
		{"extra input is ignored", `{kind: string, reply: "%[a-z]"}`, "extra_input: ignore", "ok rest", "x=ok"},
		{"extra input is ignored by one", `{kind: string, reply: "%[a-z]", extra_input: ignore}`, "extra_input: error", "ok rest", "x=ok"},
		{"extra input is ignored by others", `{kind: string, reply: "%[a-z]", extra_input: error}`, "extra_input: ignore", "ok rest", "x= INVALID/CALC"},
		{"ignored input cuts no number", `{kind: int32, reply: "%d"}`, "extra_input: ignore", "9.9E37", "x= INVALID/CALC"},
		{"SD-37 too few elements", `{kind: float64, shape: 3, elements: 3, separator: ",", reply: "%f,:"}`, "", "1,2,:", "x= INVALID/CALC"},
		{"SD-37 no end mark", `{kind: float64, shape: 3, elements: 3, separator: ",", reply: "%f,:"}`, "", "1,2,3", "x= INVALID/CALC"},
		{"SD-37 complete", `{kind: float64, shape: 3, elements: 3, separator: ",", reply: "%f,:"}`, "", "1,2,3,:", "x=[1,2,3]"},
		{
			"SD-39 a state by its bytes", `{kind: enum, reply: '%/.*/', states: [{label: "10 \u2126", raw: '10\234'}, {label: "100 \u00b5A", raw: '100 \181A'}]}`, "",
			"100 \xb5A", "x=100 \u00b5A",
		},
		{
			"SD-39 another state by its bytes", `{kind: enum, reply: '%/.*/', states: [{label: "10 \u2126", raw: '10\234'}, {label: B, raw: '100 \181A'}]}`, "",
			"10\xea", "x=10 \u2126",
		},
		{"SD-39 a leading NUL is data", `{kind: bytes, reply: '%/.*/'}`, "", "\x00a", "x=\x00a"},
		{"CA-04 a number that is no state", `{kind: enum, states: [A, B], reply: "%d"}`, "", "7", "x= INVALID/STATE"},
		{"CA-04 a text that is no state", `{kind: enum, states: [A, B], reply: "%s"}`, "", "REMOTE2", "x= INVALID/CALC"},
		{"states with raw numbers", `{kind: enum, states: [{label: A, raw: 10}, {label: B, raw: 0x14}], reply: "%d"}`, "", "20", "x=B"},
		{"states as listed texts", `{kind: enum, states: [A, B], reply: "%{STBY|OPER}"}`, "", "OPER", "x=B"},
		{"states by label", `{kind: enum, states: [A, B], reply: "%s"}`, "", "B", "x=B"},
		{"bool", `{kind: bool, reply: "%d"}`, "", "1", "x=true"},
		{"bool that is neither", `{kind: bool, reply: "%d"}`, "", "2", "x= INVALID/STATE"},
		{"scale and offset", `{kind: float64, reply: "%d", scale: 0.1, offset: -40}`, "", "655", "x=25.5"},
		{"scaled integer", `{kind: int32, reply: "%d", scale: 10}`, "", "65", "x=650"},
		{"scaled to a fraction", `{kind: int32, reply: "%d", scale: 0.1}`, "", "65", "x= INVALID/CALC"},
		{"too long a text", `{kind: string, max_length: 3, reply: "%s"}`, "", "abcd", "x= INVALID/CALC"},
		{"outside the control limits is still read", `{kind: float64, reply: "%f", limits: {low: 0, high: 1}}`, "", "5", "x=5"},
		{"address", `{kind: float64, reply: "{address}T%f"}`, "address: '07'", "07T5", "x=5"},
		{"an ignored line before", `{kind: float64, reply: "%f"}`, "ignore: ['#%*s']", "#hello\r\n5", "x=5"},
		{"the device says no", `{kind: float64, reply: "%f"}`, "refusals: ['ERR %*d']", "ERR 7", "x= INVALID/CALC"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			attribute := `{read: "X?", poll: 100ms, ` + test.attribute[1:]
			r := plug(t, head+test.extra+"\nattributes:\n  x: "+attribute+"\n")
			r.instrument.Answer("X?", test.reply)
			r.connect()
			expect(t, r.poll("x"), test.want)
		})
	}
}

func TestCA04TheAlarmTellsWhatTheDeviceSaid(t *testing.T) {
	for format, reply := range map[string]string{"%d": "7", "%s": "REMOTE2", "%{OFF|ON}": "REMOTE2"} {
		r := plug(t, head+`
attributes:
  x: {kind: enum, states: [A, B], read: "X?", poll: 100ms, reply: "`+format+`"}
`)
		r.instrument.Answer("X?", reply)
		r.connect()
		readings, err := r.driver.Poll(r.ctx, 0, nil)
		if err != nil || len(readings) != 1 || !strings.Contains(readings[0].Alarm.Text, reply) {
			t.Errorf("%s, %s: %+v, %v", format, reply, readings, err)
		}
	}
}

// TestLinesInPieces sends one reply in two pieces, cut at every byte, and
// then byte by byte.
func TestLinesInPieces(t *testing.T) {
	tests := []struct {
		name, terminator, reply, want string
	}{
		{"SD-11", `\r\r\r`, "run\r\r\r", "x=run"},
		{"SD-11 a terminator's byte in the data", `\r\r\r`, "a\rb\r\r\r", "x=a\rb"},
		{"SD-11 a false start", `\r\r\r`, "9\r\rz\r\r\r", "x=9\r\rz"},
		{"SD-12", `\r\n`, "ch=7,val=4123\r\n", "x=ch=7,val=4123"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := plug(t, `
out_terminator: "\r\n"
in_terminator: '`+test.terminator+`'
reply_timeout: 5s
read_timeout: 5s
attributes:
  x: {kind: string, read: "X?", reply: '%/(?s).*/', poll: 100ms}
`)
			pieces := make(chan []string, 1)
			r.instrument.Handle(func(string) (string, bool) {
				for _, piece := range <-pieces {
					// On the instrument's goroutine, so that the pieces are written one by one.
					if _, err := r.pair.Write([]byte(piece)); err != nil {
						t.Error(err)
					}
				}
				return "", false
			})
			pieces <- []string{test.reply}
			r.connect()
			for cut := range len(test.reply) {
				pieces <- []string{test.reply[:cut], test.reply[cut:]}
				expect(t, r.poll("x"), test.want)
			}
			var single []string
			for i := range len(test.reply) {
				single = append(single, test.reply[i:i+1])
			}
			pieces <- single
			expect(t, r.poll("x"), test.want)
		})
	}
}

func TestSD32AllOrNothing(t *testing.T) {
	r := plug(t, head+`
attributes:
  a: {kind: float64}
  b: {kind: float64}
  c: {kind: int8}
queries:
  all: {read: "X?", reply: "%f,%f,%d", values: [a, b, c], poll: 100ms}
`)
	r.instrument.Answer("X?", "1.0,2.0,3")
	r.connect()
	expect(t, r.poll("a"), "a=1, b=2, c=3")
	for _, reply := range []string{"1.0,2.0,bad", "1.0,2.0", "1.0,2.0,300", "1.0,2.0,3,4"} {
		r.instrument.Answer("X?", reply)
		expect(t, r.poll("a"), "a= INVALID/CALC, b= INVALID/CALC, c= INVALID/CALC")
	}
	r.instrument.Spoil("X?", devicetest.Fault{Half: true})
	expect(t, r.poll("a"), "a= INVALID/READ, b= INVALID/READ, c= INVALID/READ")
}

func TestSD27UnsolicitedLines(t *testing.T) {
	r := plug(t, head+`
attributes:
  v: {kind: int32, access: rw, read: "V?", reply: "%d", write: "SET %d", write_reply: "ok"}
  event: {kind: string, listen: "EVENT %/.*/"}
`)
	value := "0"
	r.instrument.Handle(func(request string) (string, bool) {
		if request == "V?" {
			return value, true
		}
		value = request[4:]
		return "ok", true
	})
	r.connect()
	r.instrument.Spoil("SET 5", devicetest.Fault{Before: "EVENT door open\r\n"})
	expect(t, r.put("v", "5"), "verified: v=5")
	r.delivered("event=door open")
	if err := r.instrument.Send("EVENT door sh"); err != nil {
		t.Fatal(err)
	}
	if err := r.instrument.Send("ut\r\nEVENT next\r\n"); err != nil {
		t.Fatal(err)
	}
	r.delivered("event=door shut, event=next")
	// An ok that came before the request is not its answer.
	if err := r.instrument.Send("ok\r\nok\r\nEVENT third\r\n"); err != nil {
		t.Fatal(err)
	}
	r.delivered("event=third")
	r.instrument.Spoil("SET 6", devicetest.Fault{Raw: "no\r\n"})
	expect(t, r.put("v", "6"), `sent refused_by_device "no": v=6`)
}

func TestWithoutTerminatorAReplyEndsInSilence(t *testing.T) {
	r := plug(t, `
out_terminator: "\r\n"
in_terminator: ""
reply_timeout: 1s
read_timeout: 50ms
attributes:
  x: {kind: string, read: "X?", reply: '%/(?s).*/', poll: 100ms}
`)
	r.instrument.Answer("X?", "abc")
	r.connect()
	expect(t, r.poll("x"), "x=abc\r\n")
}

func TestReadingsCarryTheTimeOfTheLastByte(t *testing.T) {
	r := plug(t, bare)
	r.instrument.Answer("T?", "1")
	r.instrument.Answer("P?", "1")
	r.connect()
	before := time.Now()
	readings, err := r.driver.Poll(r.ctx, 0, nil)
	if err != nil || len(readings) != 1 {
		t.Fatal(readings, err)
	}
	if at := readings[0].Time; at.Before(before) || at.After(time.Now()) {
		t.Errorf("time %v is not within the exchange", at)
	}
}
