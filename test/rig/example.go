//go:build unix

package rig

import (
	"os"
	"strings"
	"testing"
)

// StartExample runs the gateway with a file from deploy/examples, in which what
// old and new say is replaced in pairs: the link, for a start. Every old text
// has to be there.
func (p *Program) StartExample(t testing.TB, name string, oldAndNew ...string) *Gateway {
	t.Helper()
	data, err := os.ReadFile("../../deploy/examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	file := string(data)
	for i := 0; i < len(oldAndNew); i += 2 {
		replaced := strings.ReplaceAll(file, oldAndNew[i], oldAndNew[i+1])
		if replaced == file {
			t.Fatalf("%s does not hold %q", name, oldAndNew[i])
		}
		file = replaced
	}
	const local = "frontends: {rest: {listen: \"127.0.0.1:0\"}}\nops: {listen: \"\"}\n"
	return p.Start(t, strings.TrimSuffix(name, ".yaml"), local+file)
}
