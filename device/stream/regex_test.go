package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestRegexInput(t *testing.T) {
	runMatch(t, Options{Direction: In}, []matchCase{
		{`%.1/<title>(.*)<\/title>/%# s`, "<html><title>Pump 7</title></html>", texts("Pump 7", "</html>"), 0},
		{`%/[0-9]+/ V`, "U=12 V", texts("12"), 0},
		{`%/^[0-9]+/`, "U=12", nil, NoMatch},
		{`%/(?i)ok/`, "OK", texts("OK"), 0},
		{`%/\d+\b/`, "a1 22", nil, Extra},
		{`%5/x+/%s`, "aaaaxxxx", texts("x", "xxx"), 0},
		{`%.2/(a)|(b)/`, "b", texts("b"), 0},
		{`%.1/(a)|(b)/`, "b", nil, NoMatch},
		{`%*/ */%d`, "   7", ints(7), 0},
		{`%/\xb5\234./`, "\xb5\xea\xff", texts("\xb5\xea\xff"), 0},
		{`%/[\x80-\xff]+/`, "\x80\xff", texts("\x80\xff"), 0},
		{`%/\x41\x5b/`, "A[", texts("A["), 0},
		{`%/a\/b\?c\_\%\"\'/`, `a/b?c_%"'`, texts(`a/b?c_%"'`), 0},
		{`%/\$\e/`, "$\x1b", texts("$\x1b"), 0},
		{`%/./`, "\n", nil, NoMatch},
		{`%/a*/%s`, "b", texts("", "b"), 0},
		{`%!3/a*/%s`, "aaaa", texts("aaa", "a"), 0},
		{`%!3/a*/%s`, "aab", nil, NoMatch},
	})
}

// Examples of StreamDevice's documentation, and what it leaves open.
func TestRewriting(t *testing.T) {
	rewrite := []struct{ rule, in, want string }{
		{`%#+-10.2/ab/X/`, "abcabcabcabc", "abcXcXcabc"},
		{`%#/\\/\//`, `\dir\file`, "/dir/file"},
		{`%#/..\B/&:/`, "0b19353134", "0b:19:35:31:34"},
		{`%#/:\///`, "0b:19:35", "0b:19:35"},
		{`%#/://`, "0b:19:35:31:34", "0b19353134"},
		{`%#/([^+-])*([+-])/\2\1/`, "1.23-", "-3"},
		{`%#/([^+-]*)([+-])/\2\1/`, "1.23-", "-1.23"},
		{`%#-2/.*/\U0/`, "abcd", "abCD"},
		{`%#4/a/x/`, "aaaaaa", "xxxxaa"},
		{`%#2/x*/-/`, "abcd", "-a-b-cd"},
		{`%#-2/x*/-/`, "abcd", "ab-c-d-"},
		{`%#.2/a/x/`, "aaaa", "axaa"},
		{`%#+.2/a/x/`, "aaaa", "xxaa"},
		{`%#/(a)(b)?/[\2\1]/`, "aba", "[ba][a]"},
		{`%#/(a+)/\u1\l&\L0/`, "aA", "AaaA"},
		{`%#/b/\&\\\/\x01\01\9\65/`, "abc", "a&\\/\x01\x01\tAc"},
		{`%#/x*/y/`, "abc", "yaybycy"},
		{`%#/x*/y/`, "", "y"},
		{`%#/x*/-/`, "axxb", "-a-b-"},
		{`%#/\xb5/u/`, "5\xb5A", "5uA"},
	}
	for _, c := range rewrite {
		out, err := mustParse(t, "%# s"+c.rule, Options{Direction: Out}).Append([]byte("abc"), Text(c.in))
		if err != nil || string(out) != "abc"+c.want {
			t.Errorf("output %s of %q: %q, %v; want %q", c.rule, c.in, out, err, c.want)
		}
		got, err := mustParse(t, c.rule+"%# s", Options{Direction: In}).Match([]byte(c.in))
		if err != nil || got[0].Text() != c.want {
			t.Errorf("input %s of %q: %q, %v; want %q", c.rule, c.in, got, err, c.want)
		}
	}
	// What stands before the rewriting converter reads the input as it came,
	// and what follows it in output is not rewritten.
	runMatch(t, Options{}, []matchCase{{"%2c%#/a/bb/%s", "aaaa", texts("aa", "bbbb"), 0}})
	runAppend(t, Options{}, []appendCase{{"%s%#/a/bb/%s", texts("aa", "aa"), "bbbbaa", false}})
}

func TestSD09RewritingManyLines(t *testing.T) {
	f := mustParse(t, "%#/:R:/:Idle:/%#/:M:/:Ramping:/%d:%d:%*[^:]:%d:%{Idle|Ramping}:%d:%s", Options{Direction: In})
	rng := rand.New(rand.NewPCG(9, 7))
	for range 10000 {
		digits := func() int { return rng.IntN([]int{10, 100, 1000, 10000, 100000}[rng.IntN(5)]) }
		state := rng.IntN(2)
		a, b, c, d := digits(), digits(), digits(), digits()
		line := fmt.Sprintf("%d:+%d:0x%X:%d:%s:%d:B17", a, b, digits(), c, []string{"R", "M"}[state], d)
		before := line
		in := []byte(line)
		got, err := f.Match(in)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := vals(Int(int64(a)), Int(int64(b)), Int(int64(c)), Enum(int64(state)), Int(int64(d)), Text("B17"))
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%q: value %d is %v, want %v", line, i, got[i], want[i])
			}
		}
		if string(in) != before {
			t.Fatalf("the caller's input was changed to %q", in)
		}
	}
}

// Checksums are those of the input as it came, whatever was rewritten.
func TestChecksumOfRewrittenInput(t *testing.T) {
	runMatch(t, Options{}, []matchCase{
		{"%#/:R:/:Idle:/%d:%{Idle|Run}:%0<sum>", "1:R:F7", vals(Int(1), Enum(0)), 0},
		{"%#/:R:/:Idle:/%d:%{Idle|Run}:%0<sum>", "1:R:F8", nil, BadChecksum},
		{"%#/7//%d:%0<sum>!", "17:A2!", ints(1), 0},            // a digit in front vanished
		{"%#/A/xyz/%d:%0<sum>!", "17:A2!", ints(17), 0},        // the check bytes were rewritten
		{"%#/1/11/%#/7/1/%d:%0<sum>!", "17:A2!", ints(111), 0}, // two in a row
	})
}

func TestSD36PatternsEndInBoundedTime(t *testing.T) {
	got, err := mustParse(t, "%#/x*/y/%s", Options{}).Match([]byte("abc"))
	if err != nil || got[0].Text() != "yaybycy" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{`%/a(?=b)/`, `%/(a)\K/`, `%#/(?<!x)y/z/`, `%/[/`, `%/(/`, `%/a**/`, `%/\Qa\E/`} {
		_, err := Parse(text, Options{})
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%s: %v; want a syntax error", text, err)
		}
	}
	line := []byte(strings.Repeat("a", 64<<10))
	runMatch(t, Options{}, []matchCase{{`%/(a+)+$/`, string(line), texts(string(line)), 0}})
	// Each of 65536 searches reads the line to its end.
	if _, err := mustParse(t, `%#/a.*b|a/x/%s`, Options{}).Match(line); !isReason(err, TooMuchWork) {
		t.Errorf("quadratic search: %v", err)
	}
	// Each of these would write 16 MiB.
	grow := `%#/a/` + strings.Repeat("a", 256) + `/`
	if _, err := mustParse(t, grow+"%s", Options{}).Match(line); !isReason(err, TooMuchWork) {
		t.Errorf("growing text: %v", err)
	}
	if _, err := mustParse(t, "%s"+grow, Options{}).Append(nil, Text(string(line))); err == nil {
		t.Error("growing output was written")
	}
	groups := `%#/a*/` + strings.Repeat("&", 256) + `/%s`
	if _, err := mustParse(t, groups, Options{}).Match(line); !isReason(err, TooMuchWork) {
		t.Errorf("growing groups: %v", err)
	}
}

// Where no anchor is involved, rewriting is what the regexp package does, and
// each byte that was kept is where origin says.
func TestRewritingAgreesWithRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 9))
	for _, pattern := range []string{"a", "x*", "ab|b", "[ab]+", "(a)(b)?", "b*?", "(?:ab)*", "a.*b|a", "$^|x"} {
		re := regexp.MustCompile(pattern)
		for range 2000 {
			in := make([]byte, rng.IntN(8))
			for i := range in {
				in[i] = "abx"[rng.IntN(3)]
			}
			width := rng.IntN(9)
			window := len(in)
			text := "%#/" + pattern + "/<>/"
			if width > 0 {
				window = min(width, len(in))
				text = fmt.Sprintf("%%#%d/%s/<>/", width, pattern)
			}
			want := re.ReplaceAllString(string(in[:window]), "<>") + string(in[window:])
			r := mustParse(t, text, Options{}).items[0].rewrite
			out, origin, p := r.apply(in, true)
			if p.reason != 0 || string(out) != want {
				t.Fatalf("%s of %q: %q, want %q", text, in, out, want)
			}
			if len(origin) != len(out)+1 || origin[len(out)] != len(in) {
				t.Fatalf("%s of %q: origin %v", text, in, origin)
			}
			for i, o := range out {
				if origin[i] > origin[i+1] || o != '<' && o != '>' && in[origin[i]] != o {
					t.Fatalf("%s of %q: origin %v of %q", text, in, origin, out)
				}
			}
		}
	}
}
