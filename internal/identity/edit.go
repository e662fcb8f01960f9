package identity

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"
)

var (
	// ErrNoToken: no token has the id.
	ErrNoToken = errors.New("no token has that id")
	// ErrNoPrincipal: no principal has the name.
	ErrNoPrincipal = errors.New("no principal has that name")
	// ErrLastAdmin: without what is to be revoked nobody could say any more who may do what.
	ErrLastAdmin = errors.New("nobody else has the role admin on every namespace")
)

// ReadFile reads a file of principals; errors are ErrFile.
func ReadFile(path string) (*File, error) {
	f, err := readPrincipals(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

func readPrincipals(path string) (*File, error) {
	text, _, err := readFile(path, private)
	if err != nil {
		return nil, err
	}
	f, _, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Edit changes a file of principals: a reader sees it as it was or as it is then, also after a crash. Of several at once, one waits for the
// other. A file that is not there is made, with mode 0600. Where change fails, or what it makes is no file of principals, nothing is written.
func Edit(path string, change func(*File) error) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // what is renamed takes the place of the file, not of a link to it
	}
	unlock, err := lock(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	defer unlock()
	f, err := readPrincipals(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err = &File{}, nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	if err := change(f); err != nil {
		return err
	}
	if _, err := f.table(); err != nil {
		return err
	}
	text, err := f.text()
	if err != nil {
		return err
	}
	return replace(path, text)
}

// replace puts a text in a file's place, at once and for good. The file's owner stays.
func replace(path string, text []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // has mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if was, err := os.Stat(path); err == nil {
		if err := keepOwner(f, was); err != nil {
			return errors.Join(fmt.Errorf("the owner of %s cannot be kept; edit it as that user: %w", path, err), f.Close())
		}
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Principal is the principal of a name; nil: there is none.
func (f *File) Principal(name string) *FilePrincipal {
	for i := range f.Principals {
		if f.Principals[i].Name == name {
			return &f.Principals[i]
		}
	}
	return nil
}

// AddToken makes a token of a principal's, which expires at a time; zero: never. The token is not kept: this is the only time it is told.
func (f *File) AddToken(name string, now, expires time.Time) (token string, kept FileToken, err error) {
	p := f.Principal(name)
	if p == nil {
		return "", kept, ErrNoPrincipal
	}
	token = NewToken()
	hash := HashToken(token)
	kept = FileToken{ID: f.freeID(), SHA256: hex.EncodeToString(hash[:]), Created: now.UTC().Truncate(time.Second), Expires: expires.UTC()}
	if expires.IsZero() {
		kept.Expires = time.Time{}
	}
	p.Tokens = append(p.Tokens, kept)
	return token, kept, nil
}

// freeID makes an id that no token of the file has.
func (f *File) freeID() string {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:])
		id := fmt.Sprintf("%07s", new(big.Int).SetBytes(b[:]).Text(36))
		if _, j := f.find(id); j < 0 {
			return id
		}
	}
}

// find gives the places of a token's principal and of the token; -1, -1: there is none.
func (f *File) find(id string) (i, j int) {
	for i, p := range f.Principals {
		if j := slices.IndexFunc(p.Tokens, func(k FileToken) bool { return k.ID == id }); j >= 0 {
			return i, j
		}
	}
	return -1, -1
}

// Revoke takes a token away, and gives its principal's name. One without which nobody has the role admin on every namespace stays, and the
// error is ErrLastAdmin, unless force says that it goes all the same.
func (f *File) Revoke(id string, now time.Time, force bool) (name string, err error) {
	i, j := f.find(id)
	if i < 0 {
		return "", ErrNoToken
	}
	p := &f.Principals[i]
	return p.Name, f.revoke(p, slices.Delete(slices.Clone(p.Tokens), j, j+1), now, force)
}

// RevokeAll takes all tokens of a principal's away, like Revoke, and tells how many.
func (f *File) RevokeAll(name string, now time.Time, force bool) (revoked int, err error) {
	p := f.Principal(name)
	if p == nil {
		return 0, ErrNoPrincipal
	}
	revoked = len(p.Tokens)
	return revoked, f.revoke(p, nil, now, force)
}

func (f *File) revoke(p *FilePrincipal, left []FileToken, now time.Time, force bool) error {
	had, before := p.Tokens, f.hasAdmin(now)
	p.Tokens = left
	if before && !force && !f.hasAdmin(now) {
		p.Tokens = had
		return ErrLastAdmin
	}
	return nil
}

// hasAdmin tells whether somebody can show credentials of an admin on every namespace, as far as the file tells.
func (f *File) hasAdmin(now time.Time) bool {
	for _, p := range f.Principals {
		lasting := func(k FileToken) bool { return k.Expires.IsZero() || now.Before(k.Expires) }
		if isAdmin(p.Grants) && (len(p.Certificates) > 0 || slices.ContainsFunc(p.Tokens, lasting)) {
			return true
		}
	}
	return f.JWT != nil && slices.ContainsFunc(f.JWT.Principals, func(r FileRule) bool { return isAdmin(r.Grants) })
}

func isAdmin(granted []FileGrant) bool {
	return slices.ContainsFunc(granted, func(g FileGrant) bool {
		return Pattern(g.Namespaces) == Everything && slices.Contains(g.Roles, "admin")
	})
}
