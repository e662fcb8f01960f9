// Package verify is what the rpc Verify does beside the store: it judges bytes, and sends reports.
package verify

import (
	"errors"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

const (
	// maxProblems is how many problems a report lists, maxProblemsInAll how many all reports together do.
	maxProblems      = 100
	maxProblemsInAll = 10_000
)

// Reports is a Verify under way.
type Reports struct {
	out grpc.ServerStreamingServer[transcriptv1.VerifyResponse]
	// last is the state of the last report, without its problems.
	last   transcriptv1.VerifyResponse
	listed int
}

func New(out grpc.ServerStreamingServer[transcriptv1.VerifyResponse]) *Reports {
	return &Reports{out: out}
}

// Done sends the last report.
func (v *Reports) Done() error {
	v.last.Done = true
	return v.send(nil)
}

// Pass passes a report on, as several where it has many problems.
func (v *Reports) Pass(r chainstore.VerifyReport) error {
	v.last.Namespace, v.last.NamespacesChecked, v.last.FilesChecked = r.Namespace, r.Namespaces, r.Files
	v.last.NodesChecked, v.last.EntriesChecked = r.Nodes, r.Entries
	v.last.ProblemsFound += int64(len(r.Problems))
	problems := r.Problems[:min(len(r.Problems), maxProblemsInAll-v.listed)]
	v.listed += len(problems)
	for len(problems) > maxProblems {
		if err := v.send(problems[:maxProblems]); err != nil {
			return err
		}
		problems = problems[maxProblems:]
	}
	return v.send(problems)
}

func (v *Reports) send(problems []chainstore.Problem) error {
	m := &transcriptv1.VerifyResponse{
		Namespace: v.last.Namespace, NamespacesChecked: v.last.NamespacesChecked, FilesChecked: v.last.FilesChecked,
		NodesChecked: v.last.NodesChecked, EntriesChecked: v.last.EntriesChecked,
		ProblemsFound: v.last.ProblemsFound, Done: v.last.Done,
	}
	for _, p := range problems {
		problem := &transcriptv1.VerifyProblem{Problem: p.What, Namespace: p.Namespace}
		if p.HasNode {
			problem.NodeId = p.Node.String()
		}
		m.Problems = append(m.Problems, problem)
	}
	return reply.SendError(v.out.Context(), v.out.Send(m))
}

// Judge is the chainstore.Judge of what clients put: bytes that are not canonical, or break a rule, are no node's.
func Judge(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
	facts, err := canonical.CheckPayload(payload)
	if err != nil {
		return chainstore.Judgement{}, broken("messages", err)
	}
	entries, err := canonical.CheckMetadata(metadata)
	if err != nil {
		return chainstore.Judgement{}, broken("metadata", err)
	}
	envelope := canonical.Envelope{PayloadDigest: canonical.PayloadDigest(h.Salt, payload), Parent: (*[32]byte)(parent), CoversThrough: (*[32]byte)(covers)}
	if len(metadata) > 0 {
		digest := canonical.MetadataDigest(h.Salt, metadata)
		envelope.MetadataDigest = &digest
	}
	if from := h.SpawnedFrom; from != nil {
		envelope.SpawnedFrom = &canonical.SpawnedFrom{Node: from.Node, CallID: from.CallID}
	}
	return chainstore.Judgement{
		ID: canonical.NodeID(envelope), Messages: facts, Variables: canonical.Variables(entries),
	}, nil
}

// broken says in words, without content, what is wrong with stored bytes.
func broken(what string, err error) error {
	var field *canonical.FieldError
	if errors.As(err, &field) {
		return field
	}
	return errors.New("the " + what + " are not in canonical form")
}
