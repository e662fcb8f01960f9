package canonical

// The limits on what a client puts. Part of the contract: a limit may only grow.
const (
	// MaxMessageBytes is the most that a message may take encoded, without tag and length prefix.
	MaxMessageBytes = 3 << 20
	// MaxPayloadBytes is the most that a node's messages may take encoded. A frame that holds them together with what
	// is told of the node stays within 4 MiB.
	MaxPayloadBytes = 4<<20 - 128<<10
	// MaxMessages is the most messages of a node.
	MaxMessages = 1000
	// MaxCalls is the most tool calls of a message.
	MaxCalls = 256
	// MaxCallIDBytes is the most bytes of the id of a call, also where a result or a spawned chain names it.
	MaxCallIDBytes = 1 << 10
	// MaxNameBytes is the most bytes of the name of a tool or of a speaker.
	MaxNameBytes = 1 << 10
	// MaxOpaqueTypeBytes is the most bytes of the type of an opaque part; the least is 1.
	MaxOpaqueTypeBytes = 256
	// MaxOpaqueBytes is the most bytes of the data of an opaque part.
	MaxOpaqueBytes = 1 << 20
	// MaxMetadataEntries is the most metadata entries of a node.
	MaxMetadataEntries = 64
	// MaxMetadataKeyBytes is the most bytes of a metadata key; the least is 1.
	MaxMetadataKeyBytes = 256
	// MaxMetadataValueBytes is the most bytes of a metadata value.
	MaxMetadataValueBytes = 4 << 10
	// MinSaltBytes and MaxSaltBytes bound a salt that is not empty.
	MinSaltBytes = 16
	MaxSaltBytes = 32
	// MaxJSONDepth is the most objects and arrays that may lie in each other in extras.
	MaxJSONDepth = 128
)
