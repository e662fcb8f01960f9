package identity

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrFile is in errors of a file of principals, or of one that it names, that cannot be used. They say where, and what to do.
var ErrFile = errors.New("the file of principals cannot be used")

// File is a file of principals, as it is written. A member that is not one of these is refused.
type File struct {
	Principals []FilePrincipal `json:"principals"`
	// JWT says whose signed tokens are taken; nil: nobody's.
	JWT *FileJWT `json:"jwt,omitempty"`
}

// FilePrincipal is one who calls, and how they are known.
type FilePrincipal struct {
	// Name is unique: 1 to 128 of a-z, A-Z, 0-9, '.', '_', '-' and '@'.
	Name   string      `json:"name"`
	Grants []FileGrant `json:"grants,omitempty"`
	Rate   *FileRate   `json:"rate,omitempty"`
	// Certificates are names that a client's certificate has: "dns:NAME", "uri:URI", or its whole subject, as RFC 2253 writes it: "CN=agent,O=Acme".
	Certificates []string    `json:"certificates,omitempty"`
	Tokens       []FileToken `json:"tokens,omitempty"`
}

// FileGrant is a Grant by names.
type FileGrant struct {
	Roles      []string `json:"roles"`
	Namespaces string   `json:"namespaces"`
}

// FileRate is a Rate. Burst, where it is 0, is what comes in a second.
type FileRate struct {
	CallsPerSecond float64 `json:"calls_per_second"`
	Burst          int     `json:"burst,omitzero"`
}

// FileToken is what is kept of a token.
type FileToken struct {
	// ID names the token to people. It tells nothing of it.
	ID string `json:"id"`
	// SHA256 is the hash of the whole token, in hexadecimal.
	SHA256  string    `json:"sha256"`
	Created time.Time `json:"created,omitzero"`
	// Expires is when the token is refused from; zero: never.
	Expires time.Time `json:"expires,omitzero"`
}

// FileJWT says which JSON Web Tokens are taken (RFC 7519): those that name the issuer and the audience, expire, and are signed with one of the
// algorithms, by a key of the issuer's that the token names.
type FileJWT struct {
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
	// Algorithms are some of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA.
	Algorithms []string `json:"algorithms"`
	// The issuer's public keys (a JWK Set, RFC 7517) lie in one of these: a file, of which a relative path begins at the folder of the file of
	// principals, or at a URL of https (of http at a loopback address), which is asked every five minutes.
	JWKSFile string `json:"jwks_file,omitzero"`
	JWKSURL  string `json:"jwks_url,omitzero"`
	// ClockSkew is by how much the issuer's clock may differ: "90s", at most "10m". Empty: a minute.
	ClockSkew string `json:"clock_skew,omitzero"`
	// Principals say who they are who show such a token. The first that fits counts; a token that fits none names nobody.
	Principals []FileRule `json:"principals"`
}

// FileRule makes those a principal whose token has a value in a claim: the claim is the value, or a list that has it.
type FileRule struct {
	// Name is unique among all principals of the file.
	Name  string `json:"name"`
	Claim string `json:"claim"`
	Value string `json:"value"`
	// NameClaim tells those apart whom the rule fits: each is a principal NAME/VALUE, by the value of this claim. Empty: they are one.
	NameClaim string      `json:"name_claim,omitzero"`
	Grants    []FileGrant `json:"grants,omitempty"`
	Rate      *FileRate   `json:"rate,omitempty"`
}

// parse reads the text of a file of principals. An error names the member that is wrong.
func parse(text []byte) (*File, *table, error) {
	f := new(File)
	if err := json.Unmarshal(text, f, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.UnmarshalFunc(readTime))); err != nil {
		return nil, nil, errors.New(tellJSON(text, err))
	}
	t, err := f.table()
	return f, t, err
}

// readTime reads a time that is there. What would be read as if it were not, such as null, is refused: a token would be good for ever.
func readTime(text []byte, t *time.Time) error {
	if err := t.UnmarshalJSON(text); err != nil {
		return err
	}
	if t.IsZero() {
		return errors.New("no time")
	}
	return nil
}

// text is the file as it is written.
func (f *File) text() ([]byte, error) {
	text, err := json.Marshal(f, jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// tellJSON says where in a text what is wrong, and nothing of the values there.
func tellJSON(text []byte, err error) string {
	var wrong *json.SemanticError
	var malformed *jsontext.SyntacticError
	switch {
	case errors.As(err, &wrong) && errors.Is(err, json.ErrUnknownName):
		return memberPath(wrong.JSONPointer) + ": there is no such member"
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s: a %s is out of place, or cannot be read", memberPath(wrong.JSONPointer), wrong.JSONKind)
	case errors.As(err, &malformed) && errors.Is(err, jsontext.ErrDuplicateName):
		return memberPath(malformed.JSONPointer) + ": the member stands there twice"
	case errors.As(err, &malformed):
		before := string(text[:min(int(malformed.ByteOffset), len(text))])
		return fmt.Sprintf("it is no JSON: see line %d, byte %d", strings.Count(before, "\n")+1, len(before)-strings.LastIndexByte(before, '\n'))
	default:
		return "it is no JSON"
	}
}

// memberPath writes a JSON pointer as people write members: principals[0].name.
func memberPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return "the file"
	}
	return b.String()
}

// maxFile bounds what is read of a file.
const maxFile = 32 << 20

// readFile reads a file that others must not be able to use: mode has the bits that its mode must not have. It does not wait for what is no
// regular file, such as a named pipe.
func readFile(path string, mode os.FileMode) (text []byte, info os.FileInfo, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	switch is := info.Mode(); {
	case !is.IsRegular():
		return nil, nil, fmt.Errorf("%s is no regular file", path)
	case is.Perm()&mode != 0:
		return nil, nil, fmt.Errorf("%s has mode %#o, which lets others than its owner use it: run chmod %#o %s", path, is.Perm(), is.Perm()&^mode, path)
	case info.Size() > maxFile:
		return nil, nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	text, err = io.ReadAll(io.LimitReader(f, maxFile))
	return text, info, err
}

// Bits of mode that a file of principals must not have, and a file of public keys.
const (
	private  os.FileMode = 0o077
	writable os.FileMode = 0o022
)

// parseHash reads a SHA-256 in hexadecimal.
func parseHash(text string) (hash [32]byte, ok bool) {
	n, err := hex.Decode(hash[:], []byte(text[:min(len(text), 64)]))
	return hash, err == nil && n == len(hash) && len(text) == 64
}
