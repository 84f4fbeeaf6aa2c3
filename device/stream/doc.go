// Package stream is the format language of StreamDevice, without any I/O: a
// text such as "T=%f;%<sum>" says how a request is written to an instrument
// and how its reply is read.
//
// Parse compiles a text once; the *Format it returns never changes and may be
// used by any number of goroutines. Append writes values, Match reads them.
// Matching is all or nothing: a reply that fits only in part yields no value.
//
// Input and output are bytes. No byte value is special, neither 0x00 nor
// those above 0x7F, and neither the locale nor the time zone of the process
// has any influence.
//
// The package does not find the borders of a message, knows no terminators
// and opens nothing: its caller cuts the input into messages first.
//
// docs/formats.md lists every converter, flag and checksum, and where this
// package differs from StreamDevice on purpose.
package stream
