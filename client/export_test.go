package client

import (
	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Raw is the bytes that a reply received as a *rawReply is made of, for tests that change them; nil for other replies.
func Raw(reply any) *[]byte {
	if raw, ok := reply.(*rawReply); ok {
		return &raw.bytes
	}
	return nil
}

// Cached is how many bytes the client's cache counts.
func (c *Client) Cached() int64 {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	return c.cache.used
}

// AssemblyBytes is the size of messages as a payload.
func AssemblyBytes(messages []*transcriptv1.Message) int64 {
	return int64(len(canonical.EncodePayload(messages)))
}
