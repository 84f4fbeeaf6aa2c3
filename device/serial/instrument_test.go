package serial_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/serial"
)

// simulate makes the instrument of a configuration.
func simulate(t *testing.T, config string) *serial.Instrument {
	t.Helper()
	i, problems := serial.NewInstrument("dev", decode(t, config), 1)
	if i == nil {
		t.Fatal(problems)
	}
	for _, p := range problems {
		t.Error(p)
	}
	return i
}

const end = `terminator: "\r\n"` + "\n"

func TestAnInstrumentFromItsConfiguration(t *testing.T) {
	tests := []struct {
		name, config string
		talk         []string // requests and replies in turn; "-" is none
	}{
		{
			"numbers are held", end + `attributes: {v: {kind: float64, access: rw, read: "V?", reply: "V=%f", write: "V=%.2f"}}`,
			[]string{"V?", "V=0.000000", "V=1.25", "-", "V?", "V=1.250000", "W?", "-"},
		},
		{
			"a limit above zero", end + `attributes: {v: {kind: int32, access: rw, read: "V?", reply: "%d", write: "V=%d", limits: {low: 3}}}`,
			[]string{"V?", "3"},
		},
		{
			"an acknowledgement with the value", end + `attributes: {v: {kind: int32, access: rw, read: "V?", reply: "%d", write: "V=%d", write_reply: "set %=d"}}`,
			[]string{"V=7", "set 7", "V?", "7"},
		},
		{
			"states by number and by text", end + `attributes:
  a: {kind: enum, states: [{label: Off, raw: 3}, {label: On, raw: 5}], access: rw, read: "A?", reply: "%d", write: "A=%d"}
  b: {kind: enum, states: [{label: Manual, raw: m0}, {label: Auto, raw: a0}], access: rw, read: "B?", reply: "%s", write: "B%s"}`,
			[]string{"A?", "3", "A=5", "-", "A?", "5", "A=4", "-", "A?", "5", "B?", "m0", "Ba0", "-", "B?", "a0"},
		},
		{
			"text in quotes", end + `attributes: {n: {kind: string, access: rw, read: "N?", reply: "%[ -~]", write: 'N "%s"'}}`,
			[]string{`N "cold plate"`, "-", "N?", "cold plate"},
		},
		{
			"scale, and hexadecimal digits that fill their width", end + `attributes: {t: {kind: float64, scale: 0.1, read: "T", reply: "%!4x", simulate: {value: 21.5}}}`,
			[]string{"T", "00d7"},
		},
		{
			"several values in one reply", end + `attributes: {a: {kind: float64, simulate: {value: 1.5}}, b: {kind: int32, simulate: {value: 2}}}
queries: {all: {read: "?", reply: "%f,%*d,%d", values: [a, b]}}`,
			[]string{"?", "1.500000,0,2"},
		},
		{
			"two formats of one reply", end + `attributes: {a: {kind: int32, read: "?", reply: "%d,%*d", simulate: {value: 1}}, b: {kind: int32, read: "?", reply: "%*d,%d", simulate: {value: 2}}}`,
			[]string{"?", "1,2"},
		},
		{
			"arrays", end + `attributes: {a: {kind: int32, shape: 3, separator: ",", access: rw, read: "?", reply: "%d", write: "=%d"}}`,
			[]string{"?", "0,0,0", "=1,2", "-", "?", "1,2"},
		},
		{
			"a script", end + `attributes: {a: {kind: float64, read: "?", reply: "%f", simulate: {script: [1, 2.5]}}}`,
			[]string{"?", "1.000000", "?", "2.500000", "?", "1.000000"},
		},
		{
			"decimal comma", end + `decimal: ","` + "\n" + `attributes: {a: {kind: float64, read: "?", reply: "%f V", simulate: {value: 2.5}}}`,
			[]string{"?", "2,500000 V"},
		},
		{
			"a checksum", `
out_terminator: "\x03"
in_terminator: "\x03"
check_bytes: 1
attributes: {a: {kind: int32, access: rw, read: "A", reply: '\x02A%d\x03%1<xor>', write: '\x02A%d'}}`,
			[]string{"A", "\x02A0\x03\x72"},
		},
		{
			"echo", end + "echo: true\n" + `attributes: {a: {kind: int32, access: rw, read: "A?", reply: "%d", write: "A=%d"}}`,
			[]string{"A?", "A?\r\n0", "A=4", "A=4", "A?", "A?\r\n4"},
		},
		{
			"steps and a question for errors", end + `attributes: {a: {kind: int32, access: rw, read: "A?", reply: "%d", write: ["CLR", "A %d", {send: "ERR?", reply: '0,"none"'}]}, e: {kind: int32, read: "ERR?", reply: '%d,%*[ -~]'}}`,
			[]string{"CLR", "-", "A 5", "-", "ERR?", `0,"none"`, "A?", "5"},
		},
		{
			"a handshake says what the next reply is", end + `attributes:
  a: {kind: int32, read: [{send: PR1, reply: '\x06'}, '\x05'], reply: "%d", simulate: {value: 1}}
  b: {kind: int32, read: [{send: PR2, reply: '\x06'}, '\x05'], reply: "%d", simulate: {value: 2}}`,
			[]string{"PR2", "\x06", "\x05", "2", "PR1", "\x06", "\x05", "1"},
		},
		{
			"a reply that one format rewrites and the other does not", end + `attributes:
  p: {kind: float64, read: "?", reply: '%#/^[1-6],.*/9.9E37/%#/^0,//%f'}
  s: {kind: enum, states: [Good, Bad], read: "?", reply: "%d,%*f", simulate: {value: Good}}`,
			[]string{"?", "0,0.000000"},
		},
		{
			"a question without its handshake", end + `attributes: {a: {kind: int32, read: [{send: PR1, reply: '\x06'}, '\x05'], reply: "%d"}}`,
			[]string{"\x05", "-", "PR1", "\x06", "\x05", "0", "\x05", "-"},
		},
		{
			"it listens to its address only", end + "address: 6\nbefore: {send: \"ADR {address}\", reply: OK}\n" + `attributes: {a: {kind: int32, read: "A?", reply: "%d"}}`,
			[]string{"A?", "-", "ADR 6", "OK", "A?", "0", "ADR 7", "-", "A?", "-"},
		},
		{
			"a toggle", end + `attributes: {a: {kind: bool, access: rw, read: "A?", reply: "%d", write: ["unlock", {send: "A", reply: A}], toggle: true}}` + "\ncommands: {press: {send: A, send_reply: A}}",
			[]string{"A?", "0", "unlock", "-", "A?", "0", "A", "A", "A?", "1", "A", "A", "A?", "0"},
		},
		{
			"commands", end + `attributes: {a: {kind: int32, read: "A?", reply: "%d"}}
commands: {go: {send: "GO", send_reply: "OK"}, ask: {send: "Q %d", argument: {kind: int32}, reply: "%f", result: {kind: float64}}}`,
			[]string{"GO", "OK", "Q 4", "0.000000"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i, now := simulate(t, test.config), time.Unix(1, 0)
			for n := 0; n < len(test.talk); n += 2 {
				got, ok := i.Handle(now, test.talk[n])
				if !ok {
					got = "-"
				}
				if got != test.talk[n+1] {
					t.Errorf("%q: got %q, want %q", test.talk[n], got, test.talk[n+1])
				}
			}
		})
	}
}

func TestSimulatedRampAndNoise(t *testing.T) {
	i := simulate(t, end+`attributes:
  r: {kind: float64, read: "R", reply: "%f", simulate: {value: 10, ramp: {to: 20, over: 10s}}}
  n: {kind: float64, access: rw, read: "N", reply: "%f", write: "N%f", simulate: {value: 5, noise: 0.1}}`)
	start := time.Unix(1000, 0)
	if got, _ := i.Handle(start, "R"); got != "10.000000" {
		t.Errorf("at first: %s", got)
	}
	for after, want := range map[time.Duration]string{4 * time.Second: "14.000000", 12 * time.Second: "12.000000"} {
		if got, _ := i.Handle(start.Add(after), "R"); got != want {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
	one, _ := i.Handle(start, "N")
	two, _ := i.Handle(start, "N")
	if one == two || !strings.HasPrefix(one, "4.") && !strings.HasPrefix(one, "5.") {
		t.Errorf("no noise: %s, %s", one, two)
	}
	i.Handle(start, "N100")
	if got, _ := i.Handle(start, "N"); !strings.HasPrefix(got, "99.") && !strings.HasPrefix(got, "100.") {
		t.Errorf("after a put: %s", got)
	}
}

func TestWhatCannotBeSimulatedIsTold(t *testing.T) {
	i, problems := serial.NewInstrument("dev", decode(t, end+`attributes: {a: {kind: string, read: "A?", reply: "%/x+/"}, b: {kind: int32, read: "B?", reply: "%d"}}`), 1)
	if len(problems) != 1 || !problems[0].Warning || !strings.Contains(problems[0].Msg, `the reply to "A?" cannot be simulated`) {
		t.Errorf("got %v", problems)
	}
	if _, ok := i.Handle(time.Now(), "A?"); ok {
		t.Error("it was answered")
	}
	if got, _ := i.Handle(time.Now(), "B?"); got != "0" {
		t.Errorf("the rest is not simulated: %q", got)
	}
	if i, problems = serial.NewInstrument("dev", decode(t, end+`attributes: {a: {kind: string, read: "A?", reply: "%q"}}`), 1); i != nil || len(problems) == 0 {
		t.Error("a mistake was taken")
	}
}

func TestMistakesInWhatIsSimulated(t *testing.T) {
	for simulate, want := range map[string]string{
		"{value: warm}":                          "simulate.value",
		"{script: [1, warm]}":                    "simulate.script",
		"{ramp: {to: 3}}":                        "simulate.ramp.over",
		"{ramp: {to: 3, over: 1s}, script: [1]}": "not both",
		"{noise: -1}":                            "no standard deviation",
	} {
		c := decode(t, end+`attributes: {a: {kind: float64, read: "A?", reply: "%f", simulate: `+simulate+`}}`)
		problems := c.Check("dev")
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: got %v, want %s", simulate, problems, want)
		}
	}
}
