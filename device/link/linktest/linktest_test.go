package linktest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link/linktest"
)

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults linktest.Faults
		want   []string // the pieces of "abcdef"
	}{
		{"none", linktest.Faults{}, []string{"abcdef"}},
		{"split", linktest.Faults{Split: 4}, []string{"abcd", "ef"}},
		{"drop", linktest.Faults{Drop: func(i int) bool { return i%2 == 1 }}, []string{"ace"}},
		{"cut", linktest.Faults{CutAfter: 4, Split: 3}, []string{"abc", "d"}},
		{"delay", linktest.Faults{Delay: func() time.Duration { return time.Millisecond }}, []string{"abcdef"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			near, far := net.Pipe()
			p := linktest.Wrap(near, tc.faults)
			defer p.Close()
			go send(t, far, "abcdef")
			buf := make([]byte, 16)
			for _, want := range tc.want {
				if n, err := p.Read(buf); string(buf[:n]) != want || err != nil {
					t.Errorf("read %q, %v, want %q", buf[:n], err, want)
				}
			}
			if tc.faults.CutAfter > 0 {
				if _, err := p.Read(buf); !errors.Is(err, io.EOF) {
					t.Errorf("after the cut: %v", err)
				}
				return
			}
			p.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			if n, err := p.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("then %q, %v", buf[:n], err)
			}
			go send(t, p, "down")
			got := make([]byte, 4)
			if _, err := io.ReadFull(far, got); err != nil || string(got) != "down" {
				t.Errorf("the other way: %q, %v", got, err)
			}
			p.Close()
			if _, err := far.Read(got); err == nil || !strings.Contains(err.Error(), "EOF") {
				t.Errorf("after closing: %v", err)
			}
		})
	}
}

func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Error(err)
	}
}
