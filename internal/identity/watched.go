package identity

import (
	"bytes"
	"os"
	"time"
)

// watched is a file that is read again when it changed. Its zero value, but for path and mode, has read nothing.
type watched struct {
	path string
	mode os.FileMode // bits that the file must not have
	text []byte
	// seen is the file as it was when it was last read, at a time; nil: it never was.
	seen os.FileInfo
	when time.Time
}

// read reads the file's text where it may have changed, and tells whether it did. An error leaves what was read.
func (w *watched) read() (changed bool, err error) {
	if w.unchanged() {
		return false, nil
	}
	when := time.Now()
	text, info, err := readFile(w.path, w.mode)
	if err != nil {
		return false, err
	}
	changed = w.when.IsZero() || !bytes.Equal(text, w.text)
	w.text, w.seen, w.when = text, info, when
	return changed, nil
}

// unchanged tells whether the file is the one that was read, and was not written to since. One written to just before it was read could
// have been written to again within the same tick of the file system's clock, and counts as changed.
func (w *watched) unchanged() bool {
	const tick = 2 * time.Second
	if w.seen == nil {
		return false
	}
	info, err := os.Stat(w.path)
	return err == nil && os.SameFile(info, w.seen) && info.ModTime().Equal(w.seen.ModTime()) && info.Size() == w.seen.Size() &&
		info.Mode() == w.seen.Mode() && info.ModTime().Before(w.when.Add(-tick))
}
