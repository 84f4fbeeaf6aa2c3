package serial

import (
	"cmp"
	"errors"
	"strings"

	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/stream"
)

// parse compiles a format and reports its mistakes. It returns nil after one.
func parse(text string, o stream.Options, at describe.Place) *stream.Format {
	f, err := stream.Parse(text, o)
	if err != nil {
		var syntax *stream.SyntaxError
		if errors.As(err, &syntax) {
			at.ErrorAt(syntax.Offset, "%s", syntax.Msg)
		} else {
			at.Errorf("%v", err)
		}
		return nil
	}
	for _, w := range f.Warnings() {
		at.WarnAt(w.Offset, "%s", w.Msg)
	}
	return f
}

// input makes the options of formats that read. extra is what the attribute says
// of extra input, or empty.
func (k *compiler) input(extra string) stream.Options {
	return stream.Options{
		Direction: stream.In, DecimalComma: k.config.Decimal == ",",
		IgnoreExtra: cmp.Or(extra, k.config.ExtraInput) == "ignore",
	}
}

// checkExtra reports what is no way to deal with extra input.
func checkExtra(extra string, at describe.Place) {
	switch extra {
	case "", "error", "ignore":
	default:
		at.In("extra_input").Errorf("%q is neither error nor ignore", extra)
	}
}

// literal returns the bytes that a text without converters stands for.
func literal(text string, what string, at describe.Place) []byte {
	f := parse(text, stream.Options{Direction: stream.Out}, at)
	if f == nil {
		return nil
	}
	if fields := f.Fields(); len(fields) > 0 {
		at.ErrorAt(fields[0].Offset, "%s has no value to write: %%%% is one percent sign", what)
		return nil
	}
	b, err := f.Append(nil)
	if err != nil {
		at.Errorf("%v", err)
	}
	return b
}

// leading returns the literal bytes that every input of the format begins
// with: up to the first converter, wild card or white space.
func leading(text string) string {
	end := len(text)
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && strings.HasPrefix(text[i:], "%%") {
			i++
			continue
		}
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] == '?' || text[i+1] == '_' {
				end = i
				break
			}
			i++
			continue
		}
		if text[i] == '%' {
			end = i
			break
		}
	}
	f, err := stream.Parse(text[:end], stream.Options{})
	if err != nil {
		return ""
	}
	b, err := f.Append(nil)
	if err != nil {
		return ""
	}
	return string(b)
}
