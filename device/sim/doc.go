// Package sim holds instruments that do not exist: the temperature controller
// of the demo, which answers on a real pseudo-terminal or a TCP port and can
// be told to misbehave, and two drivers without any line: Counters, a source
// of load, and Soft, attributes that take any value at once.
package sim
