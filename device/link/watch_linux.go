//go:build linux && (386 || amd64 || arm || arm64 || loong64 || riscv64 || s390x)

package link

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// linkWatch notices when the symbolic link by which a port was opened no longer
// leads to it, as when the adapter came back under another name while the old
// node lives on. It is woken by the directory's changes only.
type linkWatch struct {
	events *os.File
	done   chan struct{}
}

// watchLink calls lost, at most once and in a goroutine of its own, when path
// no longer leads to port. It returns nil where there is nothing to watch: the
// path is no symbolic link, or the system has no more watches to give, and then
// the hang-up of the port itself is what tells.
func watchLink(port *os.File, path string, lost func(error)) (*linkWatch, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if errors.Is(err, unix.EMFILE) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("watching the link: %w", err)
	}
	const mask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(path), mask); err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.ENOSPC) {
			return nil, nil
		}
		return nil, fmt.Errorf("watching the link: %w", err)
	}
	w := &linkWatch{events: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{})}
	// What happened before the watch began was not told: look once.
	opened, err := port.Stat()
	if err == nil {
		err = leadsTo(path, opened)
	}
	if err != nil {
		w.events.Close()
		return nil, err
	}
	go w.run(path, opened, lost)
	return w, nil
}

func (w *linkWatch) run(path string, opened os.FileInfo, lost func(error)) {
	defer close(w.done)
	buf := make([]byte, 4096)
	for {
		if _, err := w.events.Read(buf); err != nil {
			return // Closed.
		}
		if err := leadsTo(path, opened); err != nil {
			lost(err)
			return
		}
	}
}

func leadsTo(path string, opened os.FileInfo) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the port is gone: %w", err)
	}
	if !os.SameFile(info, opened) {
		return fmt.Errorf("%s now leads to another port", path)
	}
	return nil
}

// close ends the watch and waits for its goroutine.
func (w *linkWatch) close() {
	w.events.Close()
	<-w.done
}
