package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

type bundleCreateCommand struct {
	Prefix    []aliasPrefix `completes:"alias" placeholder:"PREFIX" help:"Also the chains of all aliases that begin with this; may be repeated."`
	Known     []string      `completes:"ref" placeholder:"REF" help:"A node that the receiver has: it and its ancestors are left out. May be repeated."`
	Recipient []string      `placeholder:"RECIPIENT" help:"Encrypt the bundle to this recipient of age, as age1…; may be repeated."`
	File      string        `arg:"" name:"FILE" help:"The file to write, or - for standard output. It is FILE.part until it is complete, and its mode is 0600. What is there already is not written over."`
	Heads     []string      `arg:"" optional:"" name:"REF" completes:"ref" help:"The last node of a chain. An alias goes into the bundle, too."`
}

func (c *bundleCreateCommand) Help() string {
	return `Writes chains up to their roots, as the server has them when the command begins: nodes with messages, metadata, salt, notes and times, compactions with what they cover, and the aliases that were named, with their labels. The receiver can check all of it without a server: see bundle verify. The format is in docs/archive.md. Examples:

    transcriptctl bundle create trip.bundle chat/trip
    transcriptctl bundle create team.bundle --prefix chat/team-
    transcriptctl bundle create more.bundle chat/trip --known 3f9a1c2b
    transcriptctl bundle create - chat/trip --recipient age1… | ssh host 'cat > trip.bundle'`
}

// Run writes a bundle.
func (c *bundleCreateCommand) Run(ctx context.Context, s *session) (err error) {
	if len(c.Heads) == 0 && len(c.Prefix) == 0 {
		return usagef("name the chains of the bundle: REF or --prefix")
	}
	recipients, err := sealTo(c.Recipient)
	if err != nil {
		return err
	}
	b := &bundler{session: s, done: map[string]bool{}, known: map[string]bool{}, line: newProgress(s.notes)}
	defer b.line.clear()
	if err := b.find(ctx, c); err != nil {
		return err
	}
	out, end := io.Writer(s.out), func(bool) error { return nil }
	if c.File != "-" {
		f, err := newPartFile(c.File, "bundle", "a bundle or backup that was not finished: remove it, or name another FILE")
		if err != nil {
			return err
		}
		out, end = f, f.end
	}
	told, err := b.write(ctx, out, recipients)
	if err = errors.Join(err, end(err == nil)); err != nil || c.File == "-" {
		return err
	}
	b.line.clear()
	return told.print(s)
}

// bundler writes chains. Nodes of done are in the bundle, with all that is above them; those of known, and above them, are left out.
type bundler struct {
	*session
	w           *archive.Writer
	line        *progress
	heads       []string
	aliases     []*transcriptv1.AliasInfo
	knownIDs    []string
	done, known map[string]bool
}

// find finds what the command line names.
func (b *bundler) find(ctx context.Context, c *bundleCreateCommand) error {
	for _, text := range c.Known {
		id, err := b.id(ctx, text)
		if err != nil {
			return err
		}
		b.knownIDs, b.known[id] = append(b.knownIDs, id), true
	}
	for _, text := range c.Heads {
		if err := b.named(ctx, text); err != nil {
			return err
		}
	}
	for _, prefix := range c.Prefix {
		none := true
		for a, err := range b.Aliases(ctx, client.AliasesWithPrefix(string(prefix))) {
			if err != nil {
				return err
			}
			b.alias(a)
			none = false
		}
		if none {
			return inputf("no alias begins with %s", name(string(prefix)))
		}
	}
	return nil
}

// named takes a REF, with the alias that it is.
func (b *bundler) named(ctx context.Context, text string) error {
	ref, err := b.ref(ctx, text)
	if err != nil {
		return err
	}
	alias := ref.NodeRef().GetAlias()
	if alias == "" {
		n, err := b.NodeInfo(ctx, ref)
		b.head(n.GetInfo().GetNodeId())
		return err
	}
	reply, err := b.Resolve(ctx, alias)
	if err != nil {
		return err
	}
	b.alias(reply.GetAlias())
	return nil
}

func (b *bundler) alias(a *transcriptv1.AliasInfo) {
	if !slices.ContainsFunc(b.aliases, func(o *transcriptv1.AliasInfo) bool { return o.GetName() == a.GetName() }) {
		b.aliases = append(b.aliases, a)
		b.head(a.GetNodeId())
	}
}

func (b *bundler) head(id string) {
	if !slices.Contains(b.heads, id) {
		b.heads = append(b.heads, id)
	}
}

// write writes the bundle.
func (b *bundler) write(ctx context.Context, out io.Writer, recipients []age.Recipient) (_ *toldBundle, err error) {
	if len(recipients) > 0 {
		sealed, err := archive.Seal(out, recipients...)
		if err != nil {
			return nil, err
		}
		told, err := b.records(ctx, sealed)
		return told, errors.Join(err, sealed.Close())
	}
	return b.records(ctx, out)
}

func (b *bundler) records(ctx context.Context, out io.Writer) (*toldBundle, error) {
	header := &transcriptv1.ArchiveHeader{
		Kind: transcriptv1.ArchiveKind_ARCHIVE_KIND_BUNDLE, MadeBy: "transcriptctl " + buildVersion(), MadeAt: timestamppb.Now(),
		Heads: bytesOf(b.heads), Known: bytesOf(b.knownIDs),
	}
	var err error
	if b.w, err = archive.NewWriter(out, header); err != nil {
		return nil, err
	}
	if err := b.w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Namespace{
		Namespace: &transcriptv1.ArchiveNamespace{Name: b.namespace()},
	}}); err != nil {
		return nil, err
	}
	for _, head := range b.heads {
		if err := b.chain(ctx, head); err != nil {
			return nil, err
		}
	}
	for _, a := range b.aliases {
		if err := b.w.Write(aliasRecord(a)); err != nil {
			return nil, err
		}
	}
	aliases := []bundledAlias{}
	for _, a := range b.aliases {
		aliases = append(aliases, bundledAlias{a.GetName(), a.GetNodeId()})
	}
	digest, n, err := b.w.End(nil)
	return newToldBundle(digest, b.heads, b.knownIDs, n, aliases), err
}

func aliasRecord(a *transcriptv1.AliasInfo) *transcriptv1.ArchiveRecord {
	return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Alias{Alias: &transcriptv1.ArchiveAlias{
		Name: a.GetName(), Labels: a.GetLabels(), Revision: a.GetRevision(),
		States: []*transcriptv1.ArchiveAliasState{{Node: bytesOf([]string{a.GetNodeId()})[0], BeganAt: a.GetMovedAt(), Revision: a.GetRevision()}},
	}}}
}

const (
	// readNodes and readBytes are how much is read at once: whole nodes.
	readNodes, readBytes = 100, 4 << 20
)

// chain writes what of a chain is not there yet. The full view lists all nodes but compaction nodes, which their children name.
func (b *bundler) chain(ctx context.Context, head string) error {
	var some []string
	size := int64(0)
	flush := func() error {
		err := b.nodes(ctx, some)
		some, size = some[:0], 0
		return err
	}
	last := ""
	for frame, err := range b.Frames(ctx, client.ByID(head), client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}) {
		if err != nil {
			return err
		}
		for _, n := range frame.Nodes {
			switch id := n.GetNodeId(); {
			case id == last: // a large node has several frames
			case b.done[id] || b.known[id]:
				some, size = some[:0], 0 // what is above it is there, or is left out
			default:
				some, size = append(some, id), size+n.GetSizeBytes()
			}
			last = n.GetNodeId()
			if len(some) == readNodes || size >= readBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return b.nodes(ctx, []string{head})
}

// nodes reads nodes and writes those that are not there, behind what is above them.
func (b *bundler) nodes(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return b.done[id] || b.known[id] })
	found, err := b.read(ctx, ids)
	if err != nil {
		return err
	}
	for _, n := range found {
		above := []*transcriptv1.GetNodeResponse{n}
		for id := parentOf(n); id != "" && !b.done[id] && !b.known[id]; id = parentOf(above[len(above)-1]) {
			one, err := b.read(ctx, []string{id})
			if err != nil {
				return err
			}
			above = append(above, one...)
		}
		for _, n := range slices.Backward(above) {
			if err := b.node(n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bundler) read(ctx context.Context, ids []string) ([]*transcriptv1.GetNodeResponse, error) {
	found, err := b.Nodes(ctx, ids...)
	if err != nil {
		return nil, err
	}
	if len(found.Missing) > 0 {
		return nil, fmt.Errorf("node %s is not there any more", found.Missing[0])
	}
	return found.Nodes, nil
}

func parentOf(n *transcriptv1.GetNodeResponse) string { return n.GetInfo().GetEnvelope().GetParentId() }

// node writes a node.
func (b *bundler) node(n *transcriptv1.GetNodeResponse) error {
	id := n.GetInfo().GetNodeId()
	if b.done[id] {
		return nil
	}
	record, err := nodeRecord(n)
	if err != nil {
		return fmt.Errorf("node %s: %w", id, err)
	}
	b.done[id] = true
	b.line.show(count(int64(len(b.done)), "node"))
	return b.w.Write(&transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Node{Node: record}})
}

// nodeRecord is a node as it is in archives. What its id is not the hash of is an error.
func nodeRecord(n *transcriptv1.GetNodeResponse) (*transcriptv1.ArchivedNode, error) {
	info := n.GetInfo().GetEnvelope()
	metadata := n.GetMetadata().GetEntries()
	form := canonical.NewNode(n.GetMessages(), metadata, info.GetSalt())
	var from *canonical.SpawnedFrom
	if f := info.GetSpawnedFrom(); f != nil {
		var err error
		if from, err = canonical.ParseSpawnedFrom(f); err != nil {
			return nil, err
		}
	}
	envelope := form.Envelope(hashOf(info.GetParentId()), from)
	envelope.CoversThrough = hashOf(info.GetCoversThroughId())
	if n.GetErasure() != nil {
		digest := hashOf(info.GetPayloadDigest())
		if digest == nil {
			return nil, client.ErrVerification
		}
		envelope.PayloadDigest, envelope.MetadataDigest = *digest, hashOf(info.GetMetadataDigest())
	}
	if hex.EncodeToString(idOf(envelope)) != n.GetInfo().GetNodeId() {
		return nil, client.ErrVerification
	}
	return &transcriptv1.ArchivedNode{
		Envelope: canonical.AppendEnvelope(nil, envelope), Payload: form.Payload, Metadata: form.Metadata, Salt: info.GetSalt(),
		FirstPutAt: n.GetFirstPutAt(), Notes: n.GetInfo().GetNotes(), Copies: n.GetCopies(), Erasure: n.GetErasure(),
	}, nil
}

func idOf(e canonical.Envelope) []byte {
	id := canonical.NodeID(e)
	return id[:]
}

// hashOf is an id of 64 digits; nil for "".
func hashOf(id string) *[32]byte {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != 32 {
		return nil
	}
	return (*[32]byte)(b)
}

func bytesOf(ids []string) (out [][]byte) {
	for _, id := range ids {
		b, _ := hex.DecodeString(id) // the server's, which are verified
		out = append(out, b)
	}
	return out
}
