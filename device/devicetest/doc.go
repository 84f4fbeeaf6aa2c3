// Package devicetest holds what tests of drivers and of the supervisor share:
// the suite that every driver passes (Run), a bus that records (Bus), a driver
// that does as it is told (Script), and an instrument on a byte stream that
// answers by a table and misbehaves on request (Instrument).
package devicetest
