package cawire

import "fmt"

// sameButPadding compares two payloads of a type, except for bytes that carry
// nothing: alignment bytes within the structures, which base leaves as its
// buffer was, what follows the NUL of a text, and what follows the value (in
// one DBR_STRING, the payload may end there).
func sameButPadding(t Type, count int, got, want []byte) string {
	meaning := make([]bool, len(got))
	mark := func(from, n int) {
		for i := from; i < from+n && i < len(meaning); i++ {
			meaning[i] = true
		}
	}
	text := func(from, n int) { mark(from, len(untilNUL(got[from:min(from+n, len(got))]))+1) }
	size, native := t.ElementSize(), t.Native()
	at := 0
	if t.Form() != Plain && (t.Form() != Special || t == DBRStsAckString) {
		mark(0, 4)
		at = 4
	}
	switch {
	case t.Form() == Time:
		mark(4, 8)
	case t == DBRStsAckString:
		mark(4, 4)
	case (t.Form() == Gr || t.Form() == Ctrl) && native == DBREnum:
		mark(4, 2)
		for i := range int(got[5]) {
			text(6+i*StateSize, StateSize)
		}
	case (t.Form() == Gr || t.Form() == Ctrl) && native != DBRString:
		if native == DBRFloat || native == DBRDouble {
			mark(at, 2)
			at += 4
		}
		text(at, UnitsSize)
		mark(at+UnitsSize, limitCount(t.Form())*size)
	}
	for i := range count {
		if native == DBRString {
			text(t.ValueOffset()+i*size, size)
		} else {
			mark(t.ValueOffset()+i*size, size)
		}
	}
	if len(want) != len(got) && (t != DBRString || count != 1) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	for i, m := range meaning {
		if m && i >= len(want) {
			return fmt.Sprintf("ends before byte %d", i)
		}
		if m && got[i] != want[i] {
			return fmt.Sprintf("differs at byte %d", i)
		}
	}
	return ""
}
