package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// edit changes a file that must take it.
func edit(t *testing.T, path string, change func(*File) error) {
	t.Helper()
	if err := Edit(path, change); err != nil {
		t.Fatal(err)
	}
}

func reader(name string) FilePrincipal {
	return FilePrincipal{Name: name, Grants: []FileGrant{{Roles: []string{"read"}, Namespaces: "*"}}}
}

func admin(name string) FilePrincipal {
	return FilePrincipal{Name: name, Grants: []FileGrant{{Roles: []string{"read", "admin"}, Namespaces: "*"}}}
}

// What is edited is what a directory reads: a token that was made names its principal until it is revoked.
func TestEditedFilesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "principals.json")
	var token, id string
	edit(t, path, func(f *File) error {
		f.Principals = append(f.Principals, reader("ada"))
		made, kept, err := f.AddToken("ada", noon, noon.Add(time.Hour))
		token, id = made, kept.ID
		return err
	})
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), token) || !strings.Contains(string(text), `"2026-12-01T13:00:00Z"`) {
		t.Errorf("%s, %v", text, err)
	}
	now := noon
	d := open(t, path, Options{Now: func() time.Time { return now }})
	is(t, d, show(token), "ada")
	now = noon.Add(time.Hour)
	is(t, d, show(token), "")
	now = noon
	edit(t, path, func(f *File) error { _, err := f.Revoke(id, noon, false); return err })
	eventually(t, "the revocation", func() bool { _, err := d.Authenticate(show(token)); return errors.Is(err, ErrUnauthenticated) })
}

// What fails leaves the file as it was, and nothing beside it but the lock.
func TestEditsThatFail(t *testing.T) {
	path := fileWith(t, `{"principals":[{"name":"ada"}]}`, 0o600)
	stop := errors.New("stop")
	for want, change := range map[error]func(f *File) error{
		stop:           func(f *File) error { f.Principals = nil; return stop },
		ErrNoPrincipal: func(f *File) error { _, _, err := f.AddToken("eve", noon, time.Time{}); return err },
		ErrNoToken:     func(f *File) error { _, err := f.Revoke("k", noon, true); return err },
	} {
		if err := Edit(path, change); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if err := Edit(path, func(f *File) error { f.Principals[0].Name = ""; return nil }); err == nil || !strings.Contains(err.Error(), "principals[0].name") {
		t.Errorf("a principal without a name: %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != `{"principals":[{"name":"ada"}]}` {
		t.Errorf("%s, %v", text, err)
	}
	files, err := filepath.Glob(filepath.Dir(path) + "/*")
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	for _, other := range []string{fileWith(t, `{}`, 0o644), fileWith(t, `{`, 0o600)} {
		if err := Edit(other, func(*File) error { return nil }); !errors.Is(err, ErrFile) {
			t.Errorf("%v", err)
		}
	}
}

// Of many who edit at once, none takes back what another did.
func TestEditorsTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "principals.json")
	link := filepath.Join(t.TempDir(), "link")
	edit(t, path, func(*File) error { return nil })
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			by := []string{path, link}[i%2]
			if err := Edit(by, func(f *File) error { f.Principals = append(f.Principals, reader(fmt.Sprint(i))); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f, err := ReadFile(link)
	if err != nil || len(f.Principals) != 16 {
		t.Errorf("%d principals, %v", len(f.Principals), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link is a file: %v", err)
	}
}

// The last admin of everything stays unless that is forced; one who can come by a certificate or a JWT is another.
func TestLastAdminStays(t *testing.T) {
	of := func(more ...FilePrincipal) *File {
		f := &File{Principals: append([]FilePrincipal{admin("root"), reader("ada")}, more...)}
		for _, name := range []string{"root", "ada"} {
			if _, _, err := f.AddToken(name, noon, noon.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	withToken := func(p FilePrincipal, expires time.Time) FilePrincipal {
		p.Tokens = []FileToken{{ID: "other", SHA256: hashOf(NewToken()), Expires: expires}}
		return p
	}
	certified := admin("by-certificate")
	certified.Certificates = []string{"dns:admin"}
	partly := withToken(FilePrincipal{Name: "partly", Grants: []FileGrant{{Roles: []string{"admin"}, Namespaces: "a*"}}}, time.Time{})
	byJWT := of()
	byJWT.JWT = &FileJWT{Principals: []FileRule{{Grants: admin("").Grants}}}
	for name, c := range map[string]struct {
		file *File
		last bool
	}{
		"alone":                       {of(), true},
		"another whose token expired": {of(withToken(admin("other"), noon)), true},
		"another without a token":     {of(admin("other")), true},
		"another of some namespaces":  {of(partly), true},
		"another with a token":        {of(withToken(admin("other"), noon.Add(1))), false},
		"another with one for good":   {of(withToken(admin("other"), time.Time{})), false},
		"another with a certificate":  {of(certified), false},
		"others by their JWTs":        {byJWT, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.file
			root, ada := f.Principal("root"), f.Principal("ada")
			had, id := slices.Clone(root.Tokens), root.Tokens[0].ID
			if _, err := f.Revoke(ada.Tokens[0].ID, noon, false); err != nil || len(ada.Tokens) != 0 {
				t.Errorf("a reader's token: %v", err)
			}
			for _, revoke := range []func() error{
				func() error { _, err := f.Revoke(id, noon, false); return err },
				func() error { _, err := f.RevokeAll("root", noon, false); return err },
			} {
				if err := revoke(); errors.Is(err, ErrLastAdmin) != c.last || c.last != (len(root.Tokens) == 1) {
					t.Errorf("%v, and %d tokens are left", err, len(root.Tokens))
				}
				root.Tokens = slices.Clone(had)
			}
			if name, err := f.Revoke(id, noon, true); err != nil || name != "root" || len(root.Tokens) != 0 {
				t.Errorf("forced: %s, %v", name, err)
			}
		})
	}
}
