package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type exportCommand struct {
	Format string  `default:"openai" enum:"openai" help:"The form of a line: openai, {\"id\": ..., \"messages\": [...]}."`
	Chat   *string `placeholder:"ID" help:"Only the conversation with this id. Default: every alias under chat/."`
	File   string  `short:"o" default:"-" placeholder:"FILE" help:"Write to this file, gzipped if its name ends in .gz; it appears when it is complete. Default: standard output."`
}

func (c *exportCommand) Help() string {
	return `A line a conversation, in the order of their aliases, with every message as it was put (the full view). Examples:

    transcriptctl export > all.jsonl
    transcriptctl export -o all.jsonl.gz
    transcriptctl export --chat 42 | jq .messages[0]`
}

// Run writes conversations as lines.
func (c *exportCommand) Run(ctx context.Context, s *session) (err error) {
	if c.File == "-" {
		return c.write(ctx, s, s.out)
	}
	f, err := newOutputFile(c.File)
	if err != nil {
		return err
	}
	err = c.write(ctx, s, f.w)
	return errors.Join(err, f.end(err == nil))
}

func (c *exportCommand) write(ctx context.Context, s *session, w *bufio.Writer) error {
	e := &exporter{session: s, w: w, line: newProgress(s.notes)}
	defer e.line.clear()
	if err := c.chats(ctx, e); err != nil {
		return err
	}
	e.line.clear()
	if e.inexact > 0 {
		s.remark("of %s, %d cannot be said exactly in this form and would be imported as something else",
			count(e.chats, "conversation"), e.inexact)
	}
	if err := w.Flush(); err != nil || e.chats > 0 {
		return err
	}
	return s.remarkEmpty(ctx)
}

func (c *exportCommand) chats(ctx context.Context, e *exporter) error {
	if c.Chat != nil {
		alias, err := chatAlias(*c.Chat)
		if err != nil {
			return &usageError{err}
		}
		return e.chat(ctx, client.ByAlias(alias), *c.Chat)
	}
	for a, err := range e.Aliases(ctx, client.AliasesWithPrefix(client.ChatAlias(""))) {
		if err != nil {
			return err
		}
		if err := e.chat(ctx, client.ByID(a.GetNodeId()), chatID(a.GetName())); err != nil {
			return err
		}
	}
	return nil
}

// exporter writes conversations as lines.
type exporter struct {
	*session
	w    *bufio.Writer
	line *progress
	// chats and messages are how many were written, inexact how many of the chats the form cannot say.
	chats, messages, inexact int64
}

// chat writes a line. It is written frame by frame, so that a long chain takes no memory.
func (e *exporter) chat(ctx context.Context, head client.Ref, id string) error {
	begun, changes := false, 0
	for frame, err := range e.Frames(ctx, head, client.Query{View: transcriptv1.View_VIEW_FULL}) {
		if err != nil {
			return err
		}
		if !begun {
			if err := e.begin(id); err != nil {
				return err
			}
		}
		n, err := e.frame(frame, !begun)
		if err != nil {
			return err
		}
		begun, changes = true, changes+n
	}
	e.chats++
	if changes > 0 {
		e.inexact++
	}
	e.line.show(fmt.Sprintf("%s, %s", count(e.chats, "conversation"), count(e.messages, "message")))
	_, err := e.w.WriteString("]}\n")
	return err
}

func (e *exporter) begin(id string) error {
	var name strings.Builder
	encoder := json.NewEncoder(&name)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(id); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.w, `{"id":%s,"messages":[`, strings.TrimSuffix(name.String(), "\n"))
	return err
}

// frame writes the messages of a frame, and tells what the form could not say.
func (e *exporter) frame(frame *client.Assembly, first bool) (changes int, err error) {
	messages, err := frame.Messages()
	if err != nil {
		return 0, err
	}
	for i, m := range messages {
		out, report, err := openai.FormatLine(m)
		if err != nil {
			return 0, err
		}
		if !first || i > 0 {
			out = append([]byte{','}, out...)
		}
		if _, err := e.w.Write(out); err != nil {
			return 0, err
		}
		changes += len(report.Changes)
	}
	e.messages += int64(len(messages))
	return changes, nil
}

// outputFile is a file that gets its name when it is complete, or a device or pipe that is written as it is.
type outputFile struct {
	w      *bufio.Writer
	packed *gzip.Writer // nil: not gzipped
	file   *os.File
	// name is what the file is to be called; empty where it has its name.
	name string
}

func newOutputFile(name string) (*outputFile, error) {
	f := &outputFile{}
	var err error
	switch info, missing := os.Stat(name); {
	case missing == nil && info.IsDir():
		return nil, &usageError{fmt.Errorf("%s is a directory: name a file in it", name)}
	case missing == nil && !info.Mode().IsRegular():
		f.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	default:
		if target, failed := filepath.EvalSymlinks(name); failed == nil {
			name = target
		}
		f.name = name
		f.file, err = os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	}
	if pathError := (*os.PathError)(nil); errors.As(err, &pathError) {
		return nil, fmt.Errorf("cannot write %s: %w", name, pathError.Err)
	}
	if err != nil {
		return nil, err
	}
	var w io.Writer = f.file
	if strings.HasSuffix(name, ".gz") {
		f.packed = gzip.NewWriter(f.file)
		w = f.packed
	}
	f.w = bufio.NewWriterSize(w, 1<<20)
	return f, nil
}

// outputMode is the mode of a file that was made.
const outputMode = 0o644

// end gives the file its name, or takes it away; what had its name keeps it.
func (f *outputFile) end(complete bool) error {
	err := f.w.Flush()
	if f.packed != nil {
		err = errors.Join(err, f.packed.Close())
	}
	if f.name == "" {
		return errors.Join(err, f.file.Close())
	}
	err = errors.Join(err, f.file.Chmod(outputMode), f.file.Close())
	if complete && err == nil {
		return os.Rename(f.file.Name(), f.name)
	}
	return errors.Join(err, os.Remove(f.file.Name()))
}
