package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Times of keys at a URL: they are got every refreshEvery, and for a key that is not among them, but not within refreshGap of the last time.
// Each attempt takes fetchTimeout at most. Where none succeeds, the next comes after refreshGap, and keys count on for maxKeyAge.
const (
	refreshEvery = 5 * time.Minute
	refreshGap   = 10 * time.Second
	fetchTimeout = 5 * time.Second
	maxKeyAge    = 12 * time.Hour
	maxKeyBytes  = 1 << 20
)

// remoteKeys are keys at a URL.
type remoteKeys struct {
	url    string
	client *http.Client
	log    *slog.Logger
	got    atomic.Pointer[gotKeys] // nil: never
	text   []byte                  // what was got last; only the goroutine that fetches has it

	mu       sync.Mutex
	fetching bool      // an attempt runs, or was promised
	ended    time.Time // when the last attempt ended
	failed   bool      // it failed

	wanted chan struct{} // an attempt was promised
	tried  chan struct{} // closed after the first attempt
	stop   context.CancelFunc
	done   chan struct{}
}

// gotKeys are keys, and when they were the issuer's.
type gotKeys struct {
	set *keySet
	at  time.Time
}

// newRemoteKeys are keys at a URL, which nobody gets yet.
func newRemoteKeys(url string, log *slog.Logger) *remoteKeys {
	return &remoteKeys{
		url: url, log: log,
		client: &http.Client{
			Timeout:       fetchTimeout,
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: maxKeyBytes},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // keys come from where they are said to be
		},
		wanted: make(chan struct{}, 1), tried: make(chan struct{}), done: make(chan struct{}),
	}
}

// start begins to get the keys, until close.
func (r *remoteKeys) start() {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go r.run(ctx)
}

func (r *remoteKeys) close() {
	r.stop()
	<-r.done
}

func (r *remoteKeys) current() (*keySet, error) {
	got := r.got.Load()
	if got == nil || time.Since(got.at) > maxKeyAge {
		return nil, ErrUnavailable
	}
	return got.set, nil
}

// lookFor begins to get the keys anew, unless that was done of late: whoever makes up key ids causes few requests.
func (r *remoteKeys) lookFor(string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fetching {
		return true
	}
	if time.Since(r.ended) < refreshGap {
		return false
	}
	r.fetching = true
	select {
	case r.wanted <- struct{}{}:
	default: // it is wanted already
	}
	return true
}

// run fetches until ctx ends.
func (r *remoteKeys) run(ctx context.Context) {
	defer close(r.done)
	r.attempt(ctx)
	close(r.tried)
	for {
		next := time.NewTimer(r.pause())
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-r.wanted:
		case <-next.C:
		}
		next.Stop()
		r.attempt(ctx)
	}
}

func (r *remoteKeys) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return refreshGap
	}
	return refreshEvery
}

// attempt gets the keys once, and says in the log where that begins to fail, and where it works again.
func (r *remoteKeys) attempt(ctx context.Context) {
	r.mu.Lock()
	r.fetching = true
	r.mu.Unlock()
	err := r.fetch(ctx)
	r.mu.Lock()
	failedBefore := r.failed
	r.fetching, r.ended, r.failed = false, time.Now(), err != nil
	r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err != nil && !failedBefore:
		r.log.Warn("the keys of JWTs cannot be got; those that were got before, if any, count on for 12 hours", "error", err)
	case err == nil && failedBefore:
		r.log.Info("the keys of JWTs can be got again")
	}
}

func (r *remoteKeys) fetch(ctx context.Context) error {
	text, err := r.download(ctx)
	if err != nil {
		return err
	}
	got := &gotKeys{at: time.Now()}
	if before := r.got.Load(); before != nil && bytes.Equal(text, r.text) {
		got.set = before.set // tokens that were verified by it stay verified
	} else if got.set, err = parseKeys(text); err != nil {
		return err
	}
	r.text = text
	r.got.Store(got)
	return nil
}

func (r *remoteKeys) download(ctx context.Context) (text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	reply, err := r.client.Do(request)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the URL
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, reply.Body.Close()) }()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answers with status %d", reply.StatusCode)
	}
	text, err = io.ReadAll(io.LimitReader(reply.Body, maxKeyBytes+1))
	if err == nil && len(text) > maxKeyBytes {
		return nil, fmt.Errorf("the issuer's keys are larger than %d KiB", maxKeyBytes>>10)
	}
	return text, err
}

// checkURL refuses a URL from which others could send keys of theirs.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("must be a URL such as https://HOST/PATH, without a password")
	}
	ip := net.ParseIP(u.Hostname())
	switch {
	case u.Scheme == "https", u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()):
		return nil
	default:
		return errors.New("must be https, or http at a loopback address")
	}
}
