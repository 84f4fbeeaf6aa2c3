package link

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout ends the connection when what was sent is not acknowledged in
// time: keep-alive probes are not sent while data is under way.
func setUserTimeout(c *net.TCPConn, d time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	}); cerr != nil {
		return cerr
	}
	return os.NewSyscallError("setsockopt", err)
}
