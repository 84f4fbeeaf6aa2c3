//go:build linux && (386 || amd64 || arm || arm64 || loong64 || riscv64 || s390x)

package link

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inUse says who has the port, as far as this process may know.
func inUse(path string) error {
	pid := lockHolder(path)
	if pid == 0 {
		pid = fileHolder(path)
	}
	switch {
	case pid == os.Getpid():
		return fmt.Errorf("port in use by this process (pid %d)", pid)
	case pid > 0:
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			return fmt.Errorf("port in use by pid %d", pid)
		}
		return fmt.Errorf("port in use by pid %d (%s)", pid, strings.TrimSpace(string(name)))
	}
	return fmt.Errorf("port in use by another process")
}

// lockHolder looks the flock up in /proc/locks, whose lines are like
// "1: FLOCK  ADVISORY  WRITE 712 00:18:5 0 EOF" (proc_locks(5)). It returns 0
// if it finds none, as when the holder lives in another container.
func lockHolder(path string) int {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	file, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer file.Close()
	id := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) >= 6 && f[1] == "FLOCK" && f[5] == id {
			pid, err := strconv.Atoi(f[4])
			if err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}

// fileHolder looks for another process that has the port open; only those of
// the same user are seen without privileges.
func fileHolder(path string) int {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != real {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err == nil && pid != os.Getpid() {
			return pid
		}
	}
	return 0
}
