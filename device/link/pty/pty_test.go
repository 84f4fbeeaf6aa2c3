//go:build linux

package pty_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link/pty"
)

func open(t *testing.T) *pty.Pair {
	t.Helper()
	p, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestPairSurvivesItsPort(t *testing.T) {
	p := open(t)
	for range 3 { // Each opened and closed by somebody who knows nothing of terminals.
		port, err := os.OpenFile(p.Path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range []struct {
			to   io.Writer
			from io.Reader
		}{{p, port}, {port, p}} {
			const text = "a\rb\nc\x03\x11"
			if _, err := io.WriteString(way.to, text); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(text))
			if _, err := io.ReadFull(way.from, got); err != nil || string(got) != text {
				t.Errorf("read %q, %v", got, err)
			}
		}
		port.Close()
		p.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("without a port: %v", err)
		}
		p.SetReadDeadline(time.Time{})
	}
}

func TestUnplugEndsBothSides(t *testing.T) {
	p := open(t)
	port, err := os.OpenFile(p.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	ended := make(chan error, 2)
	for _, side := range []io.Reader{p, port} {
		go func() {
			_, err := side.Read(make([]byte, 1))
			ended <- err
		}()
	}
	if err := p.Unplug(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a read returned without an error")
		}
	}
	if _, err := os.Stat(p.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the node is still there: %v", err)
	}
}

func TestLinkIsMovedInOneStep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "port")
	for _, target := range []string{"/dev/pts/1", "/dev/pts/2"} {
		if err := pty.Link(target, name); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(name); got != target || err != nil {
			t.Errorf("leads to %q, %v", got, err)
		}
	}
	if names, err := os.ReadDir(filepath.Dir(name)); len(names) != 1 || err != nil {
		t.Errorf("left over: %v, %v", names, err)
	}
	if err := pty.Link("x", "/no/such/directory/port"); err == nil {
		t.Error("linked in a directory that does not exist")
	}
}
