// Package deploy_test checks what is shipped.
package deploy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rootfs makes the files of the image.
func rootfs(t *testing.T, source string) string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatal("bash is missing")
		}
		t.Skip("bash is missing")
	}
	dir := filepath.Join(t.TempDir(), "rootfs")
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(source, "deploy", "rootfs.sh"), dir)
	command.Env = append(os.Environ(), "VERSION=1.2.3", "SOURCE_DATE_EPOCH=1700000000")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("rootfs.sh: %v\n%s", err, output)
	}
	return dir
}

// list describes all files: mode, time, name, checksum.
func list(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		sum := [sha256.Size]byte{}
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(data)
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(&out, "%s %d %s %s\n", info.Mode(), info.ModTime().Unix(), name, hex.EncodeToString(sum[:]))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The second build is from a copy of the source, in a folder with another name.
func TestTwoBuildsAreIdentical(t *testing.T) {
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	files, err := exec.CommandContext(t.Context(), "git", "-C", here, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatalf("not a clone: %v", err)
		}
		t.Skipf("not a clone: %v", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(files, []byte{0}), []byte{0}) {
		data, err := os.ReadFile(filepath.Join(here, string(name)))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(elsewhere, string(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := list(t, rootfs(t, here)), list(t, rootfs(t, elsewhere))
	if first != second {
		t.Errorf("got\n%s\nand\n%s", first, second)
	}
}

func TestTheImageListsAllModulesAndTheirLicences(t *testing.T) {
	dir := rootfs(t, "..")
	data, err := os.ReadFile(filepath.Join(dir, "sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sbom struct {
		Components []struct {
			Name     string
			Licenses []struct{ License struct{ ID string } }
		}
	}
	if err := json.Unmarshal(data, &sbom); err != nil {
		t.Fatal(err)
	}
	linked, err := exec.CommandContext(t.Context(), "go", "version", "-m", filepath.Join(dir, "gateway")).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := len(regexp.MustCompile(`(?m)^\tdep\t`).FindAll(linked, -1)) + 1 // the standard library
	if len(sbom.Components) != want || want < 10 {
		t.Errorf("the list has %d modules and the program %d", len(sbom.Components), want)
	}
	// What a permissive licence asks for is that it comes along.
	allowed := map[string]bool{"Apache-2.0": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "MIT": true, "MPL-2.0": true}
	for _, c := range sbom.Components {
		for _, l := range c.Licenses {
			if !allowed[l.License.ID] {
				t.Errorf("%s has the licence %q", c.Name, l.License.ID)
			}
		}
		if kept, _ := os.ReadDir(filepath.Join(dir, "licenses", filepath.FromSlash(c.Name))); len(kept) == 0 {
			t.Errorf("the licence of %s is not in the image", c.Name)
		}
	}
}

// One image, two ways to it: what they say of themselves must not drift apart.
func TestBothDockerfilesMakeTheSameImage(t *testing.T) {
	var tails []string
	for _, name := range []string{"Dockerfile", "Dockerfile.scratch"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, tail, found := strings.Cut(string(data), "\nFROM scratch\nCOPY ")
		if !found {
			t.Fatalf("%s: no last stage from scratch", name)
		}
		_, tail, _ = strings.Cut(tail, "\n")
		tails = append(tails, tail)
	}
	if tails[0] != tails[1] {
		t.Errorf("Dockerfile ends in\n%s\nand Dockerfile.scratch in\n%s", tails[0], tails[1])
	}
}
