//go:build !unix

package link

import "syscall"

// nowReader reads what has arrived, and waits a moment for it where the system
// cannot tell otherwise.
type nowReader struct{ conn deadlineReader }

func newNowReader(c syscall.Conn) (nowReader, error) {
	return nowReader{conn: c.(deadlineReader)}, nil
}

func (r nowReader) read(b []byte) (int, error) {
	return readBriefly(r.conn, b)
}
