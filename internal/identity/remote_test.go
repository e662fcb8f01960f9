package identity

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// keyServer is an issuer's server of keys. It answers with what reply is at the time, and counts requests.
type keyServer struct {
	*httptest.Server
	reply atomic.Pointer[http.HandlerFunc]
	asked atomic.Int32
}

func serveKeys(t *testing.T, text string) *keyServer {
	t.Helper()
	s := &keyServer{}
	s.answer(text)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		(*s.reply.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *keyServer) answer(text string) {
	s.does(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func (s *keyServer) does(reply http.HandlerFunc) { s.reply.Store(&reply) }

// asking is a directory of which an issuer's keys lie at a server.
func asking(t *testing.T, s *keyServer, log io.Writer) *Directory {
	t.Helper()
	return open(t, fileWith(t, sso(`"jwks_url":"`+s.URL+`/keys"`), 0o600), Options{Now: func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(log, nil))})
}

// eventually fails where something does not come about soon.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("%s: it never is", what)
		}
		<-time.After(time.Millisecond)
	}
}

// unavailable tells whether nobody can be told apart by these credentials now.
func unavailable(d *Directory, c Credentials) bool {
	who, err := d.Authenticate(c)
	return who == nil && errors.Is(err, ErrUnavailable)
}

// Keys that the issuer changes are got when a token names one that is not known: whoever shows it is told to come again, and then known.
func TestKeysAtURLChange(t *testing.T) {
	k1, k2 := newEC(t, "k1"), newEC(t, "k2")
	s := serveKeys(t, keysFile(t, k1))
	d := asking(t, s, io.Discard)
	old, fresh := show(k1.sign(t, good(), nil)), show(k2.sign(t, good(), nil))
	is(t, d, old, "acme/ada")
	is(t, d, fresh, "") // the keys were got just now
	s.answer(keysFile(t, k2))
	d.remote.longAgo()
	if !unavailable(d, fresh) {
		t.Error("a token of a new key is refused for good, while its key is being got")
	}
	eventually(t, "the new key", func() bool { _, err := d.Authenticate(fresh); return err == nil })
	is(t, d, fresh, "acme/ada")
	is(t, d, old, "")
	if n := s.asked.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// longAgo makes as if the last attempt had ended before the shortest time between two.
func (r *remoteKeys) longAgo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = r.ended.Add(-refreshGap)
}

// Whoever makes up key ids does not make the server ask the issuer again and again, and nobody waits for the issuer.
func TestMadeUpKeyIDs(t *testing.T) {
	k := newEC(t, "k1")
	s := serveKeys(t, keysFile(t, k))
	d := asking(t, s, io.Discard)
	held := make(chan struct{})
	s.does(func(http.ResponseWriter, *http.Request) { <-held })
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	d.remote.longAgo()
	for i := range 100 {
		stranger := newEC(t, "made-up-"+string(rune('a'+i%26)))
		if !unavailable(d, show(stranger.sign(t, good(), nil))) {
			t.Fatal("a key is being got, and a token that names it is refused for good")
		}
	}
	is(t, d, show(k.sign(t, good(), nil)), "acme/ada") // meanwhile
	eventually(t, "the request", func() bool { return s.asked.Load() == 2 })
	release()
	eventually(t, "the end of the request", func() bool { d.remote.mu.Lock(); defer d.remote.mu.Unlock(); return !d.remote.fetching })
	for range 100 {
		is(t, d, show(newEC(t, "made-up").sign(t, good(), nil)), "")
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
	is(t, d, show(k.sign(t, good(), nil)), "acme/ada") // an empty answer takes nothing away
}

// An issuer that does not answer well makes tokens that need its keys unavailable, and no others; the log tells so once.
func TestKeysThatWereNeverGot(t *testing.T) {
	k := newEC(t, "k1")
	for name, reply := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no keys":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, keysFile(t, k)+strings.Repeat(" ", maxKeyBytes))
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				http.Redirect(w, r, "/moved", http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, keysFile(t, k))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveKeys(t, "")
			s.does(reply)
			var log bytes.Buffer
			d := asking(t, s, &log)
			if !unavailable(d, show(k.sign(t, good(), nil))) {
				t.Error("a token is judged without keys")
			}
			is(t, d, show(NewToken()), "")
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if strings.Count(log.String(), "level=WARN") != 1 || strings.Contains(log.String(), s.URL) {
				t.Errorf("the log is:\n%s", &log)
			}
		})
	}
}

// pipes is an issuer without a network, so that a bubble's clock goes on.
type pipes struct{ text atomic.Pointer[string] }

func (p *pipes) RoundTrip(*http.Request) (*http.Response, error) {
	text := p.text.Load()
	if text == nil {
		return nil, errors.New("no route")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(*text))}, nil
}

// Keys are got every few minutes; where they cannot be, those that are known count on for half a day.
func TestKeysAtURLGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k1, k2 := newEC(t, "k1"), newEC(t, "k2")
		issuer := &pipes{}
		text := keysFile(t, k1)
		issuer.text.Store(&text)
		var log bytes.Buffer
		r := newRemoteKeys("https://sso.example/keys", slog.New(slog.NewTextHandler(&log, nil)))
		r.client.Transport = issuer
		r.start()
		defer r.close()
		<-r.tried
		first, err := r.current()
		if err != nil {
			t.Fatal(err)
		}
		wait(refreshEvery)
		if again, err := r.current(); again != first || err != nil {
			t.Errorf("the same keys are another set: %v", err)
		}
		text = keysFile(t, k2)
		issuer.text.Store(&text)
		wait(refreshEvery)
		if second, err := r.current(); err != nil || second == first || len(second.keys["k2"]) != 1 {
			t.Errorf("other keys were not got: %v", err)
		}
		issuer.text.Store(nil)
		wait(maxKeyAge)
		if _, err := r.current(); err != nil {
			t.Error("keys do not count for half a day", err)
		}
		wait(refreshEvery)
		if _, err := r.current(); !errors.Is(err, ErrUnavailable) {
			t.Error("keys count for longer than half a day", err)
		}
		issuer.text.Store(&text)
		wait(refreshGap)
		if _, err := r.current(); err != nil {
			t.Error(err)
		}
		if strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "level=INFO") != 1 {
			t.Errorf("the log is:\n%s", &log)
		}
	})
}
