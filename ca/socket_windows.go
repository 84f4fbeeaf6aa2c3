package ca

import (
	"errors"
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

// canLook: reads of sockets are ordered here, not tried.
const canLook = false

func readNow(uintptr, []byte) (n int, empty bool, err error) { return 0, false, errors.ErrUnsupported }
