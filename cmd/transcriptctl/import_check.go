package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// errUnexplained says that an effective view differs from the flat list otherwise than by what its report says.
var errUnexplained = errors.New("the effective view differs from the list in a way that its report does not explain")

// difference is a place where an effective view differs from the flat list of messages, as printed with --output json.
type difference struct {
	Place string `json:"place"`
	Alias string `json:"alias"`
	// Request counts the conversation's requests from 1: the first that differs so.
	Request int `json:"request"`
	// Message is the message in the list, from 0, that is left out, or before which results are added.
	Message int    `json:"message"`
	Why     string `json:"why"`
	Count   int    `json:"count"`
}

// check keeps the flat list beside the chain: it assembles before every assistant message, and compares.
func (i *importer) check(ctx context.Context, c *conversation, chain *chain) error {
	flat := &flatList{starts: map[string]int{}}
	told := map[string]bool{}
	n := 0
	for k, node := range chain.nodes {
		if k > 0 && node[0].GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
			n++
			found, err := i.compare(ctx, flat, chain.ids[k-1])
			if err != nil {
				return fmt.Errorf("%s, request %d: %w", c.place, n, err)
			}
			for _, d := range found {
				d.Place, d.Alias, d.Request = c.place, c.alias, n
				if key := fmt.Sprint(d.Message, d.Why); !told[key] {
					told[key] = true
					i.tally.differs(d)
				}
			}
			i.tally.checked(len(found) > 0)
		}
		flat.add(chain.ids[k], node)
	}
	return nil
}

// flatList is a conversation as a list of messages.
type flatList struct {
	messages [][]byte
	tools    []bool
	// starts has, by node, where its messages begin in the list.
	starts map[string]int
}

func (f *flatList) add(id string, node []*transcriptv1.Message) {
	f.starts[id] = len(f.messages)
	for _, m := range node {
		f.messages = append(f.messages, canonical.AppendMessage(nil, m))
		f.tools = append(f.tools, m.GetRole() == transcriptv1.Role_ROLE_TOOL)
	}
}

// compare compares the effective view of a head with the list so far.
func (i *importer) compare(ctx context.Context, flat *flatList, head string) ([]difference, error) {
	a, err := i.Assemble(ctx, client.ByID(head), client.Query{})
	if err != nil {
		return nil, err
	}
	shown, err := a.Encoded()
	if err != nil {
		return nil, err
	}
	stubs, leftOut, ok := flat.differs(shown)
	var found []difference
	for _, f := range a.Report.GetFindings() {
		if d, repair := flat.difference(f); repair {
			found = append(found, d)
		}
	}
	if a.Report.GetMoreFindings() > 0 {
		found = append(found, difference{Message: len(flat.messages), Why: "more", Count: int(a.Report.GetMoreFindings())})
	}
	if !ok || int64(stubs+leftOut) != a.Report.GetRepairs() {
		return nil, errUnexplained
	}
	return found, nil
}

// differs counts the stubs that a view adds to the list and the results that it leaves out; ok is false where that is not
// all.
func (f *flatList) differs(shown [][]byte) (stubs, leftOut int, ok bool) {
	k := 0
	for _, m := range shown {
		for k < len(f.messages) && !bytes.Equal(m, f.messages[k]) && f.tools[k] && !isStub(m) {
			k, leftOut = k+1, leftOut+1
		}
		switch {
		case k < len(f.messages) && bytes.Equal(m, f.messages[k]):
			k++
		case isStub(m):
			stubs++
		default:
			return stubs, leftOut, false
		}
	}
	for ; k < len(f.messages); k++ {
		if !f.tools[k] {
			return stubs, leftOut, false
		}
		leftOut++
	}
	return stubs, leftOut, true
}

func isStub(message []byte) bool {
	m, err := canonical.DecodePayload(message)
	return err == nil && len(m) == 1 && m[0].GetOrigin() == transcriptv1.Origin_ORIGIN_STUB
}

// difference is what a finding changes in the view; repair is false where it changes nothing.
func (f *flatList) difference(finding *transcriptv1.Finding) (d difference, repair bool) {
	switch finding.GetKind() {
	case transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_RESULT, transcriptv1.FindingKind_FINDING_KIND_LATE_RESULT,
		transcriptv1.FindingKind_FINDING_KIND_ORPHAN_RESULT, transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL:
	default:
		return d, false
	}
	why := strings.ToLower(strings.TrimPrefix(finding.GetKind().String(), "FINDING_KIND_"))
	return difference{
		Message: f.starts[finding.GetNodeId()] + int(finding.GetMessageIndex()), Why: why, Count: int(finding.GetCount()),
	}, true
}

// text is the difference for people.
func (d *difference) text() string {
	what := "left out"
	if d.Why == "unanswered_call" {
		what = "stand-ins for missing results before it"
	}
	return fmt.Sprintf("%s  %s  request %d  message %d: %s (%s)", d.Place, name(d.Alias), d.Request, d.Message, d.Why, what)
}
