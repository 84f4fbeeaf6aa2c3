// Package cawire is EPICS Channel Access, protocol 4.13, as it is on the wire.
//
// It is meant for those who write a server, a client, a gateway or a tool for
// looking at traffic. It does no I/O: bytes come in, messages come out, and the
// other way round. There is no socket, clock, goroutine or logger in it, and
// nothing but the standard library below it.
//
// # Frames and messages
//
// A circuit (TCP) is a stream of frames, which [Next] takes off a buffer one by
// one; it says how much more it needs when a frame is not complete yet, and it
// needs a limit, because a frame may claim to have gigabytes. A datagram has
// one frame after another, for [NextDatagram].
//
// Each message is a struct with Decode, which reads a frame, and Append, which
// appends a frame to a buffer. [KindOf] tells which struct a frame is for, by
// its command, who sent it and how it came; [Decode] does both in one. Decoded
// messages alias the buffer and so live as long as its content.
//
// # Values
//
// The payloads of reads, writes and events are in one of 39 types, a [Type]
// each: a native type in one of five forms. [AppendDBR] makes a payload from
// [Meta], which is what is known about a channel, and [Values], which is its
// value; [DecodeDBR] takes it apart. Nothing in a payload depends on who gets
// it, so a server makes it once, and either copies it into the buffer of each
// circuit ([Event.Append]) or sends it behind a header of its own
// ([Event.AppendHeader]).
//
// Encoding and decoding allocate nothing once their buffers have grown, except
// for texts that have changed.
//
// # State
//
// What may follow what is written in tables, for a circuit, for a channel, for
// a subscription and within a datagram: [CircuitState], [ChannelState],
// [SubscriptionState] and [DatagramState] have a method Next that looks a move
// up. [Circuit] keeps those states for a whole circuit. A message that is not
// allowed is a [ProtocolError], which says whose fault it is.
//
// # Bad input
//
// Whatever comes from a peer leads to an error, never to a panic, and no length
// or count is believed before the bytes are there. The errors are listed with
// what EPICS base's server does in such a case.
//
// Where this package had to choose between the written protocol, EPICS base and
// other implementations, SPEC-NOTES.md says what it chose. It knows nothing of
// conversions between native types, of record fields, or of when to send what.
package cawire
