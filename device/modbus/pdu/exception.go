package pdu

import "fmt"

// Exception is the code by which a unit, or a gateway on the way to it, says no.
type Exception byte

// The exceptions (specification, section 7).
const (
	IllegalFunction    Exception = 1
	IllegalDataAddress Exception = 2
	IllegalDataValue   Exception = 3
	DeviceFailure      Exception = 4
	Acknowledge        Exception = 5 // accepted, and not done yet
	DeviceBusy         Exception = 6
	MemoryParityError  Exception = 8
	GatewayPath        Exception = 10 // the gateway has no way to the unit
	GatewayTarget      Exception = 11 // the unit did not answer the gateway
)

var exceptionWords = map[Exception]string{
	IllegalFunction:    "illegal function",
	IllegalDataAddress: "illegal data address",
	IllegalDataValue:   "illegal data value",
	DeviceFailure:      "device failure",
	Acknowledge:        "acknowledge",
	DeviceBusy:         "device busy",
	MemoryParityError:  "memory parity error",
	GatewayPath:        "gateway path unavailable",
	GatewayTarget:      "gateway target device failed to respond",
}

// Error returns the specification's words and the code.
func (e Exception) Error() string {
	words := exceptionWords[e]
	if words == "" {
		words = "exception"
	}
	return fmt.Sprintf("%s (%d)", words, byte(e))
}
