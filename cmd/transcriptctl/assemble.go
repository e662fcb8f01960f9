package main

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type assembleCommand struct {
	Ref          string `arg:"" help:"The node that the chain ends in."`
	View         string `default:"effective" enum:"effective,full,conversation" help:"effective: what a model can be sent, each call followed by its result. full: every message as it was put. conversation: of the effective view, the run loops before the last condensed to what was asked and answered."`
	CondenseLast bool   `help:"With --view conversation: show the last run loop condensed, too, if it is closed."`
	Form         string `short:"f" default:"" enum:"text,json,openai,anthropic,responses," aliases:"format" placeholder:"FORM" help:"text, json, openai, anthropic or responses. Default: text, or json with --output json."`
	ForModel     bool   `help:"With openai, anthropic and responses: what the provider's API accepts, rather than what says everything."`
	endFlags
	policyFlags
}

func (c *assembleCommand) Help() string {
	return `text is for people (control characters are shown as \x1b). json is {"messages": [...]} as put reads it with --form protojson. openai is a list of messages, anthropic an object with system and messages, responses a list of items; what their form cannot say is told on standard error.

A conversation is bounded by the flags of a policy. Those not given have the defaults that their help names, unless --preset says otherwise. Examples:

    transcriptctl assemble chat/42 | less
    transcriptctl assemble chat/42 --form openai --for-model > messages.json
    transcriptctl assemble chat/42 --view full --form json | jq '.messages | length'
    transcriptctl assemble chat/42 --last 20
    transcriptctl assemble chat/42 --view conversation --preset coding`
}

// Run prints the messages of a chain.
func (c *assembleCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	query, err := c.query()
	if err == nil {
		err = c.end(ctx, s, &query)
	}
	if err != nil {
		return err
	}
	form := c.form(s)
	switch provider := formNamed(form); {
	case c.ForModel && provider == nil:
		return usagef("--for-model needs --form openai, anthropic or responses")
	case c.ForModel:
		return s.printWhole(ctx, ref, query, form, provider.forModel)
	case provider != nil && form != formOpenAI:
		return s.printWhole(ctx, ref, query, form, provider.format)
	}
	return s.printFrames(ctx, ref, query, form)
}

// query is what the flags ask for.
func (c *assembleCommand) query() (client.Query, error) {
	q := client.Query{View: transcriptv1.View_VIEW_EFFECTIVE, CondenseLast: c.CondenseLast}
	switch c.View {
	case "full":
		q.View = transcriptv1.View_VIEW_FULL
	case "conversation":
		q.View = transcriptv1.View_VIEW_CONVERSATION
		var err error
		q.Policy, err = c.policy()
		return q, err
	}
	if c.CondenseLast || c.given() {
		return q, usagef("--condense-last and the flags of a policy need --view conversation")
	}
	return q, nil
}

func (c *assembleCommand) form(s *session) string {
	switch {
	case c.Form != "":
		return c.Form
	case s.json:
		return "json"
	}
	return "text"
}

// printWhole prints forms that need all messages at once.
func (s *session) printWhole(
	ctx context.Context, ref client.Ref, query client.Query, form string,
	write func([]*transcriptv1.Message) ([]byte, openai.Report, error),
) error {
	whole, err := s.Assemble(ctx, ref, query)
	if err != nil {
		return err
	}
	messages, err := whole.Messages()
	if err != nil {
		return err
	}
	out, report, err := write(messages)
	if err != nil {
		return fmt.Errorf("%s has no form for this: %w", form, err)
	}
	s.tellReport(whole.Report)
	s.tellMore(whole)
	s.tellChanges(form, report.Changes)
	return s.printLine("%s", visibleJSON(out))
}

// printFrames prints forms that are made message by message, as the frames come.
func (s *session) printFrames(ctx context.Context, ref client.Ref, query client.Query, form string) error {
	list := map[string][2]string{"json": {"{\"messages\":[", "]}\n"}, "openai": {"[", "]\n"}, "text": {}}[form]
	if _, err := s.out.WriteString(list[0]); err != nil {
		return err
	}
	w := &messageWriter{s: s, form: form}
	var first *client.Assembly
	for frame, err := range s.Frames(ctx, ref, query) {
		if err != nil {
			return err
		}
		if first == nil {
			first = frame
		}
		messages, err := frame.Messages()
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := w.write(m); err != nil {
				return err
			}
		}
		if frame.Report != nil {
			s.tellReport(frame.Report)
			s.tellMore(first)
		}
	}
	s.tellChanges(form, w.changes)
	_, err := s.out.WriteString(list[1])
	return err
}

// messageWriter writes messages of a list one by one.
type messageWriter struct {
	s       *session
	form    string
	written int
	changes []openai.Change
}

func (w *messageWriter) write(m *transcriptv1.Message) error {
	if w.form == "openai" && client.IsOpaque(m) {
		w.changes = append(w.changes, openai.Change{Kind: openai.LeftOut})
		return nil
	}
	separator := ""
	if w.written++; w.written > 1 {
		separator = map[string]string{"text": "\n", "json": ",", "openai": ",\n"}[w.form]
	}
	if w.form == "text" {
		return w.s.printMessage(separator, m)
	}
	out, err := w.encode(m)
	if err != nil {
		return err
	}
	_, err = w.s.out.WriteString(separator + string(visibleJSON(out)))
	return err
}

func (w *messageWriter) encode(m *transcriptv1.Message) ([]byte, error) {
	if w.form == "json" {
		return protoLine(m)
	}
	out, report, err := openai.FormatMessage(m)
	w.changes = append(w.changes, report.Changes...)
	return out, err
}

// tellReport says on standard error what repair and the policy changed in the messages printed.
func (s *session) tellReport(r *transcriptv1.Report) {
	if n := r.GetRepairs(); n > 0 {
		s.remark("%s: results without a call left out, or stand-ins for missing results added; see --view full", count(n, "repair"))
	}
	switch out := r.GetLeftOut(); {
	case out == nil && r.GetShortenedMessages() > 0:
		s.remark("shortened by a compaction: %s; see --view full", count(r.GetShortenedMessages(), "message"))
	case out.GetMessages() > 0 || r.GetShortenedMessages() > 0:
		s.remark("left out: %s, %s; shortened: %s; see --view effective", count(out.GetMessages(), "message"),
			size(out.GetBytes()), count(r.GetShortenedMessages(), "message"))
	}
	if r.GetLimitExceeded() {
		s.remark("what is always shown exceeds --max-bytes or --max-tokens: see --keep-tool-results, or 'transcriptctl compact --summary'")
	}
}

// tellChanges says on standard error what a provider's form could not say. A list of changes can be as long as the
// transcript; it is summed up.
func (s *session) tellChanges(form string, changes []openai.Change) {
	kinds := map[openai.ChangeKind]int64{}
	for _, c := range changes {
		kinds[c.Kind]++
	}
	for _, kind := range []openai.ChangeKind{
		openai.Inexact, openai.LeftOut, openai.Replaced, openai.Renamed, openai.Joined, openai.Moved, openai.Added,
	} {
		if n := kinds[kind]; n > 0 {
			s.remark("%s in %s form: %s", count(n, "change"), form, kind)
		}
	}
}
