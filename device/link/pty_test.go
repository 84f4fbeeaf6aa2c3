//go:build linux

package link_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
)

func openPair(tb testing.TB) *pty.Pair {
	tb.Helper()
	p, err := pty.Open()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// ptyLine is a served line on a new pseudo-terminal.
func ptyLine(tb testing.TB) (*link.Line, *watched, *pty.Pair) {
	tb.Helper()
	pair := openPair(tb)
	l := link.NewLine("line", link.Serial{Path: pair.Path}, fastRetry())
	w := watch(l)
	serve(tb, l)
	w.until(tb, true)
	return l, w, pair
}

func unplug(t *testing.T, pair *pty.Pair) {
	t.Helper()
	if err := pair.Unplug(); err != nil {
		t.Error(err)
	}
}

// cook gives the terminal the line discipline of a login.
func cook(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	term, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	term.Iflag |= unix.ICRNL | unix.IXON | unix.ISTRIP
	term.Oflag |= unix.OPOST | unix.ONLCR
	term.Lflag |= unix.ECHO | unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, term); err != nil {
		t.Fatal(err)
	}
}

func TestSD19All256Bytes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	const start, stop = "\x11", "\x13"
	for flow, want := range map[link.Flow]string{
		link.FlowNone:    string(all),
		link.FlowXonXoff: strings.NewReplacer(start, "", stop, "").Replace(string(all)),
	} {
		pair := openPair(t)
		cook(t, pair.Path)
		l := link.NewLine("line", link.Serial{Path: pair.Path, Flow: flow, Baud: 28800}, fastRetry())
		w := watch(l)
		serve(t, l)
		w.until(t, true)
		go func() { mustWrite(t, pair, string(all)) }()
		w.hear(t, want)
		if flow != link.FlowNone {
			continue // The instrument's 0x13 has stopped our side.
		}
		err := l.Do(context.Background(), w.User, link.Put, func(c *link.Conn) error {
			_, err := c.Write(all)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		mustRead(t, pair, string(all))
	}
}

func TestSD17ModemLinesOnlyIfAskedFor(t *testing.T) {
	pair := openPair(t)
	on, off := true, false
	for _, tc := range []struct {
		port link.Serial
		want string
	}{
		{link.Serial{Baud: 9600}, ""},
		{link.Serial{Baud: 28800, Parity: link.ParityEven, StopBits: 2}, ""},
		{link.Serial{Baud: 250000, Flow: link.FlowRTSCTS}, ""},
		{link.Serial{DTR: &on}, "cannot set DTR"},
		{link.Serial{DTR: &off}, "cannot set DTR"},
		{link.Serial{RTS: &on}, "cannot set RTS"},
		{link.Serial{RS485: &link.RS485{}}, "cannot switch an RS-485 line"},
		{link.Serial{Path: "/dev/null"}, "not a serial port"},
		{link.Serial{Path: os.DevNull + "1"}, "no such file"},
		{link.Serial{Baud: -1}, "not a baud rate"},
	} {
		if tc.port.Path == "" {
			tc.port.Path = pair.Path
		}
		p, err := tc.port.Open(context.Background())
		if err == nil {
			p.Close()
		}
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.port, err, tc.want)
		}
	}
}

func TestSD14LossIsNoticedWithoutTraffic(t *testing.T) {
	_, w, pair := ptyLine(t)
	unplug(t, pair)
	if s := w.until(t, false); s.Losses != 1 {
		t.Errorf("state %+v", s)
	}
}

func TestSD14LossInARead(t *testing.T) {
	l, w, pair := ptyLine(t)
	err := l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
		go unplug(t, pair)
		_, _, err := c.Read(make([]byte, 1), time.Time{})
		return err
	})
	if !errors.Is(err, link.ErrLost) {
		t.Errorf("got %v", err)
	}
	w.until(t, false)
}

func TestSD14LossJustAfterAnExchange(t *testing.T) {
	l, w, pair := ptyLine(t)
	go echo(pair)
	if _, err := query(l, w.User, "x\n"); err != nil {
		t.Error(err)
	}
	unplug(t, pair)
	w.until(t, false)
	if _, err := query(l, w.User, "x\n"); !errors.Is(err, link.ErrNotOpen) {
		t.Errorf("got %v", err)
	}
}

func TestSD14ReopenedByItsLink(t *testing.T) {
	name := filepath.Join(t.TempDir(), "usb-FTDI-port0")
	l := link.NewLine("line", link.Serial{Path: name}, fastRetry())
	w := watch(l)
	serve(t, l)
	if s := w.until(t, false); s.Connected { // OPS-04: absent at first.
		t.Errorf("state %+v", s)
	}
	replug := func() *pty.Pair {
		pair := openPair(t)
		go echo(pair)
		if err := pty.Link(pair.Path, name); err != nil {
			t.Fatal(err)
		}
		return pair
	}
	check := func() {
		t.Helper()
		if got, err := query(l, w.User, "x\n"); got != "x\n" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	replug()
	w.until(t, true)
	check()

	// The link vanishes, and comes back with another node behind it.
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if s := w.until(t, false); !strings.Contains(s.Words, "gone") {
		t.Errorf("words %q", s.Words)
	}
	second := replug()
	w.until(t, true)
	check()

	// It is re-pointed while the old node lives on.
	replug()
	if s := w.until(t, false); !strings.Contains(s.Words, "leads to another port") {
		t.Errorf("words %q", s.Words)
	}
	w.until(t, true)
	second.Close()
	check()
}

func TestOPS07OneProcessTwoLinks(t *testing.T) {
	l, _, pair := ptyLine(t)
	_, err := link.Serial{Path: pair.Path}.Open(context.Background())
	if err == nil || !strings.Contains(err.Error(), "in use by this process") {
		t.Errorf("got %v", err)
	}
	if !l.State().Connected {
		t.Error("the first lost its port")
	}
}

func TestOPS07TwoProcessesOnePort(t *testing.T) {
	pair := openPair(t)
	go echo(pair)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "LINK_TEST_HOLD="+pair.Path)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "open\n" {
		t.Fatalf("the other process said %q, %v", said, err)
	}

	l := link.NewLine("line", link.Serial{Path: pair.Path}, fastRetry())
	w := watch(l)
	serve(t, l)
	receive(t, w.states) // Not opened yet.
	want := fmt.Sprintf("port in use by pid %d (%.15s)", other.Process.Pid, filepath.Base(os.Args[0]))
	if s := receive(t, w.states); !strings.Contains(s.Words, want) {
		t.Errorf("told %q, want %q", s.Words, want)
	}
	in.Close()
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	w.until(t, true)
	if _, err := query(l, w.User, "x\n"); err != nil {
		t.Error(err)
	}
}

// shutDownWhile ends a line while an exchange is blocked on it, and returns the
// error of the exchange.
func shutDownWhile(t *testing.T, exchange func(c *link.Conn, started func()) error) error {
	t.Helper()
	pair := openPair(t)
	l := link.NewLine("line", link.Serial{Path: pair.Path})
	w := watch(l)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.Serve(ctx) }()
	w.until(t, true)
	ended := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		ended <- l.Do(context.Background(), w.User, link.Poll, func(c *link.Conn) error {
			return exchange(c, sync.OnceFunc(func() { close(started) }))
		})
	}()
	receive(t, started)
	cancel()
	if err := receive(t, served); err != nil {
		t.Error(err)
	}
	if s := w.until(t, false); s.Words != "shut down" || s.Losses != 0 {
		t.Errorf("state %+v", s)
	}
	if _, err := query(l, w.User, "x"); !errors.Is(err, link.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
	return receive(t, ended)
}

func TestSD16ShutdownWhileReadBlocks(t *testing.T) {
	err := shutDownWhile(t, func(c *link.Conn, started func()) error {
		started()
		_, _, err := c.Read(make([]byte, 1), time.Time{})
		return err
	})
	if !errors.Is(err, link.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestSD16ShutdownWhileWriteBlocks(t *testing.T) {
	err := shutDownWhile(t, func(c *link.Conn, started func()) error {
		for { // Nobody reads: at some point the buffers are full.
			started()
			if _, err := c.Write(make([]byte, 4096)); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, link.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestSD14UnpluggedAHundredTimesUnderLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "port")
	l := link.NewLine("line", link.Serial{Path: name}, fastRetry())
	w := watch(l)
	ctx, cancel := context.WithCancel(context.Background())
	goroutines, descriptors := runtime.NumGoroutine(), countDescriptors(t)
	var all sync.WaitGroup
	all.Go(func() {
		if err := l.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	for range 4 {
		u := l.NewUser("load", link.UserOptions{})
		all.Go(func() {
			for ctx.Err() == nil {
				err := l.Do(ctx, u, link.Poll, func(c *link.Conn) error {
					if _, err := c.Write([]byte("x\n")); err != nil {
						return err
					}
					_, err := line(c, time.Now().Add(time.Second))
					return err
				})
				if errors.Is(err, link.ErrNotOpen) {
					select { // A driver waits for the state to change.
					case <-time.After(time.Millisecond):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	for range 100 {
		pair, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := pty.Link(pair.Path, name); err != nil {
			t.Fatal(err)
		}
		mustRead(t, pair, "x\n") // Unplugged in the middle of an exchange.
		unplug(t, pair)
		w.until(t, true)
		w.until(t, false)
	}
	cancel()
	all.Wait()
	if s := l.State(); s.Losses < 100 {
		t.Errorf("lost %d times", s.Losses)
	}
	// Those that only learn of the end of the context may still be at it.
	for end := soon(); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
	if n := countDescriptors(t); n != descriptors {
		t.Errorf("%d descriptors, %d before", n, descriptors)
	}
}

func countDescriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestBreakOnAPort(t *testing.T) {
	l, w, _ := ptyLine(t)
	err := l.Do(context.Background(), w.User, link.Put, func(c *link.Conn) error { return c.Break(time.Millisecond) })
	if err != nil {
		t.Error(err)
	}
}

func TestOpenDelayEndsWithItsContext(t *testing.T) {
	pair := openPair(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := link.Serial{Path: pair.Path, OpenDelay: time.Hour}.Open(ctx)
		done <- err
	}()
	cancel()
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkExchange(b *testing.B) {
	question, reply := []byte("T01?\r\n"), make([]byte, 64)
	b.Run("bare", func(b *testing.B) {
		pair := openPair(b)
		go echo(pair)
		p, err := link.Serial{Path: pair.Path}.Open(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		for b.Loop() {
			p.SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := p.Write(question); err != nil {
				b.Fatal(err)
			}
			p.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := io.ReadFull(p, reply[:len(question)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("line", func(b *testing.B) {
		l, w, pair := ptyLine(b)
		go echo(pair)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for b.Loop() {
			err := l.Do(ctx, w.User, link.Poll, func(c *link.Conn) error {
				if _, err := c.Write(question); err != nil {
					return err
				}
				deadline := time.Now().Add(time.Second)
				for got := 0; got < len(question); {
					n, _, err := c.Read(reply, deadline)
					if err != nil {
						return err
					}
					got += n
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
