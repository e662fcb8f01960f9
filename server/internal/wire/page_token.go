package wire

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
)

// Page is what a page token is bound to: the rpc, the namespace and the arguments that choose what is listed.
type Page struct{ RPC, Namespace, Scope string }

// Tokens makes page tokens, and reads those that come back. A token holds a cursor, which says where to go on; the server keeps
// nothing. Its methods may run at once.
//
//	token = base64url(format:1 version_of_key:4 code:16 cursor)
//	code = the first 16 bytes of HMAC-SHA-256(key, domain, format, then each of rpc, namespace, scope and cursor with its length)
//
// The keys are the store's, so a token is good at every server over it, also after a restart, and at no other store. A cursor is not
// hidden. What comes out of a token is what went into one, so a cursor is not judged again; only what was since deleted may be missing.
type Tokens struct {
	store chainstore.TokenKeeper
	now   func() time.Time
	// asking has a place for one who asks the store.
	asking chan struct{}
	kept   atomic.Pointer[keptKeys]
}

// keptKeys are keys as of a time.
type keptKeys struct {
	chainstore.TokenKeys
	at time.Time
}

const (
	// tokenFormat is that of tokens and of every cursor in them. Whoever changes how any of these is laid out, or what it means,
	// raises it: tokens of before are then refused.
	tokenFormat = 2
	tokenDomain = "transcript.page\x00"
	codeLength  = 16
	tokenHead   = 1 + 4 + codeLength
	// maxToken is above what a token of Search takes with all the runs that it may have.
	maxToken = 256 << 10
	// keysKept is how long keys are used before the store is asked again. A token is good for at least chainstore.TokenKeyLife less that.
	keysKept = time.Hour
)

// ErrPageToken says that a page token was not given by this call with these arguments, or too long ago. Comes in a canonical.FieldError.
var ErrPageToken = errors.New("not a page token of this call")

// NewTokens makes tokens with the keys of a store.
func NewTokens(store chainstore.TokenKeeper, now func() time.Time) *Tokens {
	return &Tokens{store: store, now: now, asking: make(chan struct{}, 1)}
}

// Token is the token for the page behind cursor. Errors are those of the store's TokenKeys.
func (t *Tokens) Token(ctx context.Context, p Page, cursor []byte) (string, error) {
	keys, err := t.keys(ctx, 0)
	if err != nil {
		return "", err
	}
	b := binary.BigEndian.AppendUint32([]byte{tokenFormat}, keys.Current.Version)
	b = append(p.code(b, &keys.Current.Secret, cursor), cursor...)
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// Cursor is what token was given for; nil for the empty token, which means the first page. Errors: ErrPageToken, those of the store's
// TokenKeys.
func (t *Tokens) Cursor(ctx context.Context, p Page, token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	if len(token) > maxToken {
		return nil, BadToken()
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) <= tokenHead || b[0] != tokenFormat {
		return nil, BadToken()
	}
	version, code, cursor := binary.BigEndian.Uint32(b[1:]), b[tokenHead-codeLength:tokenHead], b[tokenHead:]
	keys, err := t.keys(ctx, version)
	if err != nil {
		return nil, err
	}
	for _, key := range []*chainstore.TokenKey{&keys.Current, &keys.Previous} {
		if key.Version > 0 && key.Version == version && hmac.Equal(code, p.code(nil, &key.Secret, cursor)) {
			return cursor, nil
		}
	}
	return nil, BadToken()
}

// code appends the code of a cursor.
func (p Page) code(b []byte, key *chainstore.Secret, cursor []byte) []byte {
	h := hmac.New(sha256.New, key[:])
	head := append(make([]byte, 0, 512), tokenDomain...)
	head = append(head, tokenFormat)
	for _, part := range []string{p.RPC, p.Namespace, p.Scope} {
		head = append(binary.AppendUvarint(head, uint64(len(part))), part...)
	}
	h.Write(binary.AppendUvarint(head, uint64(len(cursor))))
	h.Write(cursor)
	return append(b, h.Sum(nil)[:codeLength]...)
}

// keys are the store's, as of keysKept ago or later, and as of now where a version is newer. Who made up a version has the store asked
// in vain, for a row, and one at a time.
func (t *Tokens) keys(ctx context.Context, version uint32) (*keptKeys, error) {
	if k := t.kept.Load(); k.known(t.now(), version) {
		return k, nil
	}
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if k := t.kept.Load(); k.known(t.now(), version) {
		return k, nil
	}
	k := &keptKeys{at: t.now()}
	var err error
	if k.TokenKeys, err = t.store.TokenKeys(ctx); err != nil {
		return nil, err
	}
	t.kept.Store(k)
	return k, nil
}

func (k *keptKeys) known(now time.Time, version uint32) bool {
	return k != nil && now.Sub(k.at) < keysKept && version <= k.Current.Version
}

// BadToken refuses a page token.
func BadToken() error {
	return &canonical.FieldError{
		Field: "page_token", Rule: "must be the next_page_token of a page of the same list", Kind: ErrPageToken,
	}
}

// ChainAt is the chain of a head that a cursor holds: ErrPageToken where it is not there any more.
func ChainAt(ctx context.Context, store chainstore.ChainReader, namespace string, head chainstore.ID) (chainstore.Chain, error) {
	chain, err := store.Chain(ctx, namespace, chainstore.Ref{ID: head}, nil)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		err = BadToken()
	}
	return chain, err
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
