//go:build !linux

package pty

import (
	"fmt"
	"os"
	"runtime"
)

// Pair is a pseudo-terminal seen from the instrument's side. There are none on
// this system.
type Pair struct {
	*os.File
	Path string
}

// Open fails: pseudo-terminals are made on Linux only.
func Open() (*Pair, error) {
	return nil, fmt.Errorf("pseudo-terminals are not supported on %s", runtime.GOOS)
}

// Unplug is the same as Close.
func (p *Pair) Unplug() error { return p.Close() }
