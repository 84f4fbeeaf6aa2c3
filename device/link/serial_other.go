//go:build !(linux && (386 || amd64 || arm || arm64 || loong64 || riscv64 || s390x))

package link

import (
	"context"
	"fmt"
	"runtime"
)

// Open fails: serial ports are opened on Linux only.
func (s Serial) Open(context.Context) (Port, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("opening %s: serial ports are not supported on %s/%s", s.Path, runtime.GOOS, runtime.GOARCH)
}
