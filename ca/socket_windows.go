package ca

import (
	"syscall"

	"golang.org/x/sys/windows"
)

const bindBroadcast = false

// shareAddress lets several servers on this host have the same port, as base does.
func shareAddress(c syscall.RawConn) error {
	var err error
	controlled := c.Control(func(fd uintptr) {
		err = windows.SetsockoptInt(windows.Handle(fd), windows.SOL_SOCKET, windows.SO_REUSEADDR, 1)
	})
	if controlled != nil {
		return controlled
	}
	return err
}
