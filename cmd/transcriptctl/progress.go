package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progressEvery is the least time between two states of a progress line.
const progressEvery = 200 * time.Millisecond

// progress is one line on a terminal that is written over and over. Where standard error is no terminal it is silent.
// It may be used by several goroutines.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil: silent
	last  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return &progress{}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{w: w}
}

// show shows a state, unless the one before is too young.
func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || time.Since(p.last) < progressEvery {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K%s", name(text))
}

// clear takes the line off, so that something else can be written.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
