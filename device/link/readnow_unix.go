//go:build unix

package link

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nowReader reads from a non-blocking descriptor without waiting, whatever the
// deadline of its file or connection is. It is for one goroutine at a time.
type nowReader struct {
	raw syscall.RawConn
	op  *nowRead
	do  func(uintptr) // made once, so that reading allocates nothing
}

type nowRead struct {
	b   []byte
	n   int
	err error
}

func newNowReader(c syscall.Conn) (nowReader, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nowReader{}, err
	}
	op := &nowRead{}
	return nowReader{raw: raw, op: op, do: func(fd uintptr) {
		for {
			op.n, op.err = unix.Read(int(fd), op.b)
			if !errors.Is(op.err, unix.EINTR) {
				return
			}
		}
	}}, nil
}

func (r nowReader) read(b []byte) (int, error) {
	r.op.b = b
	if err := r.raw.Control(r.do); err != nil {
		return 0, err
	}
	r.op.b = nil
	switch {
	case errors.Is(r.op.err, unix.EAGAIN):
		return 0, nil
	case r.op.err != nil:
		return 0, os.NewSyscallError("read", r.op.err)
	case r.op.n == 0:
		return 0, io.EOF
	}
	return r.op.n, nil
}
