package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// claims are those of a token.
type claims map[string]any

// with is a copy in which some claims are others; nil: they are not there.
func (c claims) with(others claims) claims {
	c = maps.Clone(c)
	for name, value := range others {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

// signer makes tokens with a key.
type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newEC(t testing.TB, kid string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jose.ES256, key}
}

func newRSA(t testing.TB, kid string) signer {
	t.Helper()
	key, err := rsaKey()
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jose.RS256, key}
}

// sign makes a token; headers beside alg and kid may be given.
func (s signer) sign(t testing.TB, c claims, headers map[jose.HeaderKey]any) string {
	t.Helper()
	return compact(t, jose.SigningKey{Algorithm: s.alg, Key: s.key}, s.kid, c, headers)
}

func compact(t testing.TB, key jose.SigningKey, kid string, c claims, headers map[jose.HeaderKey]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("JWT")
	if kid != "" {
		o = o.WithHeader(jose.HeaderKey("kid"), kid)
	}
	for name, value := range headers {
		o = o.WithHeader(name, value)
	}
	signer, err := jose.NewSigner(key, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any(c)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// keysFile is a JWK Set of the public keys.
func keysFile(t testing.TB, of ...signer) string {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, s := range of {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Algorithm: string(s.alg), Use: "sig"})
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sso is a file of principals that takes tokens; keys is its member for the issuer's keys.
func sso(keys string) string {
	return `{"principals":[],"jwt":{"issuer":"https://sso.example","audience":"transcriptd","algorithms":["ES256","RS256"],` + keys + `,
		"principals":[
			{"name":"robots","claim":"sub","value":"robot","grants":[{"roles":["append"],"namespaces":"*"}]},
			{"name":"acme","claim":"groups","value":"acme","name_claim":"sub","grants":[{"roles":["read"],"namespaces":"acme*"}],"rate":{"calls_per_second":5}}]}}`
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func good() claims {
	return claims{
		"iss": "https://sso.example", "aud": "transcriptd", "sub": "ada", "groups": []string{"x", "acme"},
		"exp": noon.Add(time.Hour).Unix(), "nbf": noon.Add(-time.Hour).Unix(), "iat": noon.Add(-time.Hour).Unix(),
	}
}

// trusting is a directory that trusts the keys of a file, at noon.
func trusting(t *testing.T, of ...signer) *Directory {
	t.Helper()
	keys := fileWith(t, keysFile(t, of...), 0o644)
	return open(t, fileWith(t, sso(`"jwks_file":"`+keys+`"`), 0o600), Options{Now: func() time.Time { return noon }})
}

func TestJWTsNameTheirPrincipal(t *testing.T) {
	ec, rs := newEC(t, "k1"), newRSA(t, "k2")
	d := trusting(t, ec, rs)
	for _, s := range []signer{ec, rs} {
		is(t, d, show(s.sign(t, good(), nil)), "acme/ada")
	}
	for name, c := range map[string]struct {
		claims claims
		want   string
	}{
		"a claim that is the value":     {claims{"groups": "acme"}, "acme/ada"},
		"the first rule counts":         {claims{"sub": "robot"}, "robots"},
		"many audiences":                {claims{"aud": []string{"x", "transcriptd"}}, "acme/ada"},
		"expired within the skew":       {claims{"exp": noon.Add(-59 * time.Second).Unix()}, "acme/ada"},
		"no nbf and no iat":             {claims{"nbf": nil, "iat": nil}, "acme/ada"},
		"expired":                       {claims{"exp": noon.Add(-61 * time.Second).Unix()}, ""},
		"no exp":                        {claims{"exp": nil}, ""},
		"an exp that is null":           {claims{"exp": json.RawMessage("null")}, ""},
		"an exp beyond numbers":         {claims{"exp": json.RawMessage("1e300")}, ""},
		"an exp that is text":           {claims{"exp": "4102444800"}, ""},
		"nbf to come":                   {claims{"nbf": noon.Add(61 * time.Second).Unix()}, ""},
		"nbf far away":                  {claims{"nbf": int64(1) << 61}, ""},
		"iat to come":                   {claims{"iat": noon.Add(time.Hour).Unix()}, ""},
		"another audience":              {claims{"aud": "other"}, ""},
		"the audience in other letters": {claims{"aud": "Transcriptd"}, ""},
		"no audience":                   {claims{"aud": nil}, ""},
		"another issuer":                {claims{"iss": "https://sso.example/"}, ""},
		"no issuer":                     {claims{"iss": nil}, ""},
		"no group":                      {claims{"groups": nil}, ""},
		"another group":                 {claims{"groups": []string{"acme2"}}, ""},
		"a group that is a number":      {claims{"groups": []any{1, map[string]any{"acme": "acme"}}}, ""},
		"nobody's name":                 {claims{"sub": nil}, ""},
		"an empty name":                 {claims{"sub": ""}, ""},
		"a name that is a list":         {claims{"sub": []string{"ada"}}, ""},
		"a name of two lines":           {claims{"sub": "ada\nroot"}, ""},
		"a long name":                   {claims{"sub": strings.Repeat("a", 129)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			token := show(ec.sign(t, good().with(c.claims), nil))
			is(t, d, token, c.want)
			is(t, d, token, c.want) // remembered or not
		})
	}
	who, err := d.Authenticate(show(ec.sign(t, good(), nil)))
	if err != nil || who.Party() != "acme" || !who.May(Read, "acme") || who.May(Append, "acme") || who.Rate.PerSecond != 5 {
		t.Errorf("%+v, %v", who, err)
	}
	if who, err = d.Authenticate(show(ec.sign(t, good().with(claims{"sub": "robot"}), nil))); err != nil || who.Party() != "robots" {
		t.Errorf("%+v, %v", who, err)
	}
}

// What was not signed with a key of the issuer, by an algorithm of the file, names nobody.
func TestForgedJWTs(t *testing.T) {
	ec, rs := newEC(t, "k1"), newRSA(t, "k2")
	d := trusting(t, ec, rs, signer{kid: "any", key: rs.key})
	real := ec.sign(t, good(), nil)
	part := strings.Split(real, ".")
	b64 := base64.RawURLEncoding
	header := func(text string) string { return b64.EncodeToString([]byte(text)) }
	public := rs.key.Public().(*rsa.PublicKey)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	hs256 := func(secret []byte) string {
		return compact(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "k2", good(), nil)
	}
	other := newEC(t, "k1")
	evil, err := json.Marshal(good().with(claims{"sub": "robot"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"none":                                header(`{"alg":"none","kid":"k1"}`) + "." + part[1] + ".",
		"None":                                header(`{"alg":"None","kid":"k1"}`) + "." + part[1] + "." + part[2],
		"none, signed":                        header(`{"alg":"none","kid":"k1"}`) + "." + part[1] + "." + part[2],
		"no algorithm":                        header(`{"kid":"k1"}`) + "." + part[1] + "." + part[2],
		"two algorithms":                      header(`{"alg":"none","alg":"ES256","kid":"k1"}`) + "." + part[1] + ".",
		"HS256 with the key's DER":            hs256(der),
		"HS256 with the key's PEM":            hs256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		"HS256 with the modulus":              hs256(public.N.Bytes()),
		"HS256 with nothing":                  header(`{"alg":"HS256","kid":"k1"}`) + "." + part[1] + ".",
		"an algorithm that is not the file's": signer{"any", jose.RS512, rs.key}.sign(t, good(), nil),
		"an algorithm of nobody's":            signer{"k2", jose.RS512, rs.key}.sign(t, good(), nil),
		"another key's algorithm":             signer{"k1", jose.RS256, rs.key}.sign(t, good(), nil),
		"another key":                         other.sign(t, good(), nil),
		"another key, in the header":          other.sign(t, good(), map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: other.key.Public()}}),
		"another key, at a URL":               signer{"k9", jose.ES256, other.key}.sign(t, good(), map[jose.HeaderKey]any{"jku": "https://evil.example/keys"}),
		"no kid":                              signer{"", jose.ES256, ec.key}.sign(t, good(), nil),
		"a kid of nobody's":                   signer{"k3", jose.ES256, ec.key}.sign(t, good(), nil),
		"a header that must be known":         ec.sign(t, good(), map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}),
		"other claims":                        part[0] + "." + b64.EncodeToString(evil) + "." + part[2],
		"no signature":                        part[0] + "." + part[1] + ".",
		"a cut signature":                     real[:len(real)-4],
		"zeros as signature":                  part[0] + "." + part[1] + "." + b64.EncodeToString(make([]byte, 64)),
		"two parts":                           part[0] + "." + part[1],
		"four parts":                          real + ".x",
		"the other form":                      `{"payload":"` + part[1] + `","signatures":[{"protected":"` + part[0] + `","signature":"` + part[2] + `"}]}`,
		"too long":                            ec.sign(t, good().with(claims{"x": strings.Repeat("x", maxJWT)}), nil),
		"nothing":                             "",
		"dots":                                "..",
	} {
		t.Run(name, func(t *testing.T) { is(t, d, show(token), "") })
	}
	is(t, d, show(real), "acme/ada")
	is(t, d, show(signer{"any", jose.RS256, rs.key}.sign(t, good(), nil)), "acme/ada")
}

// A token that was verified is refused once it has expired, its key is gone, or its rule is.
func TestVerifiedJWTsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := noon
		k1, k2 := newEC(t, "k1"), newEC(t, "k2")
		keys := fileWith(t, keysFile(t, k1), 0o644)
		path := fileWith(t, sso(`"jwks_file":"`+keys+`"`), 0o600)
		d := open(t, path, Options{Now: func() time.Time { return now }})
		token := show(k1.sign(t, good(), nil))
		is(t, d, token, "acme/ada")
		now = noon.Add(time.Hour + usualSkew + time.Second)
		is(t, d, token, "")
		now = noon
		is(t, d, token, "acme/ada")
		rewrite(t, keys, keysFile(t, k2), 0o644)
		wait(time.Second)
		is(t, d, token, "")
		fresh := show(k2.sign(t, good(), nil))
		is(t, d, fresh, "acme/ada")
		rewrite(t, path, strings.Replace(sso(`"jwks_file":"`+keys+`"`), `"value":"acme"`, `"value":"others"`, 1), 0o600)
		wait(time.Second)
		is(t, d, fresh, "")
		is(t, d, show(k2.sign(t, good().with(claims{"groups": "others"}), nil)), "acme/ada")
	})
}

// A file of keys is held to the same as the file of principals; a change of one that came with a fault of the other counts once that is mended.
func TestFilesOfKeysFailClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newEC(t, "k1")
		path := fileWith(t, "", 0o600)
		keys := filepath.Join(filepath.Dir(path), "keys.json")
		rewrite(t, keys, keysFile(t, k), 0o644)
		token := NewToken()
		both := func(entries string) string {
			return strings.Replace(sso(`"jwks_file":"keys.json"`), `"principals":[]`, `"principals":[{"name":"agents","tokens":[`+entries+`]}]`, 1)
		}
		rewrite(t, path, both(tokenEntry("a", token, "")), 0o600)
		d := open(t, path, Options{Now: func() time.Time { return noon }})
		is(t, d, show(token), "agents")
		rewrite(t, keys, keysFile(t, k), 0o666)
		rewrite(t, path, both(""), 0o600)
		wait(lookEvery)
		rewrite(t, keys, keysFile(t, k), 0o644)
		wait(lookEvery)
		is(t, d, show(token), "")
		is(t, d, show(k.sign(t, good(), nil)), "acme/ada")
		rewrite(t, keys, `{"keys":[]}`, 0o644)
		wait(2 * time.Second)
		if _, err := d.Authenticate(show(token)); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	})
}

func TestBadJWTSettings(t *testing.T) {
	whole := sso(`"jwks_file":"k"`)
	for change, want := range map[[2]string]string{
		{`"issuer":"https://sso.example",`, ``}:                   "jwt.issuer: must be",
		{`"audience":"transcriptd",`, ``}:                         "jwt.audience: must be",
		{`"algorithms":["ES256","RS256"],`, ``}:                   "jwt.algorithms: must name",
		{`"ES256","RS256"`, `"ES256","none"`}:                     "jwt.algorithms[1]: must be one of",
		{`"ES256","RS256"`, `"HS256"`}:                            "jwt.algorithms[0]: must be one of",
		{`"jwks_file":"k"`, `"clock_skew":"1m"`}:                  "jwt.jwks_file: give this or",
		{`"jwks_file":"k"`, `"jwks_url":"http://sso.example/k"`}:  "jwt.jwks_url: must be https",
		{`"jwks_file":"k"`, `"jwks_url":"https://a:b@sso/k"`}:     "jwt.jwks_url: must be a URL",
		{`"jwks_file":"k"`, `"jwks_url":"file:///k"`}:             "jwt.jwks_url: must be a URL",
		{`"jwks_file":"k"`, `"jwks_file":"k","clock_skew":"11m"`}: "jwt.clock_skew: must be",
		{`"jwks_file":"k"`, `"jwks_file":"k","clock_skew":"-1s"`}: "jwt.clock_skew: must be",
		{`"name":"robots"`, `"name":"acme"`}:                      "jwt.principals[1].name: acme is there twice",
		{`"claim":"sub",`, ``}:                                    "jwt.principals[0].claim: must name",
		{`"value":"robot",`, ``}:                                  "jwt.principals[0].value: must be",
		{`["append"]`, `["write"]`}:                               "jwt.principals[0].grants[0].roles[0]: \"write\" is no role",
	} {
		_, _, err := parse([]byte(strings.Replace(whole, change[0], change[1], 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change[1], err, want)
		}
	}
}

func TestBadSetsOfKeys(t *testing.T) {
	ec := newEC(t, "k1")
	secret, err := json.Marshal(jose.JSONWebKey{Key: ec.key, KeyID: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	public := strings.TrimSuffix(strings.TrimPrefix(keysFile(t, ec), `{"keys":[`), `]}`)
	for text, want := range map[string]string{
		`{"keys":[` + string(secret) + `]}`:                                "keys[0]: has a private or symmetric key",
		`{"keys":[` + public + `,{"kty":"oct","kid":"k","k":"c2VjcmV0"}]}`: "keys[1]: has a private or symmetric key",
		`{"keys":[]}`: "none can be used",
		keysFile(t, signer{"k1", jose.RS256, weak}): "none can be used",
		`{}`: "none can be used",
		`{"keys":[{"kty":"XYZ","kid":"a"},1,null]}`:                                         "none can be used",
		`{"keys":[` + strings.Replace(public, `"sig"`, `"enc"`, 1) + `]}`:                   "none can be used",
		`{"keys":[` + strings.Replace(public, `"k1"`, `""`, 1) + `]}`:                       "none can be used",
		`{"keys":[` + strings.TrimSuffix(strings.Repeat(public+",", maxKeys+1), ",") + `]}`: "more than 100",
		`{"keys"`: "no JSON",
	} {
		if set, err := parseKeys([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, %v; want %s", text, set, err, want)
		}
	}
	if set, err := parseKeys([]byte(`{"more":1,"keys":[{"kty":"XYZ","kid":"a"},` + public + `]}`)); err != nil || len(set.keys) != 1 {
		t.Errorf("%v, %v", set, err)
	}
}

// What is remembered is bounded, and what is forgotten is verified again.
func TestRememberedTokensAreBounded(t *testing.T) {
	var r remembered
	set, who := &keySet{}, &Principal{}
	for i := range maxRemembered + 100 {
		r.put(HashToken(string(rune(i))), memory{who: who, set: set, until: noon})
	}
	if len(r.by) > maxRemembered {
		t.Errorf("%d tokens are remembered", len(r.by))
	}
	last := HashToken("last")
	r.put(last, memory{who: who, set: set, until: noon})
	if r.get(last, set, noon.Add(-1)) != who || r.get(last, set, noon) != nil || r.get(last, set, noon.Add(-1)) != nil {
		t.Error("a token is remembered until it expires, and no longer")
	}
	r.put(last, memory{who: who, set: set, until: noon})
	if r.get(last, &keySet{}, noon.Add(-1)) != nil {
		t.Error("a token is remembered though the keys are others")
	}
}

// A flood of forged tokens costs a bounded time, and those who are known go on; a second later others are known again.
func TestFloodsOfForgedJWTs(t *testing.T) {
	k := newEC(t, "k1")
	now := noon
	keys := fileWith(t, keysFile(t, k), 0o644)
	d := open(t, fileWith(t, sso(`"jwks_file":"`+keys+`"`), 0o600), Options{Now: func() time.Time { return now }})
	known, fresh := show(k.sign(t, good(), nil)), show(k.sign(t, good().with(claims{"sub": "grace"}), nil))
	is(t, d, known, "acme/ada")
	bad := show(newEC(t, "k1").sign(t, good(), nil))
	for range maxForged {
		is(t, d, bad, "")
	}
	if !unavailable(d, bad) || !unavailable(d, fresh) {
		t.Error("signatures are looked at without end")
	}
	is(t, d, known, "acme/ada")
	now = now.Add(time.Second)
	is(t, d, fresh, "acme/grace")
	is(t, d, bad, "")
}
