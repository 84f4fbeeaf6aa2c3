//go:build linux

// Command bench measures the gateway against floors: programs that do as little
// as the measure allows (canned bytes, a bare loop). Run it from the root of
// the repository:
//
//	go run ./bench            everything, and write bench/README.md
//	go run ./bench -only rest one measure, and write it beside the others
//
// A time or a rate is only worth something beside another one that was taken
// on the same machine in the same minute. So every measure is a ratio of two
// programs, taken in interleaved pairs, with server and client pinned to
// different cores, as a median with its 95 % interval. Beside it stands a row
// that compares the floor with itself by the same method: where that is off by
// more than 5 % the measure says "not measurable here". Counts and bytes are
// absolute.
package main
