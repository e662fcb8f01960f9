package server

const (
	// maxReceived is the most that is received at all: between the two a request is refused as LIMIT_EXCEEDED, above it
	// gRPC refuses it by itself, as RESOURCE_EXHAUSTED and without a reason.
	maxReceived = 8 << 20
	// maxHead is the most bytes of a call's head, as HTTP/2 counts them (RFC 9113, 6.5.2); gRPC clients are told, and refuse a
	// call with a larger one themselves.
	maxHead = 16 << 10
	// maxStreams is the most calls of one connection that are under way at once; further ones wait at the client.
	maxStreams = 256
	// streamWindow is how much of a request comes before a handler receives it, gRPC's least; then all of it may come, a round
	// trip later. connectionWindow is how much of all of a connection's requests may be on their way.
	streamWindow, connectionWindow = 64 << 10, 4 << 20
)
