package ca

import (
	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// dbf is the type of a field in an IOC's database (epics-base dbFldTypes.h). It
// decides as what Channel Access serves the field.
type dbf uint8

const (
	dbfString dbf = iota
	dbfChar
	dbfUChar
	dbfShort
	dbfUShort
	dbfLong
	dbfULong
	dbfInt64
	dbfUInt64
	dbfFloat
	dbfDouble
	dbfEnum
	dbfMenu // an enum whose states are the same in every record
)

// natives is what Channel Access, which has seven types, makes of each (db_access.c).
var natives = [...]cawire.Type{
	dbfString: cawire.DBRString, dbfChar: cawire.DBRChar, dbfUChar: cawire.DBRChar,
	dbfShort: cawire.DBRShort, dbfUShort: cawire.DBRLong, dbfLong: cawire.DBRLong, dbfULong: cawire.DBRDouble,
	dbfInt64: cawire.DBRDouble, dbfUInt64: cawire.DBRDouble, dbfFloat: cawire.DBRFloat, dbfDouble: cawire.DBRDouble,
	dbfEnum: cawire.DBREnum, dbfMenu: cawire.DBREnum,
}

// arrayTypes is the FTVL of an array of each kind.
var arrayTypes = [...]dbf{
	gateway.Bool: dbfUChar, gateway.Int8: dbfChar, gateway.Int16: dbfShort, gateway.Int32: dbfLong, gateway.Int64: dbfInt64,
	gateway.Uint8: dbfUChar, gateway.Uint16: dbfUShort, gateway.Uint32: dbfULong, gateway.Uint64: dbfUInt64,
	gateway.Float32: dbfFloat, gateway.Float64: dbfDouble, gateway.String: dbfString, gateway.Bytes: dbfUChar,
}

// isFloat tells whether numbers of the type are written with a precision.
func (d dbf) isFloat() bool { return d == dbfFloat || d == dbfDouble }

// limits returns the whole range of a type, which base shows for fields that
// have no limits of their own (recGbl.c).
func (d dbf) limits() (low, high float64) {
	switch d {
	case dbfChar:
		return -128, 127
	case dbfUChar:
		return 0, 255
	case dbfShort:
		return -32768, 32767
	case dbfUShort, dbfEnum:
		return 0, 65535
	case dbfLong:
		return -2147483648, 2147483647
	case dbfULong:
		return 0, 4294967295
	case dbfInt64:
		return -9223372036854775808, 9223372036854775807
	case dbfUInt64:
		return 0, 18446744073709551615
	case dbfFloat:
		return -1e30, 1e30
	case dbfDouble:
		return -1e300, 1e300
	}
	return 0, 0
}
