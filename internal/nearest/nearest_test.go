package nearest_test

import (
	"testing"

	"github.com/polygate/gateway/internal/nearest"
)

func TestOf(t *testing.T) {
	keys := []string{"baud", "data_bits", "port", "read_timeout", "reply_timeout", "terminator"}
	for word, want := range map[string]string{
		"prot":             "port",
		"out_terminiator":  "terminator",
		"terminiator":      "terminator",
		"Baud":             "baud",
		"bits":             "data_bits",
		"timeout":          "read_timeout",
		"x":                "",
		"":                 "",
		"entirely_unknown": "",
	} {
		if got := nearest.Of(word, keys); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
