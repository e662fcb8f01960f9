package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// ageIntro is what an encrypted archive begins with: it is a file of age, and what that decrypts to is the archive.
const ageIntro = "age-encryption.org/"

// Open reads the header of an archive, encrypted or not. Errors: ErrEncrypted, and those of NewReader.
func Open(from io.Reader, identities ...age.Identity) (*Reader, error) {
	file := bufio.NewReader(from)
	intro, err := file.Peek(len(ageIntro))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(intro) != ageIntro {
		return NewReader(file)
	}
	if len(identities) == 0 {
		return nil, ErrEncrypted
	}
	plain, err := age.Decrypt(file, identities...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, fmt.Errorf("%w: no key that was given opens it", ErrEncrypted)
	case err != nil:
		return nil, &BlockError{Block: 1, Why: "its encryption does not begin as one", Err: ErrDamaged}
	}
	r, err := NewReader(&sealed{from: file, plain: plain})
	if err != nil {
		return nil, err
	}
	r.sealed = true
	return r, nil
}

// sealed tells damage of an encrypted file from what its file could not give.
type sealed struct {
	from  *bufio.Reader
	plain io.Reader
}

func (s *sealed) Read(p []byte) (int, error) {
	n, err := s.plain.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, io.ErrUnexpectedEOF
	}
	if _, below := s.from.Peek(1); below != nil && !errors.Is(below, io.EOF) {
		return n, below
	}
	return n, errSeal
}

// errSeal says that bytes of an encrypted file are not those that were written.
var errSeal = errors.New("its encryption does not hold")

// Seal encrypts what is written to it, for those who have a key of one of the recipients. Close ends it, and leaves to open.
func Seal(to io.Writer, recipients ...age.Recipient) (io.WriteCloser, error) {
	return age.Encrypt(to, recipients...)
}
