package serial_test

import (
	"math"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
)

func TestLineShare(t *testing.T) {
	const byteTime = time.Millisecond
	const lines = `terminator: "\r\n"` + "\n"
	tests := []struct {
		name, config string
		want         float64 // milliseconds of each 100
	}{
		{"request, reply and turn-around", lines + `attributes: {t: {kind: float64, read: "T?", reply: "T=%5f", poll: 100ms}}`, 4 + 9 + 1},
		{"what is not polled costs nothing", lines + `attributes: {t: {kind: float64, read: "T?", reply: "T=%5f"}}`, 0},
		{"one request for two", lines + `attributes: {t: {kind: float64, read: "T?", reply: "%5f,%*2d", poll: 100ms}, u: {kind: int32, read: "T?", reply: "%*5f,%2d", poll: 1s}}`, 4 + 10 + 1},
		{"check bytes", `
terminator: "\x03"
out_terminator: "\x05"
check_bytes: 1
attributes: {t: {kind: float64, read: "PV", reply: '\x02PV%6f\x03%<xor>', poll: 100ms}}`, 3 + 11 + 1},
		{"fixed length", `{reply_length: 20, out_terminator: "", attributes: {t: {kind: float64, read: "T?", reply: "T%5f%*c", poll: 100ms}}}`, 2 + 20 + 1},
		{"silence and a pause", `{in_terminator: "", out_terminator: "", read_timeout: 30ms, write_delay: 10ms, attributes: {t: {kind: float64, read: "T?", reply: "%5f", poll: 100ms}}}`, 2 + 5 + 1 + 30 + 10},
		{"echo", lines + "echo: true\n" + `attributes: {t: {kind: float64, read: "T?", reply: "T=%5f", poll: 100ms}}`, 4 + 4 + 9 + 1},
		{"an array", lines + `attributes: {t: {kind: float64, shape: 4, separator: ",", read: "T?", reply: "%5f", poll: 100ms}}`, 4 + 23 + 2 + 1},
		{"two requests", lines + `attributes: {t: {kind: float64, read: "T?", reply: "%5f", poll: 100ms}, u: {kind: float64, read: "UU?", reply: "%5f", poll: 200ms}}`, 12 + 6.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			line := link.NewLine("line1", link.Serial{Path: "/dev/none"})
			d, err := serial.New("dev", decode(t, test.config), line, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if got := d.LineShare(byteTime) * 100; math.Abs(got-test.want) > 1e-9 {
				t.Errorf("got %v of 100 ms, want %v", got, test.want)
			}
		})
	}
}
