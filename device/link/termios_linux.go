//go:build linux && (386 || amd64 || arm || arm64 || loong64 || riscv64 || s390x)

package link

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setTermios puts the terminal into fully raw mode with the settings of s.
func setTermios(fd int, s Serial) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return fmt.Errorf("reading its settings: %w", err)
	}
	// HUPCL is left out: closing must not move the modem lines.
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = unix.CREAD | unix.CLOCAL | unix.BOTHER
	t.Ispeed, t.Ospeed = uint32(s.Baud), uint32(s.Baud)
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0

	t.Cflag |= map[int]uint32{5: unix.CS5, 6: unix.CS6, 7: unix.CS7, 8: unix.CS8}[s.DataBits]
	if s.StopBits == 2 {
		t.Cflag |= unix.CSTOPB
	}
	switch s.Parity {
	case ParityEven:
		t.Cflag |= unix.PARENB
	case ParityOdd:
		t.Cflag |= unix.PARENB | unix.PARODD
	case ParitySpace:
		t.Cflag |= unix.PARENB | unix.CMSPAR
	case ParityMark:
		t.Cflag |= unix.PARENB | unix.PARODD | unix.CMSPAR
	}
	if s.Parity != ParityNone {
		// A byte with the wrong parity is read as NUL, which no reply matches.
		t.Iflag |= unix.INPCK
	}
	switch s.Flow {
	case FlowXonXoff:
		t.Iflag |= unix.IXON | unix.IXOFF
		t.Cc[unix.VSTART], t.Cc[unix.VSTOP] = 0x11, 0x13
	case FlowRTSCTS:
		t.Cflag |= unix.CRTSCTS
	}
	if err := unix.IoctlSetTermios(fd, unix.TCSETS2, t); err != nil {
		return fmt.Errorf("setting %s: %w", s, err)
	}
	return checkBaud(fd, s.Baud)
}

// checkBaud sees whether the port took the rate: a driver that cannot do it
// takes another one without an error.
func checkBaud(fd, want int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return fmt.Errorf("reading its settings back: %w", err)
	}
	got := int(t.Ospeed)
	// Five per cent is half a bit over one byte, beyond which nothing is received.
	if off := max(got-want, want-got); off*20 > want {
		return fmt.Errorf("it cannot do %d baud (it would do %d)", want, got)
	}
	return nil
}

// setModemLine sets one line, if asked to.
func setModemLine(fd, line int, on *bool) error {
	if on == nil {
		return nil
	}
	if *on {
		return unix.IoctlSetPointerInt(fd, unix.TIOCMBIS, line)
	}
	return unix.IoctlSetPointerInt(fd, unix.TIOCMBIC, line)
}

// serialRS485 is struct serial_rs485 of linux/serial.h.
type serialRS485 struct {
	flags       uint32
	delayBefore uint32 // milliseconds
	delayAfter  uint32
	_           [5]uint32
}

// Flags of struct serial_rs485.
const (
	rs485Enabled      = 1 << 0
	rs485RTSOnSend    = 1 << 1
	rs485RTSAfterSend = 1 << 2
	rs485RxDuringTx   = 1 << 4
)

func setRS485(fd int, r RS485) error {
	c := serialRS485{
		flags:       rs485Enabled | rs485RTSOnSend,
		delayBefore: uint32(r.DelayBefore / time.Millisecond),
		delayAfter:  uint32(r.DelayAfter / time.Millisecond),
	}
	if r.SendLow {
		c.flags = rs485Enabled | rs485RTSAfterSend
	}
	if r.ReceiveOwn {
		c.flags |= rs485RxDuringTx
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSRS485, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return errno
	}
	return nil
}
