package conformance

import (
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func adminChecks() []Check {
	return []Check{
		{ID: "server-info/identity", Promise: "ServerInfo tells a version, an engine and the store's id, twice the same", run: infoIdentity},
		{ID: "server-info/features", Promise: "features are names in order, each once", run: infoFeatures},
		{ID: "server-info/limits", Promise: "ServerInfo tells limits that are not below those of the first contract", run: infoLimits},
		{ID: "namespace-stats/empty-namespace", Promise: "a namespace never written to counts zeros", run: statsEmpty},
		{ID: "namespace-stats/counts", Promise: "what is put is counted: nodes, messages, aliases, roots, forks", last: true, run: statsCount},
		{ID: "backup/blocks", Promise: "the pieces of Backup are an archive: its blocks are proved by their digests, the last of which the last response tells", last: true, run: backupBlocks},
		{ID: "backup/counts", Promise: "Backup counts the nodes and aliases of the namespace", last: true, run: backupCounts},
		{ID: "backup/refused", Promise: "a cursor without a digest, of another store, and a namespace beside the whole store are refused", run: backupRefused},
		{ID: "restore/keeps", Promise: "an alias comes back with labels, revision and time; a repeat sets nothing; it goes on from its revision", run: restoreKeeps},
		{ID: "restore/refused", Promise: "an alias of a node that is not there is refused, and one that is there with a higher revision; none of the call is set", run: restoreRefused},
		{ID: "collect-garbage/keeps", Promise: "a collection deletes what nothing keeps, and counts it in a dry run; what an alias, an ancestor's place or the grace keeps stays", run: collectKeeps},
		{ID: "collect-garbage/forgets", Promise: "the history of a deleted alias keeps nodes, until forget_history deletes it, which may be repeated", run: collectForgets},
		{ID: "collect-garbage/gone", Promise: "what a collection deletes is not there for any call, is counted no more, and can be put again; what a dry run tells is what goes", run: collectGone},
		{ID: "collect-garbage/refused", Promise: "a grace that is negative, too long or of parts of a millisecond, a negative rate, another scope, a namespace beside the whole store, and to reclaim the space of less are refused", run: collectRefused},
		{ID: "erase/marks", Promise: "a marker stands for each message that is erased, what a dry run tells is what goes, and again nothing does", run: eraseMarks},
		{ID: "erase/finds", Promise: "nodes are selected by an entry of their metadata, and by an attribute of a message", run: eraseFinds},
		{ID: "erase/refused", Promise: "a root without a salt is refused, or kept, what is not there is told, and malformed fields are refused", run: eraseRefused},
		{ID: "get-receipts/signed", Promise: "each erased node has a receipt that the store's key has signed, and no other has one", run: receiptsSigned},
		{ID: "verify/refused", Promise: "a cursor that no report had, a namespace beside the whole store and a negative rate are refused", run: verifyRefused},
		{ID: "verify/clean-at-the-end", Promise: "Verify of the kit's namespaces finds no problem in all that the checks left", last: true, run: verifyClean},
		{ID: "verify/goes-on", Promise: "a call with the cursor of a report goes on there, and its numbers go on from the report's", last: true, run: verifyGoesOn},
		{ID: "verify/ends-with-done", Promise: "the last report, and no other, says done", last: true, run: verifyDone},
	}
}

func (p *probe) serverInfo() *transcriptv1.ServerInfoResponse {
	r, err := p.ServerInfo(p.ctx, &transcriptv1.ServerInfoRequest{})
	p.ok(err, "ServerInfo")
	return r
}

func infoIdentity(p *probe) {
	r := p.serverInfo()
	id, err := hex.DecodeString(r.GetStoreId())
	p.holds(err == nil && len(id) == 16 && strings.ToLower(r.GetStoreId()) == r.GetStoreId(), "a store_id of 32 lower-case hex digits")
	p.holds(r.GetServerVersion() != "" && r.GetEngine() != "", "a version and an engine")
	p.same("the second answer", p.serverInfo(), r)
}

func infoFeatures(p *probe) {
	features := p.serverInfo().GetFeatures()
	p.holds(slices.IsSorted(features) && len(slices.Compact(slices.Clone(features))) == len(features), "features in order, each once")
	for _, name := range features {
		p.holds(strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && name != "", "a name of letters, digits and _")
	}
}

func infoLimits(p *probe) {
	l := p.serverInfo().GetLimits()
	for name, limit := range map[string][2]int32{
		"request_bytes": {l.GetRequestBytes(), 4 << 20}, "message_bytes": {l.GetMessageBytes(), 3 << 20},
		"payload_bytes": {l.GetPayloadBytes(), 4<<20 - 128<<10}, "messages_per_node": {l.GetMessagesPerNode(), 1000},
		"nodes_per_request": {l.GetNodesPerRequest(), 1000}, "aliases_per_request": {l.GetAliasesPerRequest(), 1000},
		"calls_per_message": {l.GetCallsPerMessage(), 256}, "metadata_entries": {l.GetMetadataEntries(), 64},
		"labels": {l.GetLabels(), 64}, "alias_bytes": {l.GetAliasBytes(), 512}, "page_size": {l.GetPageSize(), 1000},
	} {
		p.holds(limit[0] >= limit[1], "a %s of %d or more, got %d", name, limit[1], limit[0])
	}
}

func (p *probe) stats(namespace string) *transcriptv1.NamespaceStatsResponse {
	r, err := p.admin.NamespaceStats(p.ctx, &transcriptv1.NamespaceStatsRequest{Namespace: namespace})
	p.ok(err, "NamespaceStats")
	return r
}

func statsEmpty(p *probe) {
	r := p.stats(p.other + "-never")
	is(p, "nodes, messages, aliases, roots and forks", []int64{r.GetNodes(), r.GetMessages(), r.GetAliases(), r.GetRoots(), r.GetForks()}, []int64{0, 0, 0, 0, 0})
}

func statsCount(p *probe) {
	before := p.stats(p.namespace)
	c := p.chain("u a u")
	p.node(c.ids[0], p.user())
	p.point(p.name("x"), c.head())
	after := p.stats(p.namespace)
	is(p, "nodes", after.GetNodes()-before.GetNodes(), 4)
	is(p, "messages", after.GetMessages()-before.GetMessages(), 4)
	is(p, "aliases", after.GetAliases()-before.GetAliases(), 1)
	is(p, "roots", after.GetRoots()-before.GetRoots(), 1)
	is(p, "forks", after.GetForks()-before.GetForks(), 1)
}

// verify reads all reports of Verify of a namespace.
func (p *probe) verify(namespace string) []*transcriptv1.VerifyResponse {
	s, err := p.admin.Verify(p.ctx, &transcriptv1.VerifyRequest{Namespace: namespace})
	p.ok(err, "Verify")
	return readAll(p, s)
}

func readAll(p *probe, s grpc.ServerStreamingClient[transcriptv1.VerifyResponse]) []*transcriptv1.VerifyResponse {
	var all []*transcriptv1.VerifyResponse
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			p.holds(len(all) > 0, "a report of Verify, got none")
			return all
		}
		p.ok(err, "Verify")
		all = append(all, r)
	}
}

func verifyRefused(p *probe) {
	refused := func(req *transcriptv1.VerifyRequest, reason, field string) {
		s, err := p.admin.Verify(p.ctx, req)
		if err == nil {
			_, err = s.Recv()
		}
		p.refused(err, reason, field)
	}
	refused(&transcriptv1.VerifyRequest{Namespace: p.namespace, Cursor: "AQAAAAAAAAAAAA"}, "INVALID_PAGE_TOKEN", "cursor")
	refused(&transcriptv1.VerifyRequest{Namespace: p.namespace, Scope: transcriptv1.Scope_SCOPE_STORE}, "INVALID_FIELD", "namespace")
	refused(&transcriptv1.VerifyRequest{Namespace: p.namespace, MaxBytesPerSecond: -1}, "INVALID_FIELD", "max_bytes_per_second")
}

func verifyClean(p *probe) {
	p.node("", p.user())
	for _, namespace := range []string{p.namespace, p.other} {
		reports := p.verify(namespace)
		last := reports[len(reports)-1]
		is(p, "problems_found in "+namespace, last.GetProblemsFound(), 0)
		p.holds(namespace == p.other || last.GetNodesChecked() > 0, "nodes to be checked, got none")
	}
}

func verifyDone(p *probe) {
	reports := p.verify(p.namespace)
	for i, r := range reports {
		is(p, "done of a report", r.GetDone(), i == len(reports)-1)
	}
}

// verifyGoesOn ends a check after its first report, and goes on at its cursor.
func verifyGoesOn(p *probe) {
	p.node("", p.user())
	whole := p.verify(p.namespace)
	first := whole[0]
	s, err := p.admin.Verify(p.ctx, &transcriptv1.VerifyRequest{Namespace: p.namespace, Cursor: first.GetCursor()})
	p.ok(err, "Verify")
	rest := readAll(p, s)
	last := rest[len(rest)-1]
	is(p, "done of the last report", last.GetDone(), true)
	is(p, "problems_found", last.GetProblemsFound(), 0)
	is(p, "nodes_checked of both calls", last.GetNodesChecked(), whole[len(whole)-1].GetNodesChecked())
}
