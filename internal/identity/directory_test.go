package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fileWith writes a file of principals of a mode, and gives its path.
func fileWith(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "principals.json")
	rewrite(t, path, text, mode)
	return path
}

// rewrite replaces a file at once, as an editor of it does.
func rewrite(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path+".new", mode), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func hashOf(token string) string {
	hash := HashToken(token)
	return hex.EncodeToString(hash[:])
}

// agents is a file with one principal, who has the tokens.
func agents(tokens ...string) string {
	return `{"principals":[{"name":"agents","grants":[{"roles":["read","append"],"namespaces":"acme*"}],"tokens":[` + strings.Join(tokens, ",") + `]}]}`
}

func tokenEntry(id, token, more string) string {
	return `{"id":"` + id + `","sha256":"` + hashOf(token) + `"` + more + `}`
}

func show(token string) Credentials { return Credentials{Authorization: []string{"Bearer " + token}} }

func open(t *testing.T, path string, o Options) *Directory {
	t.Helper()
	d, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// is fails where credentials are not those of name; empty: where they are somebody's.
func is(t *testing.T, d *Directory, c Credentials, name string) {
	t.Helper()
	who, err := d.Authenticate(c)
	switch {
	case name == "" && (who != nil || !errors.Is(err, ErrUnauthenticated)):
		t.Errorf("named %v, %v; want nobody", who, err)
	case name != "" && (err != nil || who == nil || who.Name != name):
		t.Errorf("named %v, %v; want %s", who, err, name)
	}
}

func TestTokensNameTheirPrincipal(t *testing.T) {
	token, other := NewToken(), NewToken()
	d := open(t, fileWith(t, agents(tokenEntry("a", token, "")), 0o600), Options{})
	is(t, d, show(token), "agents")
	is(t, d, Credentials{Authorization: []string{"bearer " + token}}, "agents")
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer  " + token, token, "Basic " + token, "Bearer " + token + " ", "Bearer " + other, "Bearer " + hashOf(token)} {
		is(t, d, Credentials{Authorization: []string{header}}, "")
	}
	is(t, d, Credentials{}, "")
	is(t, d, Credentials{Authorization: []string{"Bearer " + token, "Bearer " + token}}, "")
	who, _ := d.Authenticate(show(token))
	if who.Party() != who.Name || !who.May(Read, "acme-1") || who.May(Erase, "acme-1") || who.May(Read, "other") || who.MayEverywhere(Read) {
		t.Errorf("grants are %+v", who)
	}
}

// A token is good until it expires, and not at that moment.
func TestTokensExpire(t *testing.T) {
	token := NewToken()
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	now := end.Add(-time.Nanosecond)
	path := fileWith(t, agents(tokenEntry("a", token, `,"expires":"2026-12-01T00:00:00Z"`)), 0o600)
	d := open(t, path, Options{Now: func() time.Time { return now }})
	is(t, d, show(token), "agents")
	now = end
	is(t, d, show(token), "")
}

// What is written to the file counts a second later: a revoked token names nobody, and a new one its principal.
func TestChangesCountWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := NewToken(), NewToken()
		path := fileWith(t, agents(tokenEntry("a", old, "")), 0o600)
		d := open(t, path, Options{})
		is(t, d, show(old), "agents")
		rewrite(t, path, agents(tokenEntry("b", fresh, "")), 0o600)
		wait(time.Second)
		is(t, d, show(old), "")
		is(t, d, show(fresh), "agents")
		// Written in place, with as many bytes, within a tick of the file system's clock.
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(path, []byte(agents(tokenEntry("a", old, ""))), 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		is(t, d, show(old), "agents")
		is(t, d, show(fresh), "")
	})
}

// wait lets a time of the bubble go by, and all that happens in it.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A file that cannot be used any more counts for a second more, in which an editor may have been writing it. Then nobody is known, which
// one line of the log tells, until the file is mended.
func TestBrokenFilesFailClosed(t *testing.T) {
	good := NewToken()
	text := agents(tokenEntry("a", good, ""))
	for name, damage := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.WriteFile(path, []byte(text[:len(text)/2]), 0o600) },
		"gone":    os.Remove,
		"shown":   func(path string) error { return os.Chmod(path, 0o644) },
		"unknown": func(path string) error { return os.WriteFile(path, []byte(`{"principals":[],"principal":[]}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := fileWith(t, text, 0o600)
				var log bytes.Buffer
				d := open(t, path, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err := damage(path); err != nil {
					t.Fatal(err)
				}
				wait(900 * time.Millisecond)
				is(t, d, show(good), "agents")
				wait(lookEvery + patience)
				if who, err := d.Authenticate(show(good)); who != nil || !errors.Is(err, ErrUnavailable) {
					t.Errorf("named %v, %v", who, err)
				}
				wait(time.Minute)
				if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
					t.Errorf("%d lines at error:\n%s", n, log.String())
				}
				rewrite(t, path, text, 0o600)
				wait(lookEvery)
				is(t, d, show(good), "agents")
				if strings.Contains(log.String(), good) || strings.Contains(log.String(), hashOf(good)) {
					t.Error("the log has a secret")
				}
			})
		})
	}
}

// stall is a log of what is above debug that takes a line when it is told to.
type stall struct {
	slog.Handler
	take chan struct{}
}

func (stall) Enabled(_ context.Context, l slog.Level) bool { return l > slog.LevelDebug }
func (s stall) Handle(context.Context, slog.Record) error  { <-s.take; return nil }

// Where looking at the file hangs, so that a revocation is not seen, what it said before does not count for long.
func TestWhoCannotLookKnowsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, revoked := NewToken(), NewToken()
		path := fileWith(t, agents(tokenEntry("a", old, "")), 0o600)
		take := make(chan struct{}, 1)
		take <- struct{}{}
		d := open(t, path, Options{Log: slog.New(stall{slog.DiscardHandler, take})})
		defer close(take)
		rewrite(t, path, agents(tokenEntry("a", old, ""), tokenEntry("b", revoked, "")), 0o600)
		wait(lookEvery)
		is(t, d, show(revoked), "agents") // and looking hangs
		rewrite(t, path, agents(tokenEntry("a", old, "")), 0o600)
		wait(stuckAfter)
		if who, err := d.Authenticate(show(revoked)); who != nil || !errors.Is(err, ErrUnavailable) {
			t.Errorf("named %v, %v", who, err)
		}
		take <- struct{}{}
		take <- struct{}{} // the log is told of it, and then of the file
		wait(2 * lookEvery)
		is(t, d, show(revoked), "")
		is(t, d, show(old), "agents")
	})
}

// A server does not start with a file that it cannot use; the error says what to do.
func TestOpenRefuses(t *testing.T) {
	for _, mode := range []os.FileMode{0o644, 0o640, 0o660, 0o604} {
		_, err := Open(fileWith(t, `{}`, mode), Options{})
		if !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), "chmod 0600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, ErrFile) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); !errors.Is(err, ErrFile) {
		t.Errorf("a directory: %v", err)
	}
}

// certificate is one of a subject, a host and a URI, valid for an hour around now.
func certificate(t *testing.T, subject pkix.Name, host, uri string, now time.Time) *x509.Certificate {
	t.Helper()
	raw, err := asn1.Marshal(subject.ToRDNSequence())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{RawSubject: raw, DNSNames: []string{host}, URIs: []*url.URL{u}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
}

func TestCertificatesNameTheirPrincipal(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	token := NewToken()
	d := open(t, fileWith(t, `{"principals":[
		{"name":"by-subject","certificates":["CN=agent,O=Acme"],"tokens":[`+tokenEntry("a", token, "")+`]},
		{"name":"by-host","certificates":["dns:Agent.acme.example"]},
		{"name":"by-uri","certificates":["uri:spiffe://acme/agent"]}]}`, 0o600), Options{Now: func() time.Time { return now }})
	acme := pkix.Name{CommonName: "agent", Organization: []string{"Acme"}}
	other := pkix.Name{CommonName: "agent,O=Acme"}
	with := func(c *x509.Certificate) Credentials { return Credentials{Certificate: c} }
	is(t, d, with(certificate(t, acme, "h", "u:x", now)), "by-subject")
	is(t, d, with(certificate(t, other, "AGENT.acme.example", "u:x", now)), "by-host")
	is(t, d, with(certificate(t, other, "h", "spiffe://acme/agent", now)), "by-uri")
	is(t, d, with(certificate(t, other, "h", "spiffe://acme/agent/x", now)), "")
	is(t, d, with(certificate(t, acme, "agent.acme.example", "u:x", now)), "") // two are meant
	is(t, d, with(certificate(t, acme, "h", "u:x", now.Add(2*time.Hour))), "") // not yet
	is(t, d, with(certificate(t, acme, "h", "u:x", now.Add(-2*time.Hour))), "")
	// A header decides, also one that names nobody.
	c := with(certificate(t, other, "h", "spiffe://acme/agent", now))
	c.Authorization = []string{"Bearer " + token}
	is(t, d, c, "by-subject")
	c.Authorization = []string{"Bearer " + NewToken()}
	is(t, d, c, "")
	c.Authorization = []string{"Bearer " + token, "Bearer " + token}
	is(t, d, c, "")
}
