package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
)

// page is what a page token is bound to: the rpc, the namespace and the arguments that choose what is listed. A token
// holds where to go on; the server keeps nothing.
//
//	token = base64url(version:1 byte (1) checksum:8 bytes cursor)
//	checksum = the first 8 bytes of SHA-256(domain, then each of rpc, namespace, scope and cursor with its length)
//
// The checksum finds tokens of other calls and tokens made up by accident. It keeps no secret: a cursor is a place in
// a list that its caller may read anyway.
type page struct{ rpc, namespace, scope string }

const (
	pageVersion  = 1
	pageChecksum = 8
	maxToken     = 4 << 10
)

// token is the token for the page behind cursor.
func (p page) token(cursor []byte) string {
	b := append([]byte{pageVersion}, p.checksum(cursor)...)
	return base64.RawURLEncoding.EncodeToString(append(b, cursor...))
}

// cursor is what token was given for; nil for the empty token, which means the first page.
func (p page) cursor(token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	if len(token) > maxToken {
		return nil, badToken()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= 1+pageChecksum || b[0] != pageVersion {
		return nil, badToken()
	}
	cursor := b[1+pageChecksum:]
	if !bytes.Equal(b[1:1+pageChecksum], p.checksum(cursor)) {
		return nil, badToken()
	}
	return cursor, nil
}

func (p page) checksum(cursor []byte) []byte {
	h := sha256.New()
	h.Write([]byte("transcript.page.v1\x00"))
	for _, part := range []string{p.rpc, p.namespace, p.scope, string(cursor)} {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:pageChecksum]
}

func badToken() error {
	return &canonical.FieldError{
		Field: "page_token", Rule: "must be the next_page_token of a page of the same list", Kind: errPageToken,
	}
}

// aliasCursor and parseAliasCursor are chainstore.AliasCursor as a cursor: the time, then the name.
func aliasCursor(c *chainstore.AliasCursor) []byte {
	return append(binary.AppendVarint(nil, c.MovedAt), c.Name...)
}

func parseAliasCursor(b []byte) (*chainstore.AliasCursor, error) {
	if b == nil {
		return nil, nil
	}
	at, n := binary.Varint(b)
	if n <= 0 {
		return nil, badToken()
	}
	return &chainstore.AliasCursor{MovedAt: at, Name: string(b[n:])}, nil
}
