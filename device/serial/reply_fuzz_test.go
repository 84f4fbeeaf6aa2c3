package serial

import (
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
)

// FuzzReply gives any bytes as the reply to attributes of many kinds: what
// comes out is of the attribute's type, or nothing with an INVALID alarm.
func FuzzReply(f *testing.F) {
	var c Config
	if err := yaml.Load([]byte(`
terminator: "\r\n"
attributes:
  float: {kind: float64, read: "1", reply: "%f", special: [{above: 9.8e37, value: inf}]}
  narrow: {kind: int8, read: "2", reply: "%d"}
  hex: {kind: int16, read: "3", reply: "%x"}
  scaled: {kind: uint8, read: "4", reply: "%d", scale: 2, offset: -10}
  text: {kind: string, max_length: 20, read: "5", reply: "%/(?s).*/"}
  bytes: {kind: bytes, read: "6", reply: "%s"}
  state: {kind: enum, states: [A, {label: B, raw: 7}], read: "7", reply: "%d"}
  word: {kind: enum, states: [A, {label: B, raw: '\181'}], read: "8", reply: "%s"}
  flag: {kind: bool, read: "9", reply: "%{no|yes}"}
  list: {kind: float32, shape: 3, read: "10", reply: "[%f]", separator: ","}
  words: {kind: string, shape: 3, read: "11", reply: "%s", separator: ","}
`), &c); err != nil {
		f.Fatal(err)
	}
	p, problems := c.compile("dev")
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	for _, reply := range []string{"1.5", "300", "FFE0", "-1", "\xa8", "7", "\xb5", "yes", "[1,2,3]", "a,,b", "9.9E37", "NaN", "1e400"} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		for _, x := range p.exchanges {
			target := &x.targets[0]
			values, err := target.format.Match(reply)
			if err != nil {
				continue
			}
			for _, r := range target.readings(values, time.Time{}, nil) {
				a := &p.model.Attributes[r.Index]
				switch {
				case r.Failed():
					if r.Alarm.Severity != gateway.Invalid || !utf8.ValidString(r.Alarm.Text) {
						t.Errorf("%s: no value, and the alarm is %+v", a.Path, r.Alarm)
					}
				case a.Check(r.Value) != nil:
					t.Errorf("%s: %v", a.Path, a.Check(r.Value))
				}
			}
		}
	})
}
