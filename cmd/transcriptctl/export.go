package main

import (
	"bufio"
	"compress/gzip"
	"context"
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
	Form   string       `default:"openai" enum:"openai,anthropic,responses" aliases:"format" placeholder:"FORM" help:"The form of a line: openai, {\"id\": ..., \"messages\": [...]}; anthropic, which has a member system, too; or responses, {\"id\": ..., \"items\": [...]}. Default: ${default}."`
	Chat   *chatName    `completes:"chat" placeholder:"ID" help:"Only the conversation with this id, or with the alias chat/ID. Default: every alias under chat/."`
	Prefix *aliasPrefix `completes:"alias" placeholder:"PREFIX" help:"Only the conversations whose aliases begin with this, such as chat/team-."`
	File   string       `default:"-" placeholder:"FILE" help:"Write to this file, gzipped if its name ends in .gz; it appears when it is complete. Default: standard output."`
}

func (c *exportCommand) Help() string {
	return `A line a conversation, in the order of their aliases, with every message as it was put (the full view). What a form cannot say is told at the end. Examples:

    transcriptctl export > all.jsonl
    transcriptctl export --file all.jsonl.gz
    transcriptctl export --form anthropic > requests.jsonl
    transcriptctl export --prefix chat/team- > team.jsonl
    transcriptctl export --chat 42 | jq .messages[0]`
}

// Run writes conversations as lines.
func (c *exportCommand) Run(ctx context.Context, s *session) (err error) {
	switch begin := client.ChatAlias(""); {
	case c.Chat != nil && c.Prefix != nil:
		return usagef("give either --chat or --prefix")
	case c.Prefix != nil && !strings.HasPrefix(string(*c.Prefix), begin):
		return usagef("--prefix must begin with %s, as the aliases of conversations do", begin)
	}
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
	e := &exporter{session: s, form: formNamed(c.Form), w: w, line: newProgress(s.notes)}
	defer e.line.clear()
	if err := c.chats(ctx, e); err != nil {
		return err
	}
	e.line.clear()
	if e.inexact > 0 {
		s.remark("of %s, %d cannot be said exactly in this form and would be imported as something else",
			count(e.chats, "conversation"), e.inexact)
		e.changes.remark(s)
	}
	if err := w.Flush(); err != nil || e.chats > 0 {
		return err
	}
	if c.Prefix != nil {
		return s.remarkNone(ctx, *c.Prefix)
	}
	return s.remarkEmpty(ctx)
}

func (c *exportCommand) chats(ctx context.Context, e *exporter) error {
	if c.Chat != nil {
		return e.chat(ctx, client.ByAlias(e.looked(c.Chat.alias)), c.Chat.id)
	}
	prefix := client.ChatAlias("")
	if c.Prefix != nil {
		prefix = string(*c.Prefix)
	}
	for a, err := range e.Aliases(ctx, client.AliasesWithPrefix(prefix)) {
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
	form *form
	w    *bufio.Writer
	line *progress
	// chats and messages are how many were written, inexact how many of the chats the form cannot say.
	chats, messages, inexact int64
	// changes are what it cannot say.
	changes changes
}

// chat writes a line.
func (e *exporter) chat(ctx context.Context, head client.Ref, id string) error {
	write := e.whole
	if e.form.name == formOpenAI {
		write = e.frames
	}
	report, err := write(ctx, head, id)
	if err != nil {
		return err
	}
	e.chats++
	if len(report.Changes) > 0 {
		e.inexact++
		e.changes.report(e.chats, client.ChatAlias(id), report)
	}
	e.line.show(fmt.Sprintf("%s, %s", count(e.chats, "conversation"), count(e.messages, "message")))
	return nil
}

// whole writes a line in a form that needs all messages at once: one that joins some of them, or has the system prompt elsewhere.
func (e *exporter) whole(ctx context.Context, head client.Ref, id string) (openai.Report, error) {
	var messages []*transcriptv1.Message
	for frame, err := range e.Frames(ctx, head, client.Query{View: transcriptv1.View_VIEW_FULL}) {
		if err != nil {
			return openai.Report{}, err
		}
		more, err := frame.Messages()
		if err != nil {
			return openai.Report{}, err
		}
		messages = append(messages, more...)
	}
	out, report, err := e.form.line(id, messages)
	if err != nil {
		return report, fmt.Errorf("%s has no form for %s: %w", e.form.name, name(client.ChatAlias(id)), err)
	}
	e.messages += int64(len(messages))
	_, err = e.w.Write(append(out, '\n'))
	return report, err
}

// frames writes a line frame by frame, so that a long chain takes no memory.
func (e *exporter) frames(ctx context.Context, head client.Ref, id string) (report openai.Report, err error) {
	written, begun := 0, false
	for frame, err := range e.Frames(ctx, head, client.Query{View: transcriptv1.View_VIEW_FULL}) {
		if err != nil {
			return report, err
		}
		if !begun {
			begin, err := lineBegin(id)
			if err != nil {
				return report, err
			}
			if _, err := e.w.WriteString(begin + `,"messages":[`); err != nil {
				return report, err
			}
			begun = true
		}
		messages, err := frame.Messages()
		if err != nil {
			return report, err
		}
		for _, m := range messages {
			if err := e.message(m, written, &report); err != nil {
				return report, err
			}
			written++
		}
	}
	e.messages += int64(written)
	_, err = e.w.WriteString("]}\n")
	return report, err
}

// message writes a message of a list, and adds what the form could not say.
func (e *exporter) message(m *transcriptv1.Message, index int, report *openai.Report) error {
	out, changes, err := openai.FormatLine(m)
	if err != nil {
		return err
	}
	if index > 0 {
		out = append([]byte{','}, out...)
	}
	for _, c := range changes.Changes {
		c.Path = fmt.Sprintf("messages[%d]%s", index, strings.TrimPrefix(c.Path, "message"))
		report.Changes = append(report.Changes, c)
	}
	_, err = e.w.Write(out)
	return err
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
		return nil, usagef("%s is a directory: name a file in it", name)
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
