// Package backup writes what a store has, or what changed in it, as an archive.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Backup is one to write.
type Backup struct {
	Store chainstore.Store
	// Scope is the namespace; empty for all.
	Scope string
	// Since is the cursor of the archive that this one goes on from, and SinceDigest its digest; empty: it has everything.
	Since       []byte
	SinceDigest archive.Digest
	// Continue is the cursor of the point of an archive that was cut, from which this one goes on, and ContinueDigest the digest of the block
	// that ends with it; empty: it begins by itself.
	Continue       []byte
	ContinueDigest archive.Digest
	MadeBy         string
	// PointBytes is about how many bytes of nodes stand between two points; 0 for the default.
	PointBytes int
	// Paced is called with the bytes of each page of nodes before they are written, and may wait.
	Paced func(ctx context.Context, bytes int) error
	// Wrote is told of how far it is.
	Wrote func(archive.Counts)
}

const (
	// pageBytes is about how much is read of nodes at a time.
	pageBytes = 1 << 20
	// pointBytes is PointBytes by default.
	pointBytes = 16 << 20
)

// Write writes the archive. Nodes are read first, up to a point, in pages; then aliases, in one state of the store, to a spool; then the nodes
// that were put until that state, and the aliases behind them. So no read waits for whoever takes the archive.
func (b *Backup) Write(ctx context.Context, to io.Writer) (archive.Digest, archive.Counts, error) {
	r := &run{Backup: b}
	release, err := b.Store.Hold(ctx) // what aliases point to is read behind them
	if err != nil {
		return archive.Digest{}, archive.Counts{}, err
	}
	defer release()
	if err = r.begin(ctx); err == nil {
		r.w, err = archive.NewWriter(to, r.header())
	}
	if err != nil {
		return archive.Digest{}, archive.Counts{}, err
	}
	end := place{}
	if end.after, err = r.write(ctx); err == nil {
		end.era, err = b.Store.Era(ctx, end.after)
	}
	if err != nil {
		return archive.Digest{}, archive.Counts{}, err
	}
	return r.w.End(end.append(b.Store.Info().ID, b.Scope))
}

func (b *Backup) wants(namespace string) bool { return b.Scope == "" || b.Scope == namespace }

// run is a backup under way.
type run struct {
	*Backup
	w *archive.Writer
	// from is where it begins, named are the namespaces that are there then, and last is the highest number that one had.
	from  place
	named []chainstore.NumberedNamespace
	last  int64
	// unpointed is the bytes of nodes behind the last point.
	unpointed int
}

// begin finds where it begins: a field error for a cursor that is none, or is of a state that the store does not have: it was put back to an
// earlier one since, and may have gone on from there.
func (r *run) begin(ctx context.Context) error {
	if err := r.Store.NoteEras(ctx); err != nil && !cannotWrite(err) {
		return err
	}
	now, err := r.Store.Point(ctx)
	if err != nil {
		return err
	}
	r.from.first = now
	id, field := r.Store.Info().ID, "since_cursor"
	switch {
	case len(r.Continue) > 0:
		field = "continue_cursor"
		r.from, err = parsePlace(field, r.Continue, cursorOfPoint, id, r.Scope)
	case len(r.Since) > 0:
		var end place
		end, err = parsePlace(field, r.Since, cursorOfEnd, id, r.Scope)
		r.from.after, r.from.era, r.from.since = end.after, end.era, &r.SinceDigest
	}
	if err == nil && (len(r.Continue) > 0 || len(r.Since) > 0) {
		of := r.from.after
		if r.from.cut {
			of = r.from.first
		}
		var era chainstore.Era
		switch era, err = r.Store.Era(ctx, of); {
		case err != nil || era == r.from.era:
		case era == chainstore.Era{}:
			return wire.InvalidField(field, unknownEra)
		default:
			return wire.InvalidField(field, putBack)
		}
	}
	if err == nil && (r.from.after > now || r.from.first > now || r.from.first < r.from.after) {
		return wire.InvalidField(field, putBack)
	}
	if err == nil && !r.from.cut {
		r.from.era, err = r.Store.Era(ctx, r.from.first)
	}
	if err == nil {
		r.named, r.last, err = r.Store.ExportNamespaces(ctx, r.wants)
	}
	return err
}

// putBack is the rule that a cursor breaks which is of another history than the store's.
const putBack = "must be of a state that the store had: it was put back to an earlier one since, so make a full backup"

// unknownEra is the rule that a cursor breaks of whose history the store knows nothing, or nothing any more.
const unknownEra = "must be of a state that the store knows to have had: it was opened too often since, its eras are damaged, or it was put back to " +
	"a state of before its first backup, so make a full backup"

// cannotWrite tells whether a store can be read, though nothing can be written: then a backup is worth more than its eras.
func cannotWrite(err error) bool {
	return errors.Is(err, chainstore.ErrDiskFull) || errors.Is(err, chainstore.ErrTooManyFiles) || errors.Is(err, chainstore.ErrFailed)
}

func (r *run) header() *transcriptv1.ArchiveHeader {
	h := &transcriptv1.ArchiveHeader{
		Kind: transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP, StoreId: r.Store.Info().ID.String(), MadeBy: r.MadeBy, MadeAt: timestamppb.Now(),
	}
	if r.Scope == "" {
		h.LastNamespace = r.last
	}
	if r.from.since != nil {
		h.Since = r.from.since[:]
	}
	if r.from.cut {
		h.Continues = r.ContinueDigest[:]
	}
	return h
}

func (r *run) write(ctx context.Context) (chainstore.Point, error) {
	at := r.from
	for _, n := range r.named {
		name := n.Name
		if name < r.from.namespace {
			continue
		}
		if at.namespace != name {
			at.namespace, at.behind = name, nil
		}
		if err := r.namespace(&transcriptv1.ArchiveNamespace{Name: name, Number: n.Number}); err != nil {
			return 0, err
		}
		if err := r.nodes(ctx, at, true); err != nil {
			return 0, err
		}
	}
	return r.rest(ctx)
}

// rest writes what was put meanwhile, and the aliases of one state: what they point to stands before them.
func (r *run) rest(ctx context.Context) (_ chainstore.Point, err error) {
	spool := &archive.Spool{}
	defer func() { err = errors.Join(err, spool.Close()) }()
	point, err := r.Store.ExportAliases(ctx, r.from.after, r.wants, chainstore.ExportYield{
		Namespace: func(n *chainstore.ExportedNamespace) error {
			record, err := namespaceRecord(n)
			if err != nil {
				return err
			}
			return spool.Write(record)
		},
		Alias: func(a *chainstore.ExportedAlias) error { return spool.Write(aliasRecord(a)) },
	})
	if err != nil {
		return 0, err
	}
	return point, spool.Records(func(record *transcriptv1.ArchiveRecord) error {
		if err := r.w.Write(record); err != nil || record.GetNamespace() == nil {
			return err
		}
		name := record.GetNamespace().GetName()
		if err := r.nodes(ctx, place{namespace: name, after: r.from.first, first: point}, false); err != nil {
			return err
		}
		return r.receipts(ctx, name, chainstore.ExportSpan{After: r.from.after, Through: point})
	})
}

// receipts writes those of nodes that were erased, and are not there.
func (r *run) receipts(ctx context.Context, namespace string, span chainstore.ExportSpan) error {
	for cursor := []byte(nil); ; {
		page, next, err := r.Store.ExportReceipts(ctx, namespace, span, cursor, pageBytes)
		if err != nil {
			return err
		}
		for i := range page {
			if err := r.w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Receipt{Receipt: page[i].Bytes}}); err != nil {
				return err
			}
		}
		if cursor = next; next == nil {
			return nil
		}
	}
}

func (r *run) namespace(n *transcriptv1.ArchiveNamespace) error {
	return r.w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: n}})
}

// nodes writes the nodes of a namespace from a place on, and, where told, points between them.
func (r *run) nodes(ctx context.Context, at place, points bool) error {
	at.cut, at.since = true, r.from.since
	for {
		page, next, err := r.Store.ExportNodes(ctx, at.namespace, chainstore.ExportSpan{After: at.after, Through: at.first}, at.behind, pageBytes)
		if errors.Is(err, chainstore.ErrBadCursor) {
			err = wire.InvalidField("continue_cursor", "must be that of an archive, as it is there")
		}
		if err != nil {
			return err
		}
		if err := r.page(ctx, page); err != nil || next == nil {
			return err
		}
		at.behind = next
		if points && r.unpointed >= cmp.Or(r.PointBytes, pointBytes) {
			r.unpointed = 0
			if err := r.w.Point(at.append(r.Store.Info().ID, r.Scope)); err != nil {
				return err
			}
		}
	}
}

// page writes a page of nodes.
func (r *run) page(ctx context.Context, page []chainstore.ExportedNode) error {
	size := 0
	for i := range page {
		size += page[i].Size()
	}
	r.unpointed += size
	if r.Paced != nil {
		if err := r.Paced(ctx, size); err != nil {
			return err
		}
	}
	for i := range page {
		record, err := nodeRecord(&page[i])
		if err == nil {
			err = r.w.Write(record)
		}
		if err != nil {
			return err
		}
	}
	if r.Wrote != nil {
		r.Wrote(r.w.Counts())
	}
	return nil
}

func nodeRecord(n *chainstore.ExportedNode) (*transcriptv1.ArchiveRecord, error) {
	h := n.Header
	envelope := canonical.Envelope{
		PayloadDigest: canonical.PayloadDigest(h.Salt, n.Payload), Parent: (*[32]byte)(n.Parent), CoversThrough: (*[32]byte)(n.Covers),
	}
	if len(n.Metadata) > 0 {
		digest := canonical.MetadataDigest(h.Salt, n.Metadata)
		envelope.MetadataDigest = &digest
	}
	if h.Erased != nil {
		envelope.PayloadDigest, envelope.MetadataDigest = h.Erased.PayloadDigest, (*[32]byte)(h.Erased.MetadataDigest)
	}
	if from := h.SpawnedFrom; from != nil {
		envelope.SpawnedFrom = &canonical.SpawnedFrom{Node: from.Node, CallID: from.CallID}
	}
	if chainstore.ID(canonical.NodeID(envelope)) != h.ID {
		return nil, fmt.Errorf("%w: node %v is not what its id is the hash of", chainstore.ErrCorrupt, h.ID)
	}
	details, err := chainstore.DecodeDetails(n.Details, len(h.Messages))
	if err != nil {
		return nil, err
	}
	return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Node{Node: &transcriptv1.ArchivedNode{
		Envelope: canonical.AppendEnvelope(nil, envelope), Payload: n.Payload, Metadata: n.Metadata, Salt: h.Salt,
		FirstPutAt: wire.Timestamp(h.FirstPut), Notes: wire.Notes(h.Messages, details), Copies: wire.Copies(h), Erasure: wire.Erasure(h, n.Receipt),
	}}}, nil
}

func namespaceRecord(n *chainstore.ExportedNamespace) (_ *transcriptv1.ArchiveRecord, err error) {
	out := &transcriptv1.ArchiveNamespace{Name: n.Name, Number: n.Number, SettingsRevision: n.Settings.Revision, RevisionFloor: n.Floor}
	if n.Settings.Revision > 0 {
		out.Settings, err = retention.Settings(&n.Settings.Settings)
	}
	return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: out}}, err
}

func aliasRecord(a *chainstore.ExportedAlias) *transcriptv1.ArchiveRecord {
	out := &transcriptv1.ArchiveAlias{Name: a.Name, Labels: a.Labels, Revision: a.Revision}
	for i := len(a.States) - 1; i >= 0; i-- {
		s := &a.States[i]
		state := &transcriptv1.ArchiveAliasState{BeganAt: wire.Timestamp(s.At), Revision: s.Revision}
		if !s.Deleted {
			state.Node = s.Node[:]
		}
		out.States = append(out.States, state)
	}
	return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Alias{Alias: out}}
}
