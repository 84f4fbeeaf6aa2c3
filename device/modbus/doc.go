// Package modbus drives devices that speak Modbus, on a serial line (RTU) or
// over TCP. Several units can share a line.
//
// A Config says what the registers and coils of one unit mean. Attributes of one
// table and one poll period that lie near each other are read with one request.
//
// What comes after its time is never taken for the reply to another request. On
// TCP the transaction number proves it. On a serial line nothing in a reply but
// unit, function and length tells what it belongs to: see lockstep.
//
// Nothing is sent twice by itself, neither reads nor writes.
package modbus
