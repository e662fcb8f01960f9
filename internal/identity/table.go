package identity

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// table is what a file of principals says, to look callers up in. It does not change.
type table struct {
	principals   map[string]*Principal
	tokens       map[[32]byte]heldToken
	certificates map[string]*Principal
	jwt          *issuer // nil: no JWT is taken
}

// heldToken is who has a token, and until when; zero: for good.
type heldToken struct {
	who     *Principal
	expires time.Time
}

// table checks a file, and makes of it what callers are looked up in. An error names the member that is wrong.
func (f *File) table() (*table, error) {
	t := &table{principals: map[string]*Principal{}, tokens: map[[32]byte]heldToken{}, certificates: map[string]*Principal{}}
	for i := range f.Principals {
		if err := t.add(&f.Principals[i]); err != nil {
			return nil, fmt.Errorf("principals[%d].%w", i, err)
		}
	}
	if err := t.checkIDs(f); err != nil {
		return nil, err
	}
	if f.JWT == nil {
		return t, nil
	}
	var err error
	if t.jwt, err = t.issuer(f.JWT); err != nil {
		return nil, fmt.Errorf("jwt.%w", err)
	}
	return t, nil
}

func (t *table) add(p *FilePrincipal) error {
	who, err := t.principal(p.Name, p.Grants, p.Rate)
	if err != nil {
		return err
	}
	for i, name := range p.Certificates {
		if name, err = certificateName(name); err != nil {
			return fmt.Errorf("certificates[%d]: %w", i, err)
		}
		if t.certificates[name] != nil {
			return fmt.Errorf("certificates[%d]: is there twice", i)
		}
		t.certificates[name] = who
	}
	for i := range p.Tokens {
		if err := t.addToken(&p.Tokens[i], who); err != nil {
			return fmt.Errorf("tokens[%d].%w", i, err)
		}
	}
	return nil
}

// principal makes one of a name that nobody has yet.
func (t *table) principal(name string, granted []FileGrant, rate *FileRate) (*Principal, error) {
	if err := CheckName(name); err != nil {
		return nil, fmt.Errorf("name: %w", err)
	}
	if t.principals[name] != nil {
		return nil, fmt.Errorf("name: %s is there twice", name)
	}
	who := &Principal{Name: name}
	var err error
	if who.Grants, err = grants(granted); err != nil {
		return nil, err
	}
	if who.Rate, err = rate.rate(); err != nil {
		return nil, err
	}
	t.principals[name] = who
	return who, nil
}

func (t *table) addToken(k *FileToken, who *Principal) error {
	hash, ok := parseHash(k.SHA256)
	if !ok {
		return fmt.Errorf("sha256: must be 64 hexadecimal digits")
	}
	if _, ok := t.tokens[hash]; ok {
		return fmt.Errorf("sha256: is there twice")
	}
	t.tokens[hash] = heldToken{who: who, expires: k.Expires}
	return nil
}

// checkIDs refuses an id that names two tokens: revoking one would be a guess.
func (t *table) checkIDs(f *File) error {
	seen := map[string]bool{}
	for i, p := range f.Principals {
		for j, k := range p.Tokens {
			err := CheckName(k.ID)
			if err == nil && seen[k.ID] {
				err = errors.New("is there twice")
			}
			if err != nil {
				return fmt.Errorf("principals[%d].tokens[%d].id: %w", i, j, err)
			}
			seen[k.ID] = true
		}
	}
	return nil
}

const maxName = 128

// CheckName refuses what is no name of a principal or id of a token.
func CheckName(text string) error {
	odd := func(c rune) bool { return c > 0x7f || !isAlnum(byte(c)) && !strings.ContainsRune("._-@", c) }
	if text == "" || len(text) > maxName || strings.ContainsFunc(text, odd) {
		return fmt.Errorf("must be 1 to %d of a-z, A-Z, 0-9, '.', '_', '-' and '@'", maxName)
	}
	return nil
}

func grants(of []FileGrant) (out []Grant, err error) {
	for i, g := range of {
		to := Grant{}
		if len(g.Roles) == 0 {
			return nil, fmt.Errorf("grants[%d].roles: must name a role", i)
		}
		for j, name := range g.Roles {
			role, err := ParseRole(name)
			if err != nil {
				return nil, fmt.Errorf("grants[%d].roles[%d]: %w", i, j, err)
			}
			to.Roles |= role
		}
		if to.Namespaces, err = ParsePattern(g.Namespaces); err != nil {
			return nil, fmt.Errorf("grants[%d].namespaces: %w", i, err)
		}
		out = append(out, to)
	}
	return out, nil
}

func (r *FileRate) rate() (Rate, error) {
	const most = 1e9
	switch {
	case r == nil:
		return Rate{}, nil
	case !(r.CallsPerSecond > 0 && r.CallsPerSecond <= most):
		return Rate{}, fmt.Errorf("rate.calls_per_second: must be more than 0, and at most %d", int(most))
	case r.Burst < 0 || r.Burst > most:
		return Rate{}, fmt.Errorf("rate.burst: must be 0 to %d", int(most))
	case r.Burst == 0:
		return Rate{PerSecond: r.CallsPerSecond, Burst: int(math.Ceil(r.CallsPerSecond))}, nil
	default:
		return Rate{PerSecond: r.CallsPerSecond, Burst: r.Burst}, nil
	}
}

// certificateName is a name of a file's in the form of namesOf.
func certificateName(text string) (string, error) {
	switch kind, rest, ok := strings.Cut(text, ":"); {
	case ok && kind == "dns" && rest != "":
		return "dns:" + strings.ToLower(rest), nil
	case ok && kind == "uri" && rest != "":
		return text, nil
	case strings.Contains(text, "=") && kind != "dns" && kind != "uri":
		return "subject:" + text, nil
	default:
		return "", fmt.Errorf("must be dns:NAME, uri:URI, or a subject such as CN=agent,O=Acme")
	}
}

// namesOf are the names of a certificate: each of its host names and URIs, and its subject.
func namesOf(c *x509.Certificate) (names []string) {
	for _, name := range c.DNSNames {
		names = append(names, "dns:"+strings.ToLower(name))
	}
	for _, uri := range c.URIs {
		names = append(names, "uri:"+uri.String())
	}
	var subject pkix.RDNSequence
	if rest, err := asn1.Unmarshal(c.RawSubject, &subject); err == nil && len(rest) == 0 && len(subject) > 0 {
		names = append(names, "subject:"+subject.String())
	}
	return names
}

// whose is who shows credentials at a time.
func (t *table) whose(c Credentials, now time.Time) (*Principal, error) {
	switch {
	case len(c.Authorization) == 1:
		return t.byHeader(c.Authorization[0], now)
	case len(c.Authorization) == 0 && c.Certificate != nil:
		return t.byCertificate(c.Certificate, now)
	default:
		return nil, errNoCredentials
	}
}

// byHeader is who shows a header of authorization at a time: "Bearer TOKEN".
func (t *table) byHeader(header string, now time.Time) (*Principal, error) {
	scheme, token, _ := strings.Cut(header, " ")
	switch {
	case !strings.EqualFold(scheme, "bearer"):
		return nil, errScheme
	case strings.HasPrefix(token, tokenPrefix):
		return t.byToken(token, now)
	case t.jwt != nil:
		return t.jwt.authenticate(token, now)
	default:
		return nil, errScheme
	}
}

// byToken is who has a token at a time.
func (t *table) byToken(text string, now time.Time) (*Principal, error) {
	if !IsToken(text) {
		return nil, errMistyped
	}
	k, ok := t.tokens[HashToken(text)]
	switch {
	case !ok:
		return nil, errNoSuchToken
	case !k.expires.IsZero() && !now.Before(k.expires):
		return nil, errTokenExpired
	default:
		return k.who, nil
	}
}

// byCertificate is who has a certificate at a time. Where it has names of more than one, none of them can be meant.
func (t *table) byCertificate(c *x509.Certificate, now time.Time) (who *Principal, err error) {
	if now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return nil, errCertTime
	}
	for _, name := range namesOf(c) {
		switch p := t.certificates[name]; {
		case p == nil || p == who:
		case who != nil:
			return nil, errCertOfTwo
		default:
			who = p
		}
	}
	if who == nil {
		return nil, errCertOfNobody
	}
	return who, nil
}
