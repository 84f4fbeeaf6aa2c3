package bus

import (
	"context"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// A cut that nobody tells of must be noticed before heartbeats are given up, also
// where nothing is sent. What the kernel makes of it shows in the tests with containers.
func TestConnectionsAreGivenUpSoonByTheKernel(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := (&dialer{lifetime: context.Background()}).Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []struct {
		name              string
		level, what, want int
	}{
		{"unacknowledged, in ms", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 3000},
		{"probes", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"the first, in s", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 1},
		{"the next, in s", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 1},
		{"how many", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 2},
	} {
		got := 0
		if err := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), option.level, option.what) }); err != nil {
			t.Fatal(err)
		}
		if err != nil || got != option.want {
			t.Errorf("%s: %d (%v), want %d", option.name, got, err, option.want)
		}
	}
}
