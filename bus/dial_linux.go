package bus

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged ends a connection whose other side acknowledges nothing: where
// something was sent, the kernel would try for a quarter of an hour.
func limitUnacknowledged(_, _ string, c syscall.RawConn) error {
	var err error
	if controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unheardTimeout.Milliseconds()))
	}); controlErr != nil {
		return controlErr
	}
	return os.NewSyscallError("setsockopt", err)
}
