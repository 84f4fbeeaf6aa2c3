package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the expected output of cases anew; read the difference before you commit it")

// check runs `gateway check` and returns its exit code and what it prints.
func check(t *testing.T, name string) (code int, output string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), []string{"check", "-c", name}, &out, &errs)
	return code, strings.ReplaceAll(out.String()+errs.String(), filepath.ToSlash(filepath.Dir(name))+"/", "")
}

func TestCheckReportsEveryMistakeAtItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/files/*.bad.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, name := range files {
		code, got := check(t, name)
		if code != exitUsage {
			t.Errorf("%s: exit code %d, want %d", name, code, exitUsage)
		}
		golden := strings.TrimSuffix(name, ".yaml") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\ngot\n%swant\n%s", name, got, want)
		}
	}
}

func TestCheckAcceptsGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/files/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases", err)
	}
	examples, err := filepath.Glob("../../deploy/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	compose, err := filepath.Glob("../../deploy/compose/*.yaml")
	if err != nil || len(compose) == 0 {
		t.Fatal("compose has no files", err)
	}
	for _, name := range slices.Concat(files, examples, compose) {
		if code, output := check(t, name); code != exitOK || !strings.Contains(output, " is fine: ") {
			t.Errorf("%s: exit code %d\n%s", name, code, output)
		}
	}
}

func TestAFileThatIsNotThereIsTheUsersMistake(t *testing.T) {
	code, output := check(t, filepath.Join(t.TempDir(), "gateway.yaml"))
	if code != exitUsage || !strings.Contains(output, "no such file") {
		t.Errorf("exit code %d: %s", code, output)
	}
}
