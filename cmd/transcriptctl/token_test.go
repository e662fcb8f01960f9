package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/internal/identity"
)

// keys is a file of principals, and the tool that works on it without a server: none is where it is told to look.
type keys struct {
	t    *testing.T
	path string
}

func newKeys(t *testing.T) keys {
	t.Helper()
	t.Setenv("TRANSCRIPTCTL_ADDR", "transcripts.example:7420") // would need --insecure
	return keys{t, filepath.Join(t.TempDir(), "principals.json")}
}

func (k keys) run(args ...string) result {
	k.t.Helper()
	return k.tool(append([]string{"token"}, append(args, "--principals", k.path)...)...)
}

func (k keys) tool(args ...string) result {
	k.t.Helper()
	var out, notes bytes.Buffer
	err := run(k.t.Context(), args, strings.NewReader(""), &out, &notes)
	return result{code: report(&notes, err), out: out.String(), notes: notes.String()}
}

func (k keys) must(args ...string) string {
	k.t.Helper()
	r := k.run(args...)
	if r.code != exitOK {
		k.t.Fatalf("%v: exit code %d\n%s", args, r.code, r.notes)
	}
	return r.out
}

// whose is who a directory that reads the file now says has the token.
func (k keys) whose(token string) string {
	k.t.Helper()
	d, err := identity.Open(k.path, identity.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	who, err := d.Authenticate(identity.Credentials{Authorization: []string{"Bearer " + token}})
	if err != nil {
		return ""
	}
	return who.Name
}

// A token is printed alone and once, is good at once, and is told nowhere again.
func TestTokens(t *testing.T) {
	k := newKeys(t)
	made := k.run("create", "agents", "--role", "read,append", "--namespaces", "acme*", "--namespaces", "shared")
	token := strings.TrimSuffix(made.out, "\n")
	if made.code != exitOK || !identity.IsToken(token) || strings.Contains(made.notes, token) || !strings.Contains(made.notes, "read,append on acme*; read,append on shared") {
		t.Fatalf("%+v", made)
	}
	if who := k.whose(token); who != "agents" {
		t.Errorf("the token is %q's", who)
	}
	second := strings.TrimSpace(k.must("create", "agents", "--expires", "never"))
	var third struct{ ID, Token, Principal, Expires string }
	if err := json.Unmarshal([]byte(k.must("create", "agents", "--expires", "12h", "--output", "json")), &third); err != nil || third.Principal != "agents" {
		t.Fatalf("%+v, %v", third, err)
	}
	list := k.must("list") + k.must("list", "--output", "json")
	if strings.Count(list, "good") != 6 || strings.Count(list, "  never  ") != 1 {
		t.Errorf("the list is\n%s", list)
	}
	for _, token := range []string{token, second, third.Token} {
		hash := identity.HashToken(token)
		if strings.Contains(list, token) || strings.Contains(list, hex.EncodeToString(hash[:4])) {
			t.Errorf("the list has a secret:\n%s", list)
		}
	}
	k.must("revoke", third.ID)
	if k.whose(third.Token) != "" || k.whose(second) != "agents" {
		t.Error("not the token that was named is revoked")
	}
	k.must("revoke", "--principal", "agents")
	if k.whose(token) != "" || k.whose(second) != "" || !strings.Contains(k.must("list"), "-      agents  ") {
		t.Error("the tokens of a principal are not all revoked, or it is gone")
	}
}

// Refusals say what to do, and change nothing.
func TestTokensRefused(t *testing.T) {
	k := newKeys(t)
	k.must("create", "root", "--role", "admin", "--namespaces", "*")
	before, err := os.ReadFile(k.path)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code  int
		notes string
	}{
		"create ada":                                 {exitUsage, "say with --role and --namespaces"},
		"create ada --role read":                     {exitUsage, "say with --role and --namespaces"},
		"create root --role read --namespaces a":     {exitUsage, "root is there, and has admin on *"},
		"create ada --role write --namespaces a":     {exitUsage, "they are read, append"},
		"create ada --role read --namespaces a*b":    {exitUsage, "is no pattern"},
		"create a/b --role read --namespaces a":      {exitUsage, "NAME must be"},
		"create root --expires soon":                 {exitUsage, "--expires must be a duration"},
		"create root --expires 1d1h":                 {exitUsage, "--expires must be a duration"},
		"create root --expires=-1d":                  {exitUsage, "in the future"},
		"create root --expires 99999999d":            {exitUsage, "--expires must be a duration"},
		"create root --expires 2020-01-01T00:00:00Z": {exitUsage, "in the future"},
		"revoke":                    {exitUsage, "either ID or --principal"},
		"revoke a --principal root": {exitUsage, "either ID or --principal"},
		"revoke none":               {exitNotFound, "token list"},
		"revoke --principal none":   {exitNotFound, "token list"},
		"revoke --principal root":   {exitConflict, "give --force"},
	} {
		if r := k.run(strings.Fields(args)...); r.code != want.code || !strings.Contains(r.notes, want.notes) || r.out != "" {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if after, err := os.ReadFile(k.path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file is another: %s, %v", after, err)
	}
	k.must("revoke", "--principal", "root", "--force")
	if err := os.Chmod(k.path, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list"}, {"create", "root"}, {"revoke", "x"}} {
		if r := k.run(args...); r.code != exitUsage || !strings.Contains(r.notes, "chmod 0600") {
			t.Errorf("%v of a file that others read: %+v", args, r)
		}
	}
	none := keys{t, filepath.Join(t.TempDir(), "none")}
	for _, args := range [][]string{{"list"}, {"revoke", "x"}} {
		if r := none.run(args...); r.code != exitUsage || !strings.Contains(r.notes, "there is no file") {
			t.Errorf("%v of no file: %+v", args, r)
		}
	}
}

// The list has everybody who may show something: a token, a certificate, or a JWT that a rule fits.
func TestListTellsOfEverybody(t *testing.T) {
	k := newKeys(t)
	text := `{"principals": [{"name": "host", "grants": [{"roles": ["read"], "namespaces": "a"}], "certificates": ["dns:host"]}],
		"jwt": {"issuer": "https://issuer", "audience": "a", "algorithms": ["ES256"], "jwks_url": "https://issuer/keys",
			"principals": [{"name": "robots", "claim": "sub", "value": "r", "grants": [{"roles": ["append"], "namespaces": "b"}]}]}}`
	if err := os.WriteFile(k.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := k.must("list"), "TOKEN  PRINCIPAL  GRANTS       CREATED  EXPIRES  STATE\n-      host       read on a    -        -        no token, 1 certificate\n-      robots     append on b  -        -        by JWT\n"; got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}
