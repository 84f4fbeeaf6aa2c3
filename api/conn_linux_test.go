package api

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheKernelGivesUpDeadPeers(t *testing.T) {
	w := newWorld(t)
	w.sse("match=oven.actual").until("synced")
	w.server.listener.mu.Lock()
	defer w.server.listener.mu.Unlock()
	for c := range w.server.listener.conns {
		raw, err := c.Conn.Conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			for option, most := range map[int]int{unix.TCP_USER_TIMEOUT: 30000, unix.TCP_KEEPIDLE: 15, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 3} {
				if n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || n == 0 || n > most {
					t.Errorf("option %d is %d, want at most %d, %v", option, n, most, err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
