package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrOtherKey says that lines are under a key that was not given, so that nothing can be said of them.
var ErrOtherKey = errors.New("lines are under a key that was not given")

// Check says how files are verified.
type Check struct {
	// Keys are those that lines may be under. None: lines must be under none. Else each line must be under one of them.
	Keys []*Key
	// Anchors are hashes of lines that must be there, as the log told them; Last is the number of a line that must be.
	Anchors []string
	Last    uint64
	// Found is told of each problem, in order; an error ends the check.
	Found func(Problem) error
}

// Problem is what is wrong at a line.
type Problem struct {
	// File has the line, the nth of it; 0: the problem is of the file, or of all files where File is empty.
	File string
	Line int
	// Number is the line's own; 0: it cannot be read.
	Number uint64
	What   string
}

// Verdict is what a check found.
type Verdict struct {
	Files, Lines, Problems int
	// First and Last are the numbers of the first and the last line, Hash the hash of the last one.
	First, Last uint64
	Hash        string
	// Torn is how many ends were torn, which lines tell of; Lost how many lines were never written, of which lines tell.
	Torn int
	Lost uint64
	// Stopped says that the last line tells of an orderly end.
	Stopped bool
}

// Verify verifies files, in the order in which they were written. Errors: that of Found, ErrOtherKey, and those of reading.
func (c Check) Verify(files []string) (Verdict, error) {
	w := &walk{check: c, missed: map[string]bool{}}
	for _, anchor := range c.Anchors {
		w.missed[anchor] = true
	}
	for _, name := range files {
		if err := w.file(name); err != nil {
			return w.Verdict, err
		}
	}
	return w.Verdict, w.end()
}

// maxBroken is how many lines that are none are kept, as they may be a torn end yet.
const maxBroken = 1 << 16

// walk is a check on its way.
type walk struct {
	Verdict
	check Check
	// name and n are where it is.
	name string
	n    int
	// last is the line before, broken are those behind it that are no lines, rest all their bytes.
	last   *read
	broken []Problem
	rest   rest
	// changed is how many lines behind last were told to be none.
	changed uint64
	// missed are anchors that were not found yet.
	missed map[string]bool
}

func (w *walk) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Files, w.name, w.n = w.Files+1, name, 0
	for lines := bufio.NewReaderSize(f, maxLine); ; {
		text, err := readLine(lines)
		if len(text) > 0 {
			w.n++
			if err := w.line(text); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if w.n == 0 {
		return w.found(Problem{File: name, What: "the file is empty: all of it was cut off"})
	}
	return w.giveUp()
}

// readLine reads a line with its line break, or a part of what is too long for one.
func readLine(from *bufio.Reader) ([]byte, error) {
	text, err := from.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return text, err
}

// line judges a line.
func (w *walk) line(text []byte) error {
	r, err := w.read(text)
	if errors.Is(err, ErrOtherKey) {
		return err
	}
	if err != nil {
		problem := Problem{File: w.name, Line: w.n, What: err.Error()}
		if r != nil {
			problem.Number = r.Seq
		}
		w.broken = append(w.broken, problem)
		w.rest.add(text)
		if len(w.broken) > maxBroken {
			return w.giveUp()
		}
		return nil
	}
	if err := w.begins(r); err != nil {
		return err
	}
	torn := w.isTorn(r)
	switch {
	case torn && r.Torn.Lines == 0:
		w.broken, w.rest = nil, rest{}
		w.Torn++
	case r.Torn != nil && !torn:
		err = w.at(r, "it tells of a torn end, and what is before it is not that")
	}
	if err == nil {
		err = w.giveUp()
	}
	if err == nil {
		err = w.follows(r)
	}
	w.pass(r)
	return err
}

// read reads a line, and judges it by itself. r is not nil where it can be read.
func (w *walk) read(text []byte) (r *read, err error) {
	bare, whole := bytes.CutSuffix(text, []byte("\n"))
	if !whole {
		return nil, errors.New("it is not whole: its end was cut off, or is being written")
	}
	if r, err = parse(bare); err != nil {
		return nil, err
	}
	key, err := w.keyOf(r)
	if err != nil {
		return r, err
	}
	return r, r.intact(key)
}

// keyOf is the key that a line must be under.
func (w *walk) keyOf(r *read) (*Key, error) {
	if r.Key == "" && len(w.check.Keys) > 0 {
		return nil, errors.New("it is under no key, so anybody may have written it")
	}
	if r.Key == "" {
		return nil, nil
	}
	if key := named(w.check.Keys, r.Key); key != nil {
		return key, nil
	}
	if len(w.check.Keys) > 0 {
		return nil, fmt.Errorf("it is under the key %.16q, which was not given", r.Key)
	}
	return nil, fmt.Errorf("%w: line %d of %s says that its key has the id %.16q", ErrOtherKey, w.n, w.name, r.Key)
}

// begins judges whether the first whole line of a file may be that.
func (w *walk) begins(r *read) error {
	if w.n == 1 && r.File == nil {
		return w.at(r, "it is the first line of its file, and not one that files begin with: what was before is cut off")
	}
	return nil
}

// isTorn tells whether a line tells of just those bytes before it that are no lines.
func (w *walk) isTorn(r *read) bool { return r.Torn != nil && len(w.broken) > 0 && w.rest.is(r.Torn) }

// follows judges whether a line follows the one before, but for those that were changed.
func (w *walk) follows(r *read) error {
	if w.last == nil {
		return nil
	}
	after := w.last.Seq
	switch next := after + 1 + w.changed; {
	case r.Seq > next:
		return w.at(r, linesMissing(r.Seq-next, after+1, r.Seq-1))
	case r.Seq <= after:
		return w.at(r, fmt.Sprintf("it stands behind line %d: it was moved, or written twice", after))
	case r.Seq == after+1 && r.Prev != w.last.hash:
		return w.at(r, "it followed another line than the one before it, which was changed")
	}
	return nil
}

// linesMissing says that n lines are missing of those from the first to the last.
func linesMissing(n, first, last uint64) string {
	switch {
	case first == last:
		return fmt.Sprintf("line %d is missing before it", first)
	case n == last-first+1:
		return fmt.Sprintf("lines %d to %d are missing before it", first, last)
	default:
		return fmt.Sprintf("%d of lines %d to %d are missing before it", n, first, last)
	}
}

// pass goes on behind a line.
func (w *walk) pass(r *read) {
	r.body = nil
	if w.Lines == 0 {
		w.First = r.Seq
	}
	w.Lines++
	w.last, w.Last, w.Hash, w.Stopped = r, r.Seq, r.hash, r.Stop != nil
	if r.Lost != nil {
		w.Lost += r.Lost.Count
	}
	w.changed = 0
	delete(w.missed, r.hash)
}

// giveUp tells of lines that are none.
func (w *walk) giveUp() error {
	for _, p := range w.broken {
		if err := w.found(p); err != nil {
			return err
		}
	}
	w.changed += uint64(len(w.broken))
	w.broken, w.rest = nil, rest{}
	return nil
}

// end judges what should have been there.
func (w *walk) end() error {
	for _, anchor := range w.check.Anchors {
		if w.missed[anchor] {
			delete(w.missed, anchor)
			if err := w.found(Problem{What: fmt.Sprintf("no line has the hash %.16s…: it was cut off or changed, or is in another file", anchor)}); err != nil {
				return err
			}
		}
	}
	if w.Last < w.check.Last {
		return w.found(Problem{What: fmt.Sprintf("the last line is number %d, and number %d was written: what is behind it was cut off", w.Last, w.check.Last)})
	}
	return nil
}

func (w *walk) at(r *read, what string) error {
	return w.found(Problem{File: w.name, Line: w.n, Number: r.Seq, What: what})
}

func (w *walk) found(p Problem) error {
	w.Problems++
	return w.check.Found(p)
}
