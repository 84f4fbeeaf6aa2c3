// Package serial drives instruments that are asked with lines of text or bytes
// and answer in kind, over any link: serial ports, terminal servers, simulated
// ones. What it says and understands stands in the device's configuration, in
// StreamDevice's format language (package stream).
//
// # Promises
//
// Nothing wrong is published. A reply counts only as a whole: if a part of it
// does not match, no attribute gets a value from it. Bytes that came before a
// request was sent are never taken for its reply. After a reply that did not
// come in time the line is first brought back in step (see sync.go), so that a
// late reply is not taken for that of the next request. Where a character got
// lost and the rest still matches, only a checksum or a declared number of
// elements can tell; use them where the instrument offers them.
//
// A put is sent once. Nothing is repeated on a guess.
//
// # Faults
//
// A reading without a value says why: TIMEOUT nothing came, READ the reply
// stopped in its middle, CALC it did not match, STATE it is a number that
// stands for no state. The last byte's arrival is a reading's time.
//
// # Text
//
// Text attributes are UTF-8. Bytes over 0x7F that are not valid UTF-8 are
// taken as Latin-1: 0xB5 is the micro sign. Text is written as UTF-8.
package serial
