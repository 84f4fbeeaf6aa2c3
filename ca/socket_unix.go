//go:build unix

package ca

import (
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
