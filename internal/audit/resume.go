package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNotAudit says that a file that is there is no audit.
var ErrNotAudit = errors.New("the file is there and has no line of an audit: name another one, or move it away")

// ending is how a file ends.
type ending struct {
	// last is its last line that is whole.
	last *read
	// salt is that of its first line.
	salt string
	// rest is what lies behind that line; nil: nothing.
	rest *torn
	// unbroken says that its last byte is no line break.
	unbroken bool
	size     int64
}

// readEnding reads how a file ends. A line under another key than the present one is taken as it is.
func readEnding(path string, key *Key) (*ending, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNotAudit)
	}
	e := &ending{size: info.Size()}
	end := int64(0)
	for window := int64(maxLine); e.last == nil; window *= 8 {
		from := max(0, e.size-window)
		if e.last, end, err = lastLine(f, from, e.size, key); err != nil {
			return nil, err
		}
		if e.last == nil && from == 0 {
			return nil, fmt.Errorf("%s: %w", path, ErrNotAudit)
		}
	}
	if e.salt, err = readSalt(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if end < e.size {
		e.rest, err = readRest(io.NewSectionReader(f, end, e.size-end))
	}
	final := make([]byte, 1)
	if err == nil {
		_, err = f.ReadAt(final, e.size-1)
	}
	e.unbroken = final[0] != '\n'
	return e, err
}

// lastLine is the last whole line between two places of a file, and where it ends with its line break; nil: there is none.
func lastLine(f io.ReaderAt, from, to int64, key *Key) (last *read, end int64, err error) {
	part := make([]byte, to-from)
	if _, err := f.ReadAt(part, from); err != nil {
		return nil, 0, err
	}
	for head := part; len(head) > 0; {
		begin := bytes.LastIndexByte(head[:len(head)-1], '\n') + 1
		text, broken := bytes.CutSuffix(head[begin:], []byte("\n"))
		r, err := parse(text)
		if err == nil && (r.Key != "" && r.Key != key.ID() || r.intact(keyFor(r, key)) == nil) {
			end := from + int64(begin+len(text))
			if broken {
				end++
			}
			r.body = nil
			return r, end, nil
		}
		head = head[:begin]
	}
	return nil, 0, nil
}

// keyFor is the key to judge a line with: none where it has none.
func keyFor(r *read, key *Key) *Key {
	if r.Key == "" {
		return nil
	}
	return key
}

// readSalt reads the salt off the first line.
func readSalt(f io.ReaderAt) (string, error) {
	text, err := bufio.NewReaderSize(io.NewSectionReader(f, 0, maxLine), maxLine).ReadSlice('\n')
	if err != nil {
		return "", ErrNotAudit
	}
	first, err := parse(bytes.TrimSuffix(text, []byte("\n")))
	if err != nil || first.File == nil {
		return "", fmt.Errorf("%w; its first line was changed or cut off", ErrNotAudit)
	}
	return first.File.Salt, nil
}

// readRest tells of what lies behind the last whole line.
func readRest(from io.Reader) (*torn, error) {
	rest, hash, buffer := &torn{}, sha256.New(), make([]byte, maxLine)
	for {
		n, err := from.Read(buffer)
		hash.Write(buffer[:n])
		rest.Bytes += int64(n)
		rest.Lines += int64(bytes.Count(buffer[:n], []byte("\n")))
		if errors.Is(err, io.EOF) {
			rest.SHA256 = hex.EncodeToString(hash.Sum(nil))
			return rest, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// newestKept is the newest of the files that were kept as the one at a path was full; empty: there is none.
func newestKept(path string) (string, error) {
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	newest := ""
	for _, one := range all { // sorted by name
		number, is := strings.CutPrefix(one.Name(), filepath.Base(path)+".")
		if _, err := strconv.ParseUint(number, 10, 64); is && err == nil && len(number) == numberDigits {
			newest = filepath.Join(filepath.Dir(path), one.Name())
		}
	}
	return newest, nil
}

// numberDigits is how many digits the number of a kept file has.
const numberDigits = 12

// kept is the name of a file that was full, by the number of its last line.
func kept(path string, seq uint64) string { return fmt.Sprintf("%s.%0*d", path, numberDigits, seq) }

// missing tells whether there is no file of a name.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
