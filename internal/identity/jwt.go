package identity

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// signatures are the algorithms that a file may name: with each, who can check a token cannot make one.
var signatures = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const (
	// maxJWT bounds a token: it is read before anything is known of who shows it.
	maxJWT = 8 << 10
	// maxForged bounds the signatures a second that are looked at in vain, of which each takes up to a tenth of a millisecond.
	maxForged = 1000
	// usualSkew and maxSkew are by how much an issuer's clock may differ.
	usualSkew = time.Minute
	maxSkew   = 10 * time.Minute
)

// issuer is whose tokens are taken, and who they are who show them.
type issuer struct {
	expected   jwt.Expected
	algorithms []jose.SignatureAlgorithm
	skew       time.Duration
	rules      []rule
	keys       keySource
	remembered remembered
	forged     forged
}

// rule says who they are whose claim is, or has, a value.
type rule struct {
	claim, value, nameClaim string
	who                     *Principal
}

// issuer checks what a file says of tokens. The issuer has no keys yet.
func (t *table) issuer(f *FileJWT) (*issuer, error) {
	is := &issuer{expected: jwt.Expected{Issuer: f.Issuer, AnyAudience: jwt.Audience{f.Audience}}, skew: usualSkew}
	switch {
	case f.Issuer == "":
		return nil, fmt.Errorf("issuer: must be what the tokens have as iss")
	case f.Audience == "":
		return nil, fmt.Errorf("audience: must be what the tokens have as aud")
	case (f.JWKSFile == "") == (f.JWKSURL == ""):
		return nil, fmt.Errorf("jwks_file: give this or jwks_url, and not both")
	case len(f.Algorithms) == 0:
		return nil, fmt.Errorf("algorithms: must name those that the issuer signs with, of %v", signatures)
	}
	for i, name := range f.Algorithms {
		if !slices.Contains(signatures, jose.SignatureAlgorithm(name)) {
			return nil, fmt.Errorf("algorithms[%d]: must be one of %v", i, signatures)
		}
		is.algorithms = append(is.algorithms, jose.SignatureAlgorithm(name))
	}
	if f.JWKSURL != "" {
		if err := checkURL(f.JWKSURL); err != nil {
			return nil, fmt.Errorf("jwks_url: %w", err)
		}
	}
	if f.ClockSkew != "" {
		var err error
		if is.skew, err = time.ParseDuration(f.ClockSkew); err != nil || is.skew < 0 || is.skew > maxSkew {
			return nil, fmt.Errorf("clock_skew: must be 0s to %s", maxSkew)
		}
	}
	for i := range f.Principals {
		if err := is.add(&f.Principals[i], t); err != nil {
			return nil, fmt.Errorf("principals[%d].%w", i, err)
		}
	}
	return is, nil
}

func (is *issuer) add(r *FileRule, t *table) error {
	who, err := t.principal(r.Name, r.Grants, r.Rate)
	switch {
	case err != nil:
		return err
	case r.Claim == "":
		return fmt.Errorf("claim: must name the claim of which the value is one")
	case r.Value == "":
		return fmt.Errorf("value: must be what the claim is or has")
	}
	is.rules = append(is.rules, rule{claim: r.Claim, value: r.Value, nameClaim: r.NameClaim, who: who})
	return nil
}

// authenticate names who shows a token at a time. A token that was good is remembered for as long as its keys and its time are the same.
func (is *issuer) authenticate(text string, now time.Time) (*Principal, error) {
	if len(text) > maxJWT {
		return nil, errJWTTooLong
	}
	set, err := is.keys.current()
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(text))
	if who := is.remembered.get(hash, set, now); who != nil {
		return who, nil
	}
	claims, until, err := is.verify(text, set, now)
	if err != nil {
		return nil, err
	}
	who := is.name(claims)
	if who == nil {
		return nil, errNoRule
	}
	is.remembered.put(hash, memory{who: who, set: set, until: until})
	return who, nil
}

// verify gives the claims of a token that is good at a time, and until when it is. What costs little is looked at first. Under a flood of forged
// tokens those that are not remembered are ErrUnavailable: whoever has a good one comes again, and others go on.
func (is *issuer) verify(text string, set *keySet, now time.Time) (claims map[string]any, until time.Time, err error) {
	token, err := jwt.ParseSigned(text, is.algorithms)
	if err != nil || len(token.Headers) != 1 {
		return nil, until, errNoJWT
	}
	var said jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&said); err != nil {
		return nil, until, errNoJWT
	}
	if err := is.misfit(&said, now); err != nil {
		return nil, until, err
	}
	header := token.Headers[0]
	keys := set.keys[header.KeyID]
	if len(keys) == 0 {
		if is.keys.lookFor(header.KeyID) {
			return nil, until, ErrUnavailable
		}
		return nil, until, errNoKey
	}
	if !is.forged.room(now) {
		return nil, until, ErrUnavailable
	}
	for _, key := range keys {
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		var signed jwt.Claims
		claims = nil
		if token.Claims(key.Key, &signed, &claims) == nil && is.misfit(&signed, now) == nil {
			return claims, signed.Expiry.Time().Add(is.skew), nil
		}
	}
	is.forged.add()
	return nil, until, errSignature
}

// misfit is how claims are not of the issuer, for the audience, or of a time; nil: they are.
func (is *issuer) misfit(c *jwt.Claims, now time.Time) error {
	if c.Expiry == nil {
		return errNoExpiry
	}
	if err := c.ValidateWithLeeway(is.expected.WithTime(now), is.skew); err != nil {
		return fmt.Errorf("%w: %w", ErrUnauthenticated, err)
	}
	return nil
}

// name is who has the claims; nil: nobody.
func (is *issuer) name(claims map[string]any) *Principal {
	for _, r := range is.rules {
		if !has(claims[r.claim], r.value) {
			continue
		}
		if r.nameClaim == "" {
			return r.who
		}
		name, ok := claims[r.nameClaim].(string)
		if !ok || !isTellable(name) {
			return nil
		}
		return &Principal{Name: r.who.Name + "/" + name, Entry: r.who.Name, Grants: r.who.Grants, Rate: r.who.Rate}
	}
	return nil
}

func has(claim any, value string) bool {
	switch claim := claim.(type) {
	case string:
		return claim == value
	case []any:
		return slices.Contains(claim, any(value))
	default:
		return false
	}
}

// isTellable tells whether a name can stand in a line of a log.
func isTellable(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
