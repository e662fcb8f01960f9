package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/transcriptd/transcriptd/redact"
)

// conversations counts the strings of the real conversations that change. Conversations with credentials were left out when
// they were gathered, so most of these change for nothing.
func (r *report) conversations(o options) {
	files, err := filepath.Glob(filepath.Join(o.transcripts, "*.jsonl.gz"))
	if o.transcripts == "" || err != nil || len(files) == 0 {
		r.notMeasured("strings in real conversations", "--transcripts or TRANSCRIPTS_DIR must name their folder; docs/data.md tells more")
		return
	}
	count, strs, changed := 0, 0, 0
	for _, file := range files {
		err := eachLine(file, func(line []byte) error {
			var conversation struct{ Messages []json.RawMessage }
			if err := json.Unmarshal(line, &conversation); err != nil {
				return err
			}
			count++
			for _, message := range conversation.Messages {
				redacted := redact.Text(string(message))
				var was, is any
				if err := errors.Join(json.Unmarshal(message, &was), json.Unmarshal([]byte(redacted), &is)); err != nil {
					return err
				}
				each(was, is, func(a, b string) {
					strs++
					if a != b {
						changed++
						r.change(o, filepath.Base(file), a, b)
					}
				})
			}
			return nil
		})
		if err != nil {
			r.notMeasured("strings in real conversations", fmt.Errorf("%s: %w", file, err))
			return
		}
	}
	r.figure(fmt.Sprintf("strings that change in %d conversations", count), fmt.Sprintf("%d of %d", changed, strs),
		fmt.Sprintf("<= %d", mostStrings), changed <= mostStrings)
}

// eachLine calls f with the lines of a gzip file.
func eachLine(path string, f func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(unpacked, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// each calls f with the strings that stand in the same place of two documents of the same form.
func each(was, is any, f func(was, is string)) {
	switch was := was.(type) {
	case string:
		now, _ := is.(string)
		f(was, now)
	case []any:
		now, _ := is.([]any)
		for i := range min(len(was), len(now)) {
			each(was[i], now[i], f)
		}
	case map[string]any:
		now, _ := is.(map[string]any)
		for name := range was {
			each(was[name], now[name], f)
		}
	}
}

// change notes one that was asked for.
func (r *report) change(o options, where, was, is string) {
	if !o.showLines {
		return
	}
	n := 0
	for n < len(was) && n < len(is) && was[n] == is[n] {
		n++
	}
	r.lines = append(r.lines, fmt.Sprintf("%s: %.100q", where, was[max(0, n-40):]))
}
