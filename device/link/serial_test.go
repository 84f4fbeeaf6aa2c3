package link_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link"
)

func TestSerialSettings(t *testing.T) {
	on := true
	for _, tc := range []struct {
		port       link.Serial
		name, want string
	}{
		{link.Serial{Path: "/dev/ttyUSB0"}, "/dev/ttyUSB0 at 9600 8N1", ""},
		{link.Serial{Path: "a", Baud: 300, DataBits: 7, Parity: link.ParityEven, StopBits: 2}, "a at 300 7E2", ""},
		{link.Serial{Path: "a", Flow: link.FlowRTSCTS}, "a at 9600 8N1 rtscts", ""},
		{link.Serial{Path: "a", Parity: link.ParityMark, RS485: &link.RS485{DelayAfter: time.Millisecond}}, "a at 9600 8M1 rs485", ""},
		{link.Serial{}, " at 9600 8N1", "no path"},
		{link.Serial{Path: "a", Baud: -9600}, "a at -9600 8N1", "baud"},
		{link.Serial{Path: "a", DataBits: 9}, "a at 9600 9N1", "data bits"},
		{link.Serial{Path: "a", StopBits: 3}, "a at 9600 8N3", "stop bits"},
		{link.Serial{Path: "a", Parity: "evn"}, "a at 9600 81", "parity"},
		{link.Serial{Path: "a", Flow: "hard"}, "a at 9600 8N1 hard", "flow control"},
		{link.Serial{Path: "a", Flow: link.FlowRTSCTS, RTS: &on}, "a at 9600 8N1 rtscts", "RTS"},
		{link.Serial{Path: "a", RS485: &link.RS485{DelayBefore: time.Microsecond}}, "a at 9600 8N1 rs485", "milliseconds"},
		{link.Serial{Path: "a", OpenDelay: -1}, "a at 9600 8N1", "delay"},
	} {
		if got := tc.port.String(); got != tc.name {
			t.Errorf("named %q, want %q", got, tc.name)
		}
		err := tc.port.Validate()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}
