package cawire

import "unicode/utf8"

// cutText cuts text to at most n bytes and at its first NUL, without cutting
// through a character of UTF-8. Bytes that are no UTF-8 are cut anywhere.
func cutText[T string | []byte](text T, n int) T {
	for i := range len(text) {
		if text[i] == 0 {
			text = text[:i]
			break
		}
	}
	if len(text) <= n {
		return text
	}
	// The character that n would cut through starts at most three bytes
	// before it; go back only if it is a whole one that ends beyond n.
	for start := n; start >= 0 && start > n-utf8.UTFMax; start-- {
		if utf8.RuneStart(text[start]) {
			end := min(start+utf8.UTFMax, len(text))
			if r, size := utf8.DecodeRune([]byte(text[start:end])); r != utf8.RuneError && start+size > n {
				return text[:start]
			}
			break
		}
	}
	return text[:n]
}

// appendText appends a text field of size bytes: the text, cut so that a NUL
// fits behind it, and zeros.
func appendText(dst []byte, text string, size int) []byte {
	text = cutText(text, size-1)
	return appendZeros(append(dst, text...), size-len(text))
}

// setText sets s to the text before the first NUL of b, and keeps s as it is
// when that is the same, which saves the allocation when little changes.
func setText(s *string, b []byte) {
	if b = untilNUL(b); *s != string(b) {
		*s = string(b)
	}
}
