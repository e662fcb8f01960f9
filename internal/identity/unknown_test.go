package identity

import (
	"bytes"
	"crypto/x509/pkix"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Whoever sets up credentials finds in the log, at level debug, why they name nobody, and never the credentials.
func TestTheLogTellsWhyNobodyIsNamed(t *testing.T) {
	ec, other := newEC(t, "k1"), newEC(t, "k2")
	imposter := signer{"k1", other.alg, other.key}
	expired, unknown := NewToken(), NewToken()
	entry := tokenEntry("a", expired, `,"expires":"2020-01-01T00:00:00Z"`)
	text := strings.Replace(sso(`"jwks_file":"`+fileWith(t, keysFile(t, ec), 0o644)+`"`), `"principals":[]`,
		`"principals":[{"name":"agents","tokens":[`+entry+`]}]`, 1)
	var log bytes.Buffer
	level := new(slog.LevelVar)
	level.Set(slog.LevelDebug)
	d := open(t, fileWith(t, text, 0o600), Options{Now: func() time.Time { return noon },
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))})
	jwts := func(c claims) Credentials { return show(ec.sign(t, good().with(c), nil)) }
	for name, c := range map[string]struct {
		shown Credentials
		want  error
		text  string
	}{
		"nothing":          {Credentials{}, errNoCredentials, ""},
		"another scheme":   {Credentials{Authorization: []string{"Basic " + unknown}}, errScheme, ""},
		"a mistyped token": {show(unknown[:len(unknown)-1] + "-"), errMistyped, ""},
		"a revoked token":  {show(unknown), errNoSuchToken, ""},
		"an expired token": {show(expired), errTokenExpired, ""},
		"a certificate":    {Credentials{Certificate: certificate(t, pkix.Name{CommonName: "x"}, "x", "", noon)}, errCertOfNobody, ""},
		"no JWT":           {show("abc"), errNoJWT, ""},
		"another audience": {jwts(claims{"aud": "x"}), nil, "(aud)"},
		"another issuer":   {jwts(claims{"iss": "x"}), nil, "(iss)"},
		"an old JWT":       {jwts(claims{"exp": noon.Add(-time.Hour).Unix()}), nil, "expired (exp)"},
		"no exp":           {jwts(claims{"exp": nil}), errNoExpiry, ""},
		"another kid":      {show(other.sign(t, good(), nil)), errNoKey, ""},
		"another key":      {show(imposter.sign(t, good(), nil)), errSignature, ""},
		"no rule":          {jwts(claims{"groups": nil}), errNoRule, ""},
	} {
		log.Reset()
		is(t, d, c.shown, "")
		if c.want != nil {
			c.text = c.want.Error()
		}
		if got := log.String(); !strings.Contains(got, c.text) || !strings.Contains(got, "level=DEBUG") {
			t.Errorf("%s: the log has %q; want %q", name, got, c.text)
		}
		for _, header := range c.shown.Authorization {
			if _, secret, _ := strings.Cut(header, " "); strings.Contains(log.String(), secret) {
				t.Errorf("%s: the log has what was shown", name)
			}
		}
	}
	level.Set(slog.LevelInfo)
	log.Reset()
	is(t, d, show(unknown), "")
	if log.Len() > 0 {
		t.Errorf("above debug the log has %s", log.String())
	}
}
