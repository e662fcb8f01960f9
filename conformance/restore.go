package conformance

import (
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// archivedAlias is an alias that pointed to one node, then to none, then to another.
func (p *probe) idBytes(id string) []byte {
	b, err := hex.DecodeString(id)
	p.holds(err == nil && len(b) == 32, "an id of 64 hex digits")
	return b
}

func (p *probe) archivedAlias(name, first, last string) *transcriptv1.ArchiveAlias {
	at := func(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }
	return &transcriptv1.ArchiveAlias{Name: name, Revision: 9, Labels: map[string]string{"k": "v"}, States: []*transcriptv1.ArchiveAliasState{
		{Node: p.idBytes(first), Revision: 2, BeganAt: at(1000)}, {Revision: 4, BeganAt: at(2000)}, {Node: p.idBytes(last), Revision: 7, BeganAt: at(3000)},
	}}
}

func (p *probe) restore(aliases ...*transcriptv1.ArchiveAlias) (int64, error) {
	reply, err := p.admin.Restore(p.ctx, &transcriptv1.RestoreRequest{Namespace: p.namespace, Aliases: aliases})
	return reply.GetAliasesSet(), err
}

func restoreKeeps(p *probe) {
	first, last, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	a := p.archivedAlias(name, first, last)
	for again := range int64(2) {
		set, err := p.restore(a)
		p.ok(err, "Restore")
		is(p, "aliases set", set, 1-again)
	}
	reply, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: name})
	p.ok(err, "ResolveAlias")
	got := reply.GetAlias()
	is(p, "node", got.GetNodeId(), last)
	is(p, "revision", got.GetRevision(), 9)
	is(p, "label", got.GetLabels()["k"], "v")
	is(p, "time of the last move", got.GetMovedAt().AsTime(), a.States[2].BeganAt.AsTime())
	is(p, "revision after a move", p.point(name, first).GetRevision(), 10)
}

func restoreRefused(p *probe) {
	node, name := p.node("", p.user()), p.name("x")
	good := p.archivedAlias(p.name("y"), node, node)
	_, err := p.restore(good, p.archivedAlias(name, node, hex.EncodeToString(make([]byte, 32))))
	p.refused(err, "NODE_NOT_FOUND", "aliases[1].states")
	p.point(name, node)
	for range 9 {
		p.point(name, p.node("", p.user()))
	}
	_, err = p.restore(good, p.archivedAlias(name, node, node))
	p.refused(err, "ALIAS_MOVED")
	set, err := p.restore(good)
	p.ok(err, "Restore")
	is(p, "aliases set of what was refused", set, 1)
}
