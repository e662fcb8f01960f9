package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
)

// page is what a page token is bound to: the rpc, the namespace and the arguments that choose what is listed. A token
// holds where to go on; the server keeps nothing.
//
//	token = base64url(version:1 byte (1) checksum:8 bytes cursor)
//	checksum = the first 8 bytes of SHA-256(domain, then each of rpc, namespace, scope and cursor with its length)
//
// The checksum finds tokens of other calls and tokens made up by accident. It keeps no secret, so whoever knows it can make
// up a cursor: what a cursor names is held against what is listed, and not taken on trust. Only the runs that a search has
// reported are: who makes these up hides hits from itself.
type page struct{ rpc, namespace, scope string }

const (
	pageVersion  = 1
	pageChecksum = 8
	// maxToken is above what a token of Search takes with all the runs that it may have.
	maxToken = 256 << 10
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

// chain is the chain of a head that a cursor holds, which was that of ref on the first page: INVALID_PAGE_TOKEN where it
// was not, ErrNodeNotFound where no such node is there (any more).
func (p page) chain(ctx context.Context, store chainstore.Store, ref chainstore.Ref, head chainstore.ID) (chainstore.Chain, error) {
	at := chainstore.Ref{ID: head}
	if ref.Alias == "" {
		if ref.ID != head {
			return nil, badToken()
		}
		return store.Chain(ctx, p.namespace, at, nil)
	}
	chain, err := store.Chain(ctx, p.namespace, ref, &head)
	switch {
	case err == nil && chain.Head().ID == head:
		return chain, nil
	case errors.Is(err, chainstore.ErrNotAncestor), errors.Is(err, chainstore.ErrAliasNotFound):
		err = p.wasHead(ctx, store, ref.Alias, head)
	}
	if err != nil {
		return nil, err
	}
	return store.Chain(ctx, p.namespace, at, nil)
}

// wasHead refuses a head that an alias, which is elsewhere now, did not have: none of those that its history tells of is
// it or comes behind it.
func (p page) wasHead(ctx context.Context, store chainstore.Store, alias string, head chainstore.ID) error {
	states, err := store.AliasHistory(ctx, p.namespace, alias)
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
		_, err := store.Chain(ctx, p.namespace, chainstore.Ref{ID: states[i].Node}, &head)
		if !errors.Is(err, chainstore.ErrNotAncestor) && !errors.Is(err, chainstore.ErrNodeNotFound) {
			return err
		}
	}
	return badToken()
}

// aliasCursor and parseAliasCursor are chainstore.AliasCursor, in the list of a query, as a cursor: the time, then the name.
func aliasCursor(c *chainstore.AliasCursor) []byte {
	return append(binary.AppendVarint(nil, c.MovedAt), c.Name...)
}

func parseAliasCursor(b []byte, q *chainstore.AliasQuery) (*chainstore.AliasCursor, error) {
	if b == nil {
		return nil, nil
	}
	at, n := binary.Varint(b)
	if n <= 0 || at < 0 {
		return nil, badToken()
	}
	name := string(b[n:])
	listed := strings.HasPrefix(name, q.Prefix)
	if q.ByFolder {
		listed = chainstore.Folder(name) == q.Folder
	}
	if !isAlias(name) || !listed {
		return nil, badToken()
	}
	return &chainstore.AliasCursor{MovedAt: at, Name: name}, nil
}

// isAlias tells whether a name that a cursor holds can be an alias's.
func isAlias(name string) bool {
	return checkAlias("page_token", name) == nil && utf8.ValidString(name)
}
