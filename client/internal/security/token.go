// Package security is what connections are made with: tokens, and TLS by files that are read again.
package security

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// TokenFile is a file with a token. Its method may run at once with itself.
type TokenFile struct {
	Name string

	mu sync.Mutex
	// last is the last token that was in it, looked when it was looked at.
	last   string
	looked time.Time
}

// tokenEvery is how often a file of a token is looked at.
const tokenEvery = time.Second

// Token is what the file holds, but for blanks around it. It is looked at again once a second at most; while there is no token in it, the last
// one is given.
func (f *TokenFile) Token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != "" && time.Since(f.looked) < tokenEvery {
		return f.last, nil
	}
	f.looked = time.Now()
	token, err := readToken(f.Name)
	switch {
	case err == nil:
		f.last = token
	case f.last == "":
		return "", err
	}
	return f.last, nil
}

// readToken says nothing of what is in the file.
func readToken(name string) (string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("the file of the token cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("the file %s has no token: %w", name, err)
	}
	return token, nil
}

func checkToken(token string) error {
	switch {
	case token == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("a token is one word of ASCII letters, digits and signs")
	default:
		return nil
	}
}

// Bearer shows the tokens that a function gives. gRPC refuses to send them where Secure is set and the connection has no TLS.
type Bearer struct {
	Token  func(context.Context) (string, error)
	Secure bool
}

// GetRequestMetadata has the header of a call.
func (b Bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.Token(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkToken(token); err != nil {
		return nil, fmt.Errorf("that is no token: %w", err)
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity tells whether TLS is needed.
func (b Bearer) RequireTransportSecurity() bool { return b.Secure }
