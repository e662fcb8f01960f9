package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
)

// Page is what a page token is bound to: the rpc, the namespace and the arguments that choose what is listed. A token
// holds where to go on; the server keeps nothing.
//
//	token = base64url(version:1 byte (1) checksum:8 bytes cursor)
//	checksum = the first 8 bytes of SHA-256(domain, then each of rpc, namespace, scope and cursor with its length)
//
// The checksum finds tokens of other calls and tokens made up by accident. It keeps no secret, so whoever knows it can make
// up a cursor: what a cursor names is held against what is listed, and not taken on trust. Only the runs that a search has
// reported are: who makes these up hides hits from itself.
type Page struct{ RPC, Namespace, Scope string }

const (
	pageVersion  = 1
	pageChecksum = 8
	// maxToken is above what a token of Search takes with all the runs that it may have.
	maxToken = 256 << 10
)

// ErrPageToken says that a page token was not given by this call with these arguments. Comes in a canonical.FieldError.
var ErrPageToken = errors.New("not a page token of this call")

// Token is the token for the page behind cursor.
func (p Page) Token(cursor []byte) string {
	b := append([]byte{pageVersion}, p.checksum(cursor)...)
	return base64.RawURLEncoding.EncodeToString(append(b, cursor...))
}

// Cursor is what token was given for; nil for the empty token, which means the first page.
func (p Page) Cursor(token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	if len(token) > maxToken {
		return nil, BadToken()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= 1+pageChecksum || b[0] != pageVersion {
		return nil, BadToken()
	}
	cursor := b[1+pageChecksum:]
	if !bytes.Equal(b[1:1+pageChecksum], p.checksum(cursor)) {
		return nil, BadToken()
	}
	return cursor, nil
}

func (p Page) checksum(cursor []byte) []byte {
	h := sha256.New()
	h.Write([]byte("transcript.page.v1\x00"))
	for _, part := range []string{p.RPC, p.Namespace, p.Scope, string(cursor)} {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:pageChecksum]
}

// BadToken refuses a page token.
func BadToken() error {
	return &canonical.FieldError{
		Field: "page_token", Rule: "must be the next_page_token of a page of the same list", Kind: ErrPageToken,
	}
}

// Chain is the chain of a head that a cursor holds, which was that of ref on the first page: INVALID_PAGE_TOKEN where it
// was not, ErrNodeNotFound where no such node is there (any more).
func (p Page) Chain(ctx context.Context, store chainstore.Store, ref chainstore.Ref, head chainstore.ID) (chainstore.Chain, error) {
	at := chainstore.Ref{ID: head}
	if ref.Alias == "" {
		if ref.ID != head {
			return nil, BadToken()
		}
		return store.Chain(ctx, p.Namespace, at, nil)
	}
	chain, err := store.Chain(ctx, p.Namespace, ref, &head)
	switch {
	case err == nil && chain.Head().ID == head:
		return chain, nil
	case errors.Is(err, chainstore.ErrNotAncestor), errors.Is(err, chainstore.ErrAliasNotFound):
		err = p.wasHead(ctx, store, ref.Alias, head)
	}
	if err != nil {
		return nil, err
	}
	return store.Chain(ctx, p.Namespace, at, nil)
}

// wasHead refuses a head that an alias, which is elsewhere now, did not have: none of those that its history tells of is
// it or comes behind it.
func (p Page) wasHead(ctx context.Context, store chainstore.Store, alias string, head chainstore.ID) error {
	states, err := store.AliasHistory(ctx, p.Namespace, alias)
	if err != nil && !errors.Is(err, chainstore.ErrAliasNotFound) {
		return err
	}
	for i := range states {
		switch {
		case states[i].Deleted:
			continue
		case states[i].Node == head:
			return nil
		}
		_, err := store.Chain(ctx, p.Namespace, chainstore.Ref{ID: states[i].Node}, &head)
		if !errors.Is(err, chainstore.ErrNotAncestor) && !errors.Is(err, chainstore.ErrNodeNotFound) {
			return err
		}
	}
	return BadToken()
}

// IsAlias tells whether a name that a cursor holds can be an alias's.
func IsAlias(name string) bool {
	return CheckAlias("page_token", name) == nil && utf8.ValidString(name)
}

// HeadCursor and ParseHeadCursor are a head and two numbers, which say where in its chain a list goes on, as a cursor.
func HeadCursor(head chainstore.ID, first, second uint32) []byte {
	b := binary.AppendUvarint(head[:], uint64(first))
	return binary.AppendUvarint(b, uint64(second))
}

func ParseHeadCursor(b []byte) (head chainstore.ID, first, second uint32, err error) {
	if len(b) < len(head) {
		return head, 0, 0, BadToken()
	}
	b = b[copy(head[:], b):]
	x, n := binary.Uvarint(b)
	if n <= 0 || x > math.MaxUint32 {
		return head, 0, 0, BadToken()
	}
	y, m := binary.Uvarint(b[n:])
	if m <= 0 || y > math.MaxUint32 || n+m != len(b) {
		return head, 0, 0, BadToken()
	}
	return head, uint32(x), uint32(y), nil
}
