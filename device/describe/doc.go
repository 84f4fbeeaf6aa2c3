// Package describe is the part of a device's configuration that is the same
// for every driver: what an attribute is, as opposed to how its instrument is
// asked for it. Drivers embed Attribute into their own attribute type and turn
// it into a gateway.Descriptor with Build.
//
// Mistakes are collected, not returned one by one: a Place in the file takes
// them, so that somebody who writes a file sees all of them at once.
//
// Decoding is not strict by itself: unknown keys are for whoever reads the
// file to report.
package describe
