//go:build unix

package ca

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// bindBroadcast: Linux and its like give broadcasts to sockets alone that are bound to any
// address or to the broadcast address itself.
const bindBroadcast = true

// shareAddress lets several servers on this host have the same port, as base does.
func shareAddress(c syscall.RawConn) error {
	var err error
	controlled := c.Control(func(fd uintptr) {
		if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err == nil {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		}
	})
	if controlled != nil {
		return controlled
	}
	return err
}

// canLook: sockets do not block, so that readNow can tell what is there.
const canLook = true

// readNow reads what is there; empty says that nothing is, and the other side may
// still send.
func readNow(fd uintptr, buf []byte) (n int, empty bool, err error) {
	for {
		n, err = unix.Read(int(fd), buf)
		switch {
		case err == nil:
			return n, false, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, true, nil
		case !errors.Is(err, unix.EINTR):
			return 0, false, os.NewSyscallError("read", err)
		}
	}
}
