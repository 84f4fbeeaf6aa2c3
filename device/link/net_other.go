//go:build !linux

package link

import (
	"net"
	"time"
)

// setUserTimeout does nothing: the system's own limits hold.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
