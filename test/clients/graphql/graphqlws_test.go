//go:build linux

package graphql

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

// TestGraphQLWS has the library graphql-ws query, put and subscribe, be refused,
// lose the gateway, and lose the connection alone.
func TestGraphQLWS(t *testing.T) {
	address := rig.FreePort(t)
	client := startNode(t, "graphqlws.mjs", "ws://"+address+"/graphql")
	gateway := startDemo(t, address)
	client.wants("query 10")
	client.wants("put VERIFIED 12")
	client.wants("put out_of_range refused")
	client.wants("put wrong_type refused")
	client.wants("query not_found")
	client.wants("query GRAPHQL_VALIDATION_FAILED")
	client.wants("subscribe malformed")
	client.wants("subscribe malformed")
	client.wants("synced")
	client.wants("following")
	gateway.Stop()
	client.wants("closed 1001")
	startDemo(t, address)
	client.wants("gap")
	client.wants("synced")
	client.wants("closed 4499") // the library's own, for a connection that it tears
	client.wants("synced")
	client.wants("missing 0")
	client.wants("closed 1000")
	client.ends()
}

// A node is a program in JavaScript that runs.
type node struct {
	*testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// startNode runs a script of this folder.
func startNode(t *testing.T, script string, args ...string) *node {
	t.Helper()
	folder := t.TempDir()
	if err := os.Symlink(rig.Needed(t, "POLYGATE_NODE_MODULES"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	// Modules are looked for beside the script.
	path := filepath.Join(folder, script)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*rig.Limit)
	n := &node{T: t, cmd: exec.CommandContext(ctx, "node", append([]string{path}, args...)...)}
	n.cmd.Stderr = os.Stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.lines = bufio.NewScanner(out)
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = n.cmd.Wait() // it was waited for, or a test that fails ends it
	})
	return n
}

// wants waits for the next line that the program prints.
func (n *node) wants(want string) {
	n.Helper()
	if !n.lines.Scan() {
		n.Fatalf("it ended before it printed %q: %v", want, n.lines.Err())
	}
	if got := n.lines.Text(); got != want {
		n.Fatalf("it printed %q, want %q", got, want)
	}
}

func (n *node) ends() {
	n.Helper()
	for n.lines.Scan() {
		n.Errorf("it also printed %q", n.lines.Text())
	}
	if err := n.cmd.Wait(); err != nil {
		n.Errorf("it ended badly: %v", err)
	}
}
