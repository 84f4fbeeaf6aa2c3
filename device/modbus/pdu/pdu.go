// Package pdu is Modbus on the wire, without any input or output: requests and
// their replies, and the frames that carry them on serial lines (RTU) and over
// TCP. It imports the standard library alone.
//
// The rules are those of the Modbus Organization: "MODBUS Application Protocol
// Specification V1.1b3" for requests and replies, "MODBUS over Serial Line
// V1.02" for RTU frames and "MODBUS Messaging on TCP/IP V1.0b" for those on TCP.
// Addresses are those of the protocol, from 0 to 65535.
package pdu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Function is a function code.
type Function byte

// The functions that are spoken here.
const (
	ReadCoils              Function = 1
	ReadDiscreteInputs     Function = 2
	ReadHoldingRegisters   Function = 3
	ReadInputRegisters     Function = 4
	WriteSingleCoil        Function = 5
	WriteSingleRegister    Function = 6
	WriteMultipleCoils     Function = 15
	WriteMultipleRegisters Function = 16
	MaskWriteRegister      Function = 22
)

// exceptionBit marks the function code of a reply that says no.
const exceptionBit = 0x80

// The most that one request can carry (specification, sections 6.1 to 6.12).
const (
	MaxReadBits       = 2000
	MaxReadRegisters  = 125
	MaxWriteBits      = 1968
	MaxWriteRegisters = 123
)

// maxPDU is the longest request or reply (specification, section 4.1).
const maxPDU = 253

// IsRead reports whether the function reads coils, inputs or registers.
func (f Function) IsRead() bool { return ReadCoils <= f && f <= ReadInputRegisters }

// readsBits reports whether the function reads single bits.
func (f Function) readsBits() bool { return f == ReadCoils || f == ReadDiscreteInputs }

// A Request asks a unit to do something.
type Request struct {
	Function Function
	Address  uint16
	// Quantity is how many coils or registers are read or written. The
	// functions that write a single one or a mask leave it out.
	Quantity uint16
	// Data is what is written, as it goes over the wire: registers of two bytes
	// each, the high one first; coils eight to a byte, the first in the lowest
	// bit; FF 00 or 00 00 for a single coil; the AND and the OR mask.
	Data []byte
}

// Append appends the request.
func (r *Request) Append(dst []byte) []byte {
	dst = append(dst, byte(r.Function))
	dst = binary.BigEndian.AppendUint16(dst, r.Address)
	switch r.Function {
	case WriteSingleCoil, WriteSingleRegister, MaskWriteRegister:
	case WriteMultipleCoils, WriteMultipleRegisters:
		dst = binary.BigEndian.AppendUint16(dst, r.Quantity)
		dst = append(dst, byte(len(r.Data)))
	default:
		return binary.BigEndian.AppendUint16(dst, r.Quantity)
	}
	return append(dst, r.Data...)
}

// ErrNotReply says that what came does not answer the request.
var ErrNotReply = errors.New("not the reply to the request")

// Reply reads the reply to the request. It returns what was read, which is a
// part of pdu, or nothing for a write. The error is an Exception if the unit
// says no, and otherwise wraps ErrNotReply.
func (r *Request) Reply(pdu []byte) ([]byte, error) {
	switch {
	case len(pdu) == 2 && pdu[0] == byte(r.Function)|exceptionBit:
		return nil, Exception(pdu[1])
	case len(pdu) < 2 || pdu[0] != byte(r.Function):
		return nil, fmt.Errorf("%w: another function", ErrNotReply)
	case r.Function.IsRead():
		if n := r.ReplyBytes(); int(pdu[1]) != n || len(pdu) != 2+n {
			return nil, fmt.Errorf("%w: another number of bytes", ErrNotReply)
		}
		return pdu[2:], nil
	}
	// A write is answered by its own beginning (sections 6.5, 6.6, 6.11, 6.12 and 6.16).
	echo := r.Append(make([]byte, 0, maxPDU))
	if r.Function == WriteMultipleCoils || r.Function == WriteMultipleRegisters {
		echo = echo[:5]
	}
	if !bytes.Equal(pdu, echo) {
		return nil, fmt.Errorf("%w: another address or value", ErrNotReply)
	}
	return nil, nil
}

// ReplyBytes returns how many bytes a read returns.
func (r *Request) ReplyBytes() int {
	if r.Function.readsBits() {
		return (int(r.Quantity) + 7) / 8
	}
	return 2 * int(r.Quantity)
}

// replyLength returns the length of the reply that b begins with: 0 if b is too
// short to tell, and -1 if it begins none.
func replyLength(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch f := Function(b[0] &^ exceptionBit); f {
	case ReadCoils, ReadDiscreteInputs, ReadHoldingRegisters, ReadInputRegisters:
		switch {
		case b[0]&exceptionBit != 0:
			return 2
		case len(b) < 2:
			return 0
		case b[1] == 0 || int(b[1]) > maxPDU-2 || !f.readsBits() && b[1]%2 != 0:
			return -1
		}
		return 2 + int(b[1])
	case WriteSingleCoil, WriteSingleRegister, WriteMultipleCoils, WriteMultipleRegisters, MaskWriteRegister:
		switch {
		case b[0]&exceptionBit != 0:
			return 2
		case f == MaskWriteRegister:
			return 7
		}
		return 5
	}
	return -1
}
