// Package pty makes pseudo-terminals on Linux: serial ports without hardware,
// for simulated instruments. One side is a Pair, which the simulator reads and
// writes; the other is the device node Pair.Path, which is opened as a port.
package pty

import (
	"fmt"
	"os"
	"path/filepath"
)

// Link makes the symbolic link at path lead to target, in one step, also when
// it leads elsewhere now. A pseudo-terminal has another name each time it is
// made; a link gives it a stable one.
func Link(target, path string) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".pty-")
	if err != nil {
		return fmt.Errorf("linking %s: %w", path, err)
	}
	defer os.RemoveAll(dir)
	fresh := filepath.Join(dir, "link")
	if err := os.Symlink(target, fresh); err != nil {
		return fmt.Errorf("linking %s: %w", path, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("linking %s: %w", path, err)
	}
	return nil
}
