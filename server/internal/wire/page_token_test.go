package wire

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// page is a list, in no rpc's form.
var page = Page{RPC: "ListAliases", Namespace: "default", Scope: "p"}

// asked counts how often a store is asked for its keys, and fails while err is set.
type asked struct {
	chainstore.TokenKeeper
	times int
	err   error
}

func (a *asked) TokenKeys(ctx context.Context) (chainstore.TokenKeys, error) {
	a.times++
	if a.err != nil {
		return chainstore.TokenKeys{}, a.err
	}
	return a.TokenKeeper.TokenKeys(ctx)
}

// servers are two servers over one store.
func servers(now func() time.Time) (tokens [2]*Tokens, stores [2]*asked) {
	store := memstore.New(memstore.Options{Now: now})
	for i := range tokens {
		stores[i] = &asked{TokenKeeper: store}
		tokens[i] = NewTokens(stores[i], now)
	}
	return tokens, stores
}

func given(t testing.TB, by *Tokens, cursor string) string {
	t.Helper()
	token, err := by.Token(context.Background(), page, []byte(cursor))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// takes asserts what a server makes of a token: its cursor, or nothing where it must be refused.
func takes(t testing.TB, what string, s *Tokens, token, want string) {
	t.Helper()
	cursor, err := s.Cursor(context.Background(), page, token)
	if want == "" && errors.Is(err, ErrPageToken) {
		return
	}
	if err != nil || string(cursor) != want {
		t.Errorf("%s: %q, %v, want %q", what, cursor, err, want)
	}
}

// A token is good for the call, the namespace and the scope that it was given for, and for no other.
func TestPageTokensAreBound(t *testing.T) {
	tokens, _ := servers(time.Now)
	token := given(t, tokens[0], "cursor")
	for i, s := range tokens {
		takes(t, "as given", s, token, "cursor")
		for _, other := range []Page{
			{RPC: "ListAliasHistory", Namespace: "default", Scope: "p"},
			{RPC: "ListAliases", Namespace: "other", Scope: "p"},
			{RPC: "ListAliases", Namespace: "default", Scope: "q"},
			{RPC: "ListAliasesd", Namespace: "efault", Scope: "p"},
		} {
			if _, err := s.Cursor(context.Background(), other, token); !errors.Is(err, ErrPageToken) {
				t.Errorf("server %d: %+v takes the token of %+v: %v", i, other, page, err)
			}
		}
	}
	elsewhere, _ := servers(time.Now)
	takes(t, "at another store", elsewhere[0], token, "")
	takes(t, "at another store that has given some", elsewhere[1], given(t, tokens[1], "cursor"), "")
}

// TestPageTokensAreWhole: a token with a bit flipped, cut, longer, spelled otherwise or of another format is refused.
func TestPageTokensAreWhole(t *testing.T) {
	tokens, stores := servers(time.Now)
	token := given(t, tokens[0], "cursor")
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * len(b) {
		flipped := append([]byte(nil), b...)
		flipped[i/8] ^= 1 << (i % 8)
		takes(t, "with a bit flipped", tokens[0], base64.RawURLEncoding.EncodeToString(flipped), "")
	}
	for n := 1; n < len(token); n++ {
		takes(t, "cut", tokens[0], token[:n], "")
	}
	for _, other := range []string{token + "A", token + "AAAA", token + "=", " " + token, token[1:], strings.Repeat("A", maxToken+1)} {
		takes(t, "another text", tokens[0], other, "")
	}
	if n := stores[0].times; n > 40 {
		t.Errorf("the store was asked %d times: more often than there are newer versions among these", n)
	}
}

// TestKeysOfTokens: a token is good for at least the life of a key, at a server that was told of no new one too, and no longer than two.
func TestKeysOfTokens(t *testing.T) {
	const life = chainstore.TokenKeyLife * time.Millisecond
	clock := storetest.NewClock()
	tokens, _ := servers(clock.Now)
	first := given(t, tokens[0], "first")
	takes(t, "at the other server", tokens[1], first, "first")
	clock.Advance(life - time.Minute)
	last := given(t, tokens[0], "last of the first key")
	takes(t, "with the first key", tokens[1], last, "last of the first key")
	clock.Advance(time.Minute) // both have asked for keys a minute ago
	old := given(t, tokens[1], "old")
	clock.Advance(keysKept - time.Minute)
	second := given(t, tokens[0], "second")
	clock.Advance(-time.Minute) // the other server's clock is late: it does not ask for keys yet
	takes(t, "with a key that the other server does not know", tokens[1], second, "second")
	clock.Advance(life - keysKept)
	for name, token := range map[string]string{"first": first, "last of the first key": last, "old": old, "second": second} {
		for _, s := range tokens {
			takes(t, "with two keys", s, token, name)
		}
	}
	clock.Advance(2 * keysKept)
	third := given(t, tokens[0], "third")
	for name, token := range map[string]string{"second": second, "third": third} {
		takes(t, "after the third key", tokens[1], token, name)
	}
	for _, token := range []string{first, last, old} {
		takes(t, "of the first key after the third", tokens[1], token, "")
	}
}

// TestKeysAreKept: pages ask the store for keys once an hour; tokens of keys that there are not, each once.
func TestKeysAreKept(t *testing.T) {
	clock := storetest.NewClock()
	tokens, stores := servers(clock.Now)
	token := given(t, tokens[0], "cursor")
	for range 100 {
		token = given(t, tokens[0], "cursor")
		takes(t, "kept", tokens[0], token, "cursor")
	}
	if n := stores[0].times; n != 1 {
		t.Errorf("100 pages asked %d times", n)
	}
	clock.Advance(keysKept)
	given(t, tokens[0], "cursor")
	newer := "AgAAAAk" + token[7:]
	for range 10 {
		takes(t, "of a key to come", tokens[0], newer, "")
	}
	if n := stores[0].times; n != 1+1+10 {
		t.Errorf("an hour later, and with 10 tokens of a key to come, it was asked %d times", n)
	}
	stores[1].err = chainstore.ErrDiskFull
	if _, err := tokens[1].Token(context.Background(), page, []byte("x")); !errors.Is(err, chainstore.ErrDiskFull) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := tokens[1].Cursor(context.Background(), page, token); !errors.Is(err, chainstore.ErrDiskFull) {
		t.Errorf("a token, without a key: %v", err)
	}
}

func BenchmarkPageToken(b *testing.B) {
	tokens, _ := servers(time.Now)
	ctx := context.Background()
	for name, cursor := range map[string]string{"Head": strings.Repeat("x", 36), "Runs": strings.Repeat("x", 60<<10)} {
		token := given(b, tokens[0], cursor)
		b.Run(name+"/Token", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tokens[0].Token(ctx, page, []byte(cursor)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/Cursor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tokens[0].Cursor(ctx, page, token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
