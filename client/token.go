package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// WithToken makes Dial show a token with each call, that which the function gives; it is asked for each attempt, maybe by many at once, and
// its error is that of the call, which is not sent. Tokens do not go in plain text to another machine, unless WithInsecure is given.
func WithToken(token func(context.Context) (string, error)) Option {
	return func(o *options) { o.token = token }
}

// WithTokenFile is WithToken with what a file holds, but for blanks around it. The file is looked at again once a second at most, as calls
// are made; while there is no token in it, the last one goes on being shown. Dial fails where there is none at first.
func WithTokenFile(name string) Option {
	return func(o *options) {
		f := &tokenFile{name: name}
		o.token, o.tokenFile = f.token, f
	}
}

// tokenFile is a file with a token.
type tokenFile struct {
	name string

	mu sync.Mutex
	// last is the last token that was in it, looked when it was looked at.
	last   string
	looked time.Time
}

// tokenEvery is how often a file of a token is looked at.
const tokenEvery = time.Second

func (f *tokenFile) token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != "" && time.Since(f.looked) < tokenEvery {
		return f.last, nil
	}
	f.looked = time.Now()
	token, err := readToken(f.name)
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

// bearer shows tokens. gRPC refuses to send them where secure is set and the connection has no TLS.
type bearer struct {
	token  func(context.Context) (string, error)
	secure bool
}

func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.token(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkToken(token); err != nil {
		return nil, fmt.Errorf("that is no token: %w", err)
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }
