package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that import reads.
const maxLine = 256 << 20

var errLineTooLong = fmt.Errorf("%w: the line is longer than %d MiB", errNotJSON, maxLine>>20)

// byteOrderMark is what some editors write before UTF-8. It is no part of the first line.
const byteOrderMark = "\ufeff"

// lines reads a file line by line. What begins like gzip is unpacked, whatever its name.
type lines struct {
	r      *bufio.Reader
	place  string
	number int
}

// newLines reads from r; place is its name in errors.
func newLines(r io.Reader, place string) (*lines, error) {
	b := bufio.NewReaderSize(r, 1<<20)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		b = bufio.NewReaderSize(z, 1<<20)
	}
	if mark, _ := b.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark)) // cannot fail: it was peeked at
	}
	return &lines{r: b, place: place}, nil
}

// next is the next line that is not blank; the caller owns it. io.EOF at the end; errLineTooLong for one line only,
// the next call gives the line after it. Other errors are final.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lines) read() ([]byte, error) {
	var line []byte
	tooLong := false
	l.number++
	for {
		piece, err := l.r.ReadSlice('\n')
		if len(line)+len(piece) > maxLine {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLineTooLong
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("%s: %w", l.at(), err)
		}
		return line, nil
	}
}

// at names the line read last: "FILE:LINE".
func (l *lines) at() string { return fmt.Sprintf("%s:%d", l.place, l.number) }
