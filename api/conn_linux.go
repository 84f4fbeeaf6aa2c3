package api

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout lets the kernel give a connection up whose peer has confirmed
// nothing for that long, as after a power cut. Without it the kernel would
// repeat itself for a quarter of an hour. A failure costs just that.
func setUserTimeout(c net.Conn) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
	})
}
