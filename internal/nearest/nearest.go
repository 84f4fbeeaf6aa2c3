// Package nearest guesses what was meant by a word that is not known.
package nearest

import "strings"

// Of returns the candidate that s was probably meant to be: one that
// holds it or that it holds, or one few typing errors away. It is empty if
// there is none.
func Of(s string, candidates []string) string {
	best, bestDistance := "", max(len(s)/3, 1)+1
	for _, candidate := range candidates {
		distance := editDistance(strings.ToLower(s), strings.ToLower(candidate))
		if len(s) >= 4 && (strings.HasSuffix(candidate, "_"+s) || strings.HasPrefix(candidate, s+"_")) {
			distance = 1 // "timeout" for "reply_timeout"
		}
		if distance < bestDistance || distance == bestDistance && best != "" && candidate < best {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours.
func editDistance(a, b string) int {
	const tooLong = 64
	if len(a) > tooLong || len(b) > tooLong {
		return tooLong
	}
	var beforeLast []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], beforeLast[j-2]+1)
			}
		}
		beforeLast, last = last, row
	}
	return last[len(b)]
}
