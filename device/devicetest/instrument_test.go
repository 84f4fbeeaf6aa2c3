package devicetest_test

import (
	"io"
	"net"
	"slices"
	"testing"

	"github.com/polygate/gateway/device/devicetest"
)

// ask writes a request and reads as many bytes as the wanted reply has.
func ask(t *testing.T, conn io.ReadWriter, request, want string) {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, want)
}

func expect(t *testing.T, conn io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func TestInstrumentFaults(t *testing.T) {
	const end = "\r\n"
	hold := make(chan struct{})
	tests := map[string]struct {
		fault devicetest.Fault
		want  string
	}{
		"none":    {devicetest.Fault{}, "21.5\r\n"},
		"half":    {devicetest.Fault{Half: true}, "21"},
		"echo":    {devicetest.Fault{Echo: true}, "T?\r\n21.5\r\n"},
		"garbled": {devicetest.Fault{Raw: "\x00\xff"}, "\x00\xff"},
		"extra":   {devicetest.Fault{Before: "EVENT\r\n", After: "!"}, "EVENT\r\n21.5\r\n!"},
		// The late reply comes with the next request, before its reply.
		"late":   {devicetest.Fault{Behind: 1}, ""},
		"silent": {devicetest.Fault{Silent: true}, ""},
		"held":   {devicetest.Fault{Until: hold}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			instrument := devicetest.StartInstrument(t, far, devicetest.Line{RequestEnd: end, ReplyEnd: end})
			instrument.Answer("T?", "21.5")
			instrument.Answer("P?", "1013")
			instrument.Spoil("T?", test.fault)
			ask(t, near, "T?\r\n", test.want)
			if name == "late" {
				ask(t, near, "P?\r\n", "21.5\r\n")
				expect(t, near, "1013\r\n")
			} else {
				ask(t, near, "P?\r\n", "1013\r\n")
			}
			if name == "held" {
				close(hold)
				expect(t, near, "21.5\r\n")
			}
			if got := instrument.Requests(); !slices.Equal(got, []string{"T?", "P?"}) {
				t.Errorf("requests %q", got)
			}
		})
	}
}

// Requests may come in pieces, and without any end.
func TestInstrumentSplitRequests(t *testing.T) {
	for _, line := range []devicetest.Line{{RequestEnd: "\r\r\r", ReplyEnd: ";"}, {ReplyEnd: ";"}} {
		near, far := net.Pipe()
		instrument := devicetest.StartInstrument(t, far, line)
		instrument.Answer("a\rb", "1")
		for _, b := range []byte("a\rb" + line.RequestEnd) {
			if _, err := near.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, near, "1;")
		near.Close()
	}
}
