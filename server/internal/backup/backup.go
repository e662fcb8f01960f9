// Package backup writes what a store has, or what changed in it, as an archive.
package backup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Backup is one to write.
type Backup struct {
	Store chainstore.Store
	// Wanted are the namespaces, nil for all.
	Wanted func(namespace string) bool
	// Since is the end of the archive that this one goes on from; nil: it has everything.
	Since *transcriptv1.ArchiveEnd
	// SinceDigest is that archive's.
	SinceDigest archive.Digest
	MadeBy      string
	// Paced is called with the bytes of each page of nodes before they are written, and may wait.
	Paced func(ctx context.Context, bytes int) error
	// Wrote is told of how far it is.
	Wrote func(archive.Counts)
}

// pageBytes is about how much is read of nodes at a time.
const pageBytes = 1 << 20

// Write writes the archive. Nodes are read first, up to a point, in pages; then aliases, in one state of the store, to a spool; then the nodes
// that were put until that state, and the aliases behind them. So no read waits for whoever takes the archive.
func (b *Backup) Write(ctx context.Context, to io.Writer) (archive.Digest, archive.Counts, error) {
	after, err := b.after()
	if err != nil {
		return archive.Digest{}, archive.Counts{}, err
	}
	header := &transcriptv1.ArchiveHeader{
		Kind: transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP, StoreId: b.Store.Info().ID.String(), MadeBy: b.MadeBy, MadeAt: timestamppb.Now(),
	}
	if b.Since != nil {
		header.Since = b.SinceDigest[:]
	}
	w, err := archive.NewWriter(to, header, archive.Counts{})
	if err != nil {
		return archive.Digest{}, archive.Counts{}, err
	}
	r := &run{Backup: b, w: w}
	point, err := r.write(ctx, after)
	if err != nil {
		return archive.Digest{}, archive.Counts{}, err
	}
	return w.End(b.cursor(point))
}

// cursor is what a later backup goes on from: the store, and the point.
func (b *Backup) cursor(p chainstore.Point) []byte {
	id := b.Store.Info().ID
	return binary.BigEndian.AppendUint64(id[:], uint64(p))
}

func (b *Backup) after() (chainstore.Point, error) {
	if b.Since == nil {
		return 0, nil
	}
	id, cursor := b.Store.Info().ID, b.Since.GetCursor()
	if len(cursor) != len(id)+8 || [len(id)]byte(cursor) != id {
		return 0, wire.InvalidField("since_cursor", "must be of an archive of this store")
	}
	return chainstore.Point(binary.BigEndian.Uint64(cursor[len(id):])), nil
}

func (b *Backup) wants(namespace string) bool { return b.Wanted == nil || b.Wanted(namespace) }

// run is a backup under way.
type run struct {
	*Backup
	w *archive.Writer
}

func (r *run) write(ctx context.Context, after chainstore.Point) (chainstore.Point, error) {
	first, err := r.Store.Point(ctx)
	if err != nil {
		return 0, err
	}
	names, err := r.names(ctx)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := r.namespace(&transcriptv1.ArchiveNamespace{Name: name}); err != nil {
			return 0, err
		}
		if err := r.nodes(ctx, name, chainstore.ExportSpan{After: after, Through: first}); err != nil {
			return 0, err
		}
	}
	return r.rest(ctx, after, first)
}

func (r *run) names(ctx context.Context) (all []string, err error) {
	const limit = 1000
	for behind := ""; ; {
		page, err := r.Store.Namespaces(ctx, chainstore.NamespaceQuery{After: behind, Limit: limit})
		if err != nil {
			return nil, err
		}
		for _, name := range page {
			if behind = name; r.wants(name) {
				all = append(all, name)
			}
		}
		if len(page) < limit {
			return all, nil
		}
	}
}

// rest writes what was put meanwhile, and the aliases of one state: what they point to stands before them.
func (r *run) rest(ctx context.Context, after, first chainstore.Point) (_ chainstore.Point, err error) {
	spool, err := archive.NewSpool()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, spool.Close()) }()
	point, err := r.Store.ExportAliases(ctx, after, r.wants, chainstore.ExportYield{
		Namespace: func(n *chainstore.ExportedNamespace) error { return spool.Write(namespaceRecord(n)) },
		Alias:     func(a *chainstore.ExportedAlias) error { return spool.Write(aliasRecord(a)) },
	})
	if err != nil {
		return 0, err
	}
	return point, spool.Records(func(record *transcriptv1.ArchiveRecord) error {
		if err := r.w.Write(record); err != nil || record.GetNamespace() == nil {
			return err
		}
		return r.nodes(ctx, record.GetNamespace().GetName(), chainstore.ExportSpan{After: first, Through: point})
	})
}

func (r *run) namespace(n *transcriptv1.ArchiveNamespace) error {
	return r.w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: n}})
}

// nodes writes the nodes of a span.
func (r *run) nodes(ctx context.Context, namespace string, span chainstore.ExportSpan) error {
	for cursor := []byte(nil); ; {
		page, next, err := r.Store.ExportNodes(ctx, namespace, span, cursor, pageBytes)
		if err != nil {
			return err
		}
		size := 0
		for i := range page {
			size += page[i].Size()
		}
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
		if cursor = next; next == nil {
			return nil
		}
	}
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
		FirstPutAt: wire.Timestamp(h.FirstPut), Notes: wire.Notes(h.Messages, details), Copies: wire.Copies(h),
	}}}, nil
}

func namespaceRecord(n *chainstore.ExportedNamespace) *transcriptv1.ArchiveRecord {
	out := &transcriptv1.ArchiveNamespace{Name: n.Name, SettingsRevision: n.Settings.Revision, RevisionFloor: n.Floor}
	if n.Settings.Revision > 0 {
		out.Settings = &transcriptv1.NamespaceSettings{
			MaxNodes: n.Settings.MaxNodes, MaxMessageBytes: n.Settings.MaxMessageBytes, MaxAliases: n.Settings.MaxAliases,
		}
	}
	return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: out}}
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
