package proto

// Bounds of what is accepted from the bus. They keep a small message from
// growing into much memory; payloads themselves are bounded by the bus.
const (
	// MaxSamples is the largest number of samples in one update.
	MaxSamples = 1 << 16
	// MaxAttributes is the largest number of attributes in one piece of an
	// announcement.
	MaxAttributes = 1 << 16
	// maxIndex keeps indices and offsets far from overflow.
	maxIndex = 1 << 30

	maxStates      = 1 << 16 // as many as package gateway parses indices for
	maxAnnotations = 1 << 10
	maxDimensions  = 8
	maxElements    = 1 << 30 // product of a shape
	maxPieces      = 1 << 16
)
