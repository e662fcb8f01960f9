package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// errUnexplained says that an effective view differs from the flat list otherwise than by what its report says.
var errUnexplained = errors.New("the effective view differs from the list in a way that its report does not explain")

// difference is a place where an effective view differs from the flat list of messages, as printed with --output json.
type difference struct {
	// File and Line are where the conversation is.
	File  string `json:"file"`
	Line  int    `json:"line"`
	Alias string `json:"alias"`
	// Request counts the conversation's requests from 1: the first that differs so. The last is that at the End.
	Request int  `json:"request"`
	End     bool `json:"atEnd,omitempty"`
	// Message is the message in the list, from 0, that is left out, or before which results are added.
	Message int    `json:"message"`
	Why     string `json:"why"`
	// Count is how many results are left out or added.
	Count int `json:"count"`
	order int64
}

// cells are the difference for people.
func (d *difference) cells() []string {
	what := "left out"
	if d.Why == "unanswered_call" {
		what = count(int64(d.Count), "stand-in") + " for missing results before it"
	}
	end := ""
	if d.End {
		end = " (the end)"
	}
	return []string{fmt.Sprintf("%s:%d", d.File, d.Line), name(d.Alias), fmt.Sprintf("%d%s", d.Request, end), fmt.Sprint(d.Message), d.Why + " (" + what + ")"}
}

// isAnswer tells whether a message is a model's, which was asked for it.
func isAnswer(m *transcriptv1.Message) bool {
	return m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT && !client.IsOpaque(m)
}

// check keeps the flat list beside the chain: it assembles before every assistant message and at the end of the
// conversation, where the next request would be made, and compares.
func (i *importer) check(ctx context.Context, c *conversation, chain *chain) error {
	k := &checker{importer: i, c: c, flat: &flatList{starts: map[string]int{}}, why: map[repair]string{}}
	for n, node := range chain.nodes {
		if n > 0 && isAnswer(node[0]) {
			if err := k.request(ctx, chain.ids[n-1], n >= chain.compacted); err != nil {
				return err
			}
		}
		k.flat.add(chain.ids[n], node)
	}
	k.end = true
	return k.request(ctx, chain.head(), len(chain.nodes) > chain.compacted)
}

// checker compares the requests of one conversation with the list.
type checker struct {
	*importer
	c        *conversation
	flat     *flatList
	requests int
	// end says that the request is the one at the end.
	end bool
	// last is the head of the request before.
	last string
	// why has the repairs that were told of.
	why map[repair]string
}

// request compares what a model is sent at a head, unless that is behind a compaction: then it is another on purpose.
func (k *checker) request(ctx context.Context, head string, behind bool) error {
	if behind {
		k.tally.behind()
		return nil
	}
	k.requests++
	if err := k.compare(ctx, head); err != nil {
		return fmt.Errorf("%s, request %d: %w", k.c.place, k.requests, err)
	}
	return nil
}

// compare compares the effective view of a head with the list so far, and tells of what it has not told before.
func (k *checker) compare(ctx context.Context, head string) error {
	a, err := k.Assemble(ctx, client.ByID(head), client.Query{})
	if err != nil {
		return err
	}
	shown, err := a.Encoded()
	if err != nil {
		return err
	}
	repairs, err := k.flat.repairs(shown)
	if err != nil {
		return err
	}
	if err := k.explain(ctx, head, repairs, a.Report); err != nil {
		return err
	}
	k.last = head
	k.tally.checked(len(repairs) > 0)
	return nil
}

// moreFindings is why something differs where a report has no room to say it.
const moreFindings = "more_findings"

// explain holds the repairs found against those that the report tells of: each has to have a reason there, and there may
// be no others.
func (k *checker) explain(ctx context.Context, head string, repairs []repair, report *transcriptv1.Report) error {
	there, total := map[repair]bool{}, 0
	for _, r := range repairs {
		there[r] = true
		total += r.count()
	}
	reasons := k.flat.reasons(report)
	for r := range reasons {
		if !there[r] {
			return fmt.Errorf("%w: message %d, which the report says was repaired", errUnexplained, r.message)
		}
	}
	if int64(total) != int64(report.GetRepairs()) {
		return fmt.Errorf("%w: it has %s, and the report tells of %d", errUnexplained,
			count(int64(total), "repair"), report.GetRepairs())
	}
	full := report.GetMoreFindings() > 0
	for _, r := range repairs {
		if k.why[r] != "" {
			continue
		}
		if reasons[r] == "" && full {
			if err := k.latest(ctx, head, reasons); err != nil {
				return err
			}
			full = false
		}
		why := reasons[r]
		switch {
		case why == "" && report.GetMoreFindings() > 0:
			why = moreFindings
		case why == "":
			return fmt.Errorf("%w: message %d", errUnexplained, r.message)
		}
		k.why[r] = why
		k.tally.differs(difference{
			File: k.c.file(), Line: k.c.line(), Alias: k.c.alias, Request: k.requests, End: k.end, Message: r.message, Why: why,
			Count: r.count(), order: k.c.order,
		})
	}
	return nil
}

// latest adds the reasons for what came since the last request: a report names the first findings of what it covers.
func (k *checker) latest(ctx context.Context, head string, reasons map[repair]string) error {
	if k.last == "" {
		return nil
	}
	a, err := k.Assemble(ctx, client.ByID(head), client.Query{After: k.last})
	if err != nil {
		return err
	}
	for r, why := range k.flat.reasons(a.Report) {
		reasons[r] = why
	}
	return nil
}

// reasons are the repairs that a report tells of.
func (f *flatList) reasons(report *transcriptv1.Report) map[repair]string {
	reasons := map[repair]string{}
	for _, finding := range report.GetFindings() {
		r := repair{message: f.starts[finding.GetNodeId()] + int(finding.GetMessageIndex())}
		switch finding.GetKind() {
		case transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL:
			r.stubs = int(finding.GetCount())
		case transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_RESULT, transcriptv1.FindingKind_FINDING_KIND_LATE_RESULT,
			transcriptv1.FindingKind_FINDING_KIND_ORPHAN_RESULT:
		default:
			continue
		}
		reasons[r] = strings.ToLower(strings.TrimPrefix(finding.GetKind().String(), "FINDING_KIND_"))
	}
	return reasons
}
