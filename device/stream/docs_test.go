package stream

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The documentation names all that the code has, with the right values.
func TestDocumentationIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	need := func(what, text string) {
		t.Helper()
		if !strings.Contains(doc, text) {
			t.Errorf("docs/formats.md does not name the %s %s", what, text)
		}
	}
	for _, r := range rules() {
		need("converter", "\n| `"+r.doc+"` | ")
	}
	need("converter", "\n| `%#/regex/subst/` | ")
	for _, flag := range []string{"*", "?", "=", "!", "#", "+", " ", "0", "-"} {
		need("flag", "\n| `"+flag+"` ")
	}
	for _, a := range algorithms() {
		row := ""
		for i, n := range a.names {
			if i > 0 {
				row += ", "
			}
			row += "`" + n + "`"
		}
		i := strings.Index(doc, "\n| "+row+" | "+fmt.Sprint(a.bytes)+" | ")
		if i < 0 {
			t.Errorf("docs/formats.md has no row for the checksum %s of %d bytes", row, a.bytes)
			continue
		}
		line, _, _ := strings.Cut(doc[i+1:], "\n")
		if value := fmt.Sprintf("| %0*X |", 2*a.bytes, a.check); !strings.HasSuffix(line, value) {
			t.Errorf("docs/formats.md: %q does not end in %s", line, value)
		}
	}
	for _, c := range timeVerbs + "cDFrRTXxnt%" {
		need("time conversion", "`%"+string(c)+"`")
	}
	for _, escape := range []string{`\a`, `\b`, `\t`, `\n`, `\r`, `\e`, `\xhh`, `\0ooo`, `\ddd`, `\?`, `\_`, `\%`, `\$`} {
		need("escape", "`"+escape+"`")
	}
}

// Every converter is in the documentation's table in each of its forms.
func TestEveryConverterParses(t *testing.T) {
	for _, r := range rules() {
		f := mustParse(t, r.example, Options{})
		if f.items[0].spec.verb != r.verb {
			t.Errorf("%s is %%%c", r.example, f.items[0].spec.verb)
		}
	}
}
