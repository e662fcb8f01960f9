package server

import (
	"sync"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/erasure"
	"github.com/transcriptd/transcriptd/server/internal/progress"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// MaxReference is the most bytes of the reference of an erasure.
const MaxReference = 128

// maxErased is how many nodes one call erases at most, beside their copies, and aliases of which it erases the labels.
const maxErased = 1_000_000

// Erase erases nodes, and tells how far it is.
func (a *admin) Erase(req *transcriptv1.EraseRequest, out grpc.ServerStreamingServer[transcriptv1.EraseResponse]) error {
	e, kind, err := a.parseErase(req)
	if err != nil {
		return err
	}
	place, err := a.verifies.enter(out.Context())
	if err != nil {
		return err
	}
	place.holds.Store(true) // no collection deletes meanwhile, and no namespace is
	leave := sync.OnceFunc(place.leave)
	defer leave()
	s := &eraseStream{out: sending[transcriptv1.EraseResponse]{out, place}, done: reply.Done{Selector: kind, DryRun: req.DryRun}}
	quiet := s.tellOn()
	defer quiet()
	holds := a.keeper.Erasing(e.Namespace, func(int) string { return kind })
	defer holds.End()
	e.Holds, e.Tell = holds, s.tell
	e.Erased = func() {
		holds.End()
		leave()
	}
	err = e.Run(out.Context())
	reply.CallOf(out.Context()).Tell(s.done)
	return err
}

// parseErase reads what to erase; kind is that of its selector.
func (a *admin) parseErase(req *transcriptv1.EraseRequest) (e *erasure.Erasure, kind string, err error) {
	e = &erasure.Erasure{
		Store: a.store, Namespace: wire.Namespace(req.Namespace), DryRun: req.DryRun, Roots: req.SharedRoots, Receipts: a.receipts, Reference: req.Reference,
		Wait: req.WaitForFiles, Most: maxErased,
	}
	if kind, err = selectorOf(e, req); err != nil {
		return nil, "", err
	}
	e.Field = kind
	switch {
	case transcriptv1.SharedRoots_name[int32(req.SharedRoots)] == "":
		return nil, "", wire.InvalidField("shared_roots", "must be SHARED_ROOTS_KEEP, SHARED_ROOTS_ERASE or unspecified")
	case len(req.Reference) > MaxReference:
		return nil, "", wire.OverLimit("reference", "must be at most %d bytes", MaxReference)
	case hasControl(req.Reference):
		return nil, "", wire.InvalidField("reference", "must not hold control characters")
	case req.DryRun && req.Reference != "":
		return nil, "", wire.InvalidField("reference", "must be empty with dry_run, which makes no receipts")
	case req.DryRun && req.WaitForFiles:
		return nil, "", wire.InvalidField("wait_for_files", "must be false with dry_run")
	}
	return e, kind, nil
}

func hasControl(s string) bool {
	for _, c := range s {
		if unicode.IsControl(c) {
			return true
		}
	}
	return false
}

// selectorOf reads the selector of a request.
func selectorOf(e *erasure.Erasure, req *transcriptv1.EraseRequest) (kind string, err error) {
	switch s := req.Selector.(type) {
	case *transcriptv1.EraseRequest_Nodes:
		e.IDs, err = parseIDs("nodes.ids", s.Nodes.GetIds())
		return "nodes", err
	case *transcriptv1.EraseRequest_AliasPrefix:
		e.Prefix = s.AliasPrefix
		return "alias_prefix", wire.CheckAlias("alias_prefix", s.AliasPrefix)
	case *transcriptv1.EraseRequest_Metadata:
		e.Metadata = s.Metadata
		return "metadata", checkEntry("metadata", s.Metadata, canonical.MaxMetadataKeyBytes, canonical.MaxMetadataValueBytes)
	case *transcriptv1.EraseRequest_Attribute:
		e.Attribute = s.Attribute
		return "attribute", checkEntry("attribute", s.Attribute, wire.MaxAttributeKeyBytes, wire.MaxAttributeValueBytes)
	default:
		return "", wire.ExactlyOne("nodes", "alias_prefix", "metadata", "attribute")
	}
}

// checkEntry refuses an entry that no node can have.
func checkEntry(field string, entry *transcriptv1.EntrySelector, key, value int) error {
	switch {
	case entry.GetKey() == "":
		return wire.InvalidField(field+".key", "must not be empty")
	case len(entry.GetKey()) > key:
		return wire.OverLimit(field+".key", "must be at most %d bytes", key)
	case len(entry.GetValue()) > value:
		return wire.OverLimit(field+".value", "must be at most %d bytes", value)
	}
	return nil
}

// eraseStream sends reports. What comes faster than tellEvery and lists nothing is not sent.
type eraseStream struct {
	mu  sync.Mutex
	out grpc.ServerStreamingServer[transcriptv1.EraseResponse]
	// newest is the last report, without its lists; sent says that it, or a later one, was sent since it was looked at last.
	newest *transcriptv1.EraseResponse
	sent   bool
	done   reply.Done
}

// tell takes a report.
func (s *eraseStream) tell(r *transcriptv1.EraseResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range r.Nodes {
		if !n.AlreadyErased && !s.done.DryRun {
			s.done.Add(n.NodeId)
		}
	}
	lists := len(r.Nodes)+len(r.Aliases)+len(r.SpawnedNodeIds) > 0
	news := lists || r.Done || s.newest == nil || s.newest.Phase != r.Phase
	s.newest = r
	if !news {
		return nil
	}
	s.sent = true
	err := s.out.Send(r)
	if lists {
		s.newest = proto.CloneOf(r)
		s.newest.Nodes, s.newest.Aliases, s.newest.SpawnedNodeIds = nil, nil, nil
	}
	return reply.SendError(s.out.Context(), err)
}

// tellOn sends the last report again while none is sent, until the function that it returns is called, which waits for it.
func (s *eraseStream) tellOn() (quiet func()) {
	return progress.Pulse(tellEvery, s.tellNow)
}

// tellNow sends the last report, unless another one was sent meanwhile, or is being sent.
func (s *eraseStream) tellNow() error {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if s.sent || s.newest == nil || s.newest.Done {
		s.sent = false
		return nil
	}
	return s.out.Send(s.newest)
}
