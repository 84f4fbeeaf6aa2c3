package graph

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout lets the kernel give a connection up whose peer has confirmed
// nothing for that long, as after a power cut. Without it the kernel would
// repeat itself for a quarter of an hour. Accepted connections inherit it from
// the listening socket. A failure costs just that.
func setUserTimeout(_, _ string, c syscall.RawConn) error {
	_ = c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
	return nil
}
