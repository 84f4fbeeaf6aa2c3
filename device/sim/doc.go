// Package sim holds instruments that do not exist, which answer on a real
// pseudo-terminal or a TCP port and can be told to misbehave: the temperature
// controller of the demo, one that replays a saved trace, and any other that
// implements Instrument, such as one made from a device's own configuration. It
// also has two drivers without any line: Counters, a source of load, and Soft,
// attributes that take any value at once.
package sim
