//go:build linux && (386 || amd64 || arm || arm64 || loong64 || riscv64 || s390x)

package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Open opens the port for this process alone, in raw mode. While another
// process has it the error says which one.
func (s Serial) Open(ctx context.Context) (Port, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	p, err := openSerial(s)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", s.Path, err)
	}
	if err := p.setUp(s); err != nil {
		p.Close()
		return nil, fmt.Errorf("opening %s: %w", s.Path, err)
	}
	if err := pause(ctx, s.OpenDelay); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// serialPort is an open serial port. It is an os.File in non-blocking mode, so
// that deadlines and Close end blocked calls.
type serialPort struct {
	*os.File
	now      nowReader
	byteTime time.Duration
	watch    *linkWatch            // nil unless the path is a symbolic link
	cause    atomic.Pointer[error] // why the watch closed the file
}

func openSerial(s Serial) (*serialPort, error) {
	fd, err := unix.Open(s.Path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, inUse(s.Path)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), s.Path)
	now, err := newNowReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &serialPort{File: f, now: now, byteTime: s.ByteTime()}, nil
}

func (p *serialPort) setUp(s Serial) error {
	err := p.control(func(fd int) error {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS2); err != nil {
			return fmt.Errorf("it is not a serial port: %w", err)
		}
		// The lock comes first: who does not get it must not change a setting.
		// It keeps out who asks for it, root included.
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			if errors.Is(err, unix.EWOULDBLOCK) {
				return inUse(s.Path)
			}
			return fmt.Errorf("locking: %w", err)
		}
		if err := takeExclusive(fd); err != nil {
			return fmt.Errorf("taking exclusive use: %w", err)
		}
		if err := setTermios(fd, s); err != nil {
			return err
		}
		if s.RS485 != nil {
			if err := setRS485(fd, *s.RS485); err != nil {
				return fmt.Errorf("it cannot switch an RS-485 line: %w", err)
			}
		}
		if err := setModemLine(fd, unix.TIOCM_DTR, s.DTR); err != nil {
			return fmt.Errorf("it cannot set DTR: %w", err)
		}
		if err := setModemLine(fd, unix.TIOCM_RTS, s.RTS); err != nil {
			return fmt.Errorf("it cannot set RTS: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.watch, err = watchLink(p.File, s.Path, func(cause error) {
		p.cause.Store(&cause)
		_ = p.letGo() // The port is given up, and cause says why.
	})
	return err
}

// takeExclusive keeps out those who do not ask for the lock, unless they are
// root. A pseudo-terminal would stay exclusive after we were killed, for as long
// as the simulator on its other side lives: there the lock has to do.
func takeExclusive(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if major := unix.Major(st.Rdev); major >= firstPTYMajor && major <= lastPTYMajor {
		return nil
	}
	return unix.IoctlSetInt(fd, unix.TIOCEXCL, 0)
}

// Device numbers of pseudo-terminals (devices.txt of Linux: 136-143 char).
const (
	firstPTYMajor = 136
	lastPTYMajor  = 143
)

// control calls f with the descriptor.
func (p *serialPort) control(f func(fd int) error) error {
	rc, err := p.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := rc.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// Read reads what is there.
func (p *serialPort) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	return n, p.explain(err)
}

// ReadNow reads without waiting.
func (p *serialPort) ReadNow(b []byte) (int, error) {
	n, err := p.now.read(b)
	return n, p.explain(err)
}

// Write writes all of b.
func (p *serialPort) Write(b []byte) (int, error) {
	n, err := p.File.Write(b)
	return n, p.explain(err)
}

func (p *serialPort) explain(err error) error {
	if err != nil {
		if cause := p.cause.Load(); cause != nil {
			return *cause
		}
	}
	return err
}

// Break holds the line in the break condition for d.
func (p *serialPort) Break(ctx context.Context, d time.Duration) error {
	if err := p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCSBRK, 0) }); err != nil {
		return err
	}
	err := pause(ctx, d)
	return errors.Join(err, p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCCBRK, 0) }))
}

// maxDrain bounds how long Close lets written bytes leave.
const maxDrain = 500 * time.Millisecond

// Close lets what was written leave the port, for as long as that takes at its
// rate but not for long, and closes it. What is left then, as when the other
// side holds us up, is dropped: the kernel would wait for it for half a minute.
func (p *serialPort) Close() error {
	var queued int
	err := p.control(func(fd int) (err error) {
		queued, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		return err
	})
	if err == nil && queued > 0 {
		<-time.After(min(maxDrain, time.Duration(queued)*p.byteTime+10*time.Millisecond))
	}
	err = p.letGo()
	if p.watch != nil {
		p.watch.close()
	}
	return err
}

// letGo closes the file after undoing what would outlive it: the kernel keeps
// exclusive use for as long as anybody has the port open.
func (p *serialPort) letGo() error {
	// Errors mean that the device is gone, and its state with it.
	_ = p.control(func(fd int) error {
		return errors.Join(unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH), unix.IoctlSetInt(fd, unix.TIOCNXCL, 0))
	})
	return p.File.Close()
}
