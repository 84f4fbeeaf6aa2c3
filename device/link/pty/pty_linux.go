package pty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Pair is a pseudo-terminal seen from the instrument's side. Its methods may be
// called by several goroutines, and Close ends blocked calls.
type Pair struct {
	*os.File        // the instrument's side: Read, Write, deadlines
	Path     string // of the side that is opened as a port

	// held keeps the other side open: the kernel fails reads of this side
	// whenever nobody has the port open.
	held *os.File
}

// Open makes a pseudo-terminal in raw mode, so that nothing is echoed or changed
// even before a port is opened on it.
func Open() (*Pair, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("making a pseudo-terminal: %w", err)
	}
	path, err := unlock(master)
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("making a pseudo-terminal: %w", err)
	}
	held, err := openRaw(path)
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("making a pseudo-terminal: %w", err)
	}
	return &Pair{File: master, Path: path, held: held}, nil
}

// unlock lets the other side be opened and returns its path. It does not use
// File.Fd, which would make the file blocking and its deadlines useless.
func unlock(master *os.File) (string, error) {
	raw, err := master.SyscallConn()
	if err != nil {
		return "", err
	}
	var number int
	if cerr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); cerr != nil {
		return "", cerr
	}
	if err != nil {
		return "", os.NewSyscallError("ioctl", err)
	}
	return fmt.Sprintf("/dev/pts/%d", number), nil
}

// openRaw opens the other side and switches off all processing of bytes.
func openRaw(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err == nil {
		t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		err = unix.IoctlSetTermios(fd, unix.TCSETS, t)
	}
	if err != nil {
		f.Close()
		return nil, os.NewSyscallError("ioctl", err)
	}
	return f, nil
}

// Unplug does to the port what pulling the adapter does: whoever has it open
// sees a hang-up, and its node vanishes. It ends blocked calls of this side,
// too, and is the same as Close: to plug in again, open another Pair.
func (p *Pair) Unplug() error { return p.Close() }

// Close ends the pseudo-terminal.
func (p *Pair) Close() error {
	err := p.File.Close()
	p.held.Close()
	return err
}
