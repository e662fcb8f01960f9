package server_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// collected runs a collection to its end.
func (r *rig) collected(req *transcriptv1.CollectGarbageRequest) (last *transcriptv1.CollectGarbageResponse, err error) {
	r.Helper()
	stream, err := r.admin.CollectGarbage(r.ctx(), req)
	if err != nil {
		return nil, err
	}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && last.GetDone():
			return last, nil
		case err != nil:
			return nil, err
		case last.GetDone():
			r.Error("a report comes behind the last one")
		}
		last = m
	}
}

// collects asserts how many nodes a collection without a grace deletes.
func (r *rig) collects(namespace string, nodes int64) {
	r.Helper()
	told := must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{Namespace: namespace, Grace: durationpb.New(0)}))
	equal(r, "the number of nodes deleted", told.Nodes, nodes)
	equal(r, "the progress at the end", told.Progress, 1)
	r.clean(namespace)
}

// TestCollectGarbage: what an alias keeps by its present or its past stays with its ancestors, the rest goes, each in its namespace alone.
func TestCollectGarbage(t *testing.T) {
	bothEngines(t, func(r *rig) {
		path := r.chain("chat", user("one"), assistant("two"), user("three"))
		fork := r.put(path[0], user("another"))
		lone := r.put("", user("alone"))
		must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: "other", Messages: []*Message{user("theirs")}}))

		counted := must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{DryRun: true, Grace: durationpb.New(0)}))
		equal(r, "the number of nodes that would go", counted.Nodes, 2)
		equal(r, "the number of messages that would go", counted.Messages, 2)
		if counted.MessageBytes == 0 {
			r.Error("their messages have no bytes")
		}
		stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
		equal(r, "the number of nodes behind a dry run", stats.Nodes, 5)
		kept := must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{}))
		equal(r, "the number of nodes that go within the grace of the server", kept.Nodes, 0)

		r.collects("", 2)
		for _, gone := range []string{fork, lone} {
			_, err := r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(gone)})
			r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "node")
		}
		for _, id := range path {
			must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id)}))
		}

		r.point("chat", path[0])
		r.collects("", 0) // its past keeps it
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "chat"}))
		r.collects("", 0) // so does that of a deleted alias
		forget := &transcriptv1.DeleteAliasRequest{Name: "chat", ForgetHistory: true}
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), forget))
		again := must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), forget))
		equal(r, "the revision of a forgotten name", again.Revision, 0)
		_, err := r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "chat"})
		r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "name")
		r.collects("", 3)

		all := must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{
			Scope: transcriptv1.Scope_SCOPE_STORE, Grace: durationpb.New(0), ReclaimSpace: true,
		}))
		if onDisk := must[*transcriptv1.ServerInfoResponse](r)(r.ServerInfo(r.ctx(), &transcriptv1.ServerInfoRequest{})).Engine == "badger"; onDisk != (all.FileBytes > 0) {
			r.Errorf("the files of the store have %d bytes", all.FileBytes)
		}
		equal(r, "the number of nodes of all namespaces that go", all.Nodes, 1)
		equal(r, "the number of namespaces", all.NamespacesCollected, 2)
		equal(r, "the namespace in progress at the end", all.Namespace, "")
	})
}

// TestForgetsManyAliases: DeleteAliases forgets what it deletes, and its token is of a deletion that does.
func TestForgetsManyAliases(t *testing.T) {
	bothEngines(t, func(r *rig) {
		for _, name := range []string{"tmp/1", "tmp/2", "chat"} {
			r.chain(name, user(name), assistant("yes"))
		}
		req := &transcriptv1.DeleteAliasesRequest{
			Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "tmp/"}, MovedBefore: wireTime(time.Now().Add(time.Hour).UnixMilli()), PageSize: 1, ForgetHistory: true,
		}
		req.PageToken = must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), req)).NextPageToken
		req.ForgetHistory = false
		_, err := r.DeleteAliases(r.ctx(), req)
		r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
		req.ForgetHistory = true
		must[*transcriptv1.DeleteAliasesResponse](r)(r.DeleteAliases(r.ctx(), req))
		r.collects("", 4)
	})
}

// TestCollectGarbageRefused: a bad field is named, and nothing goes.
func TestCollectGarbageRefused(t *testing.T) {
	bothEngines(t, func(r *rig) {
		r.put("", user("alone"))
		for field, req := range map[string]*transcriptv1.CollectGarbageRequest{
			"namespace":            {Scope: transcriptv1.Scope_SCOPE_STORE, Namespace: "x"},
			"scope":                {Scope: 7},
			"reclaim_space":        {ReclaimSpace: true},
			"reclaim_space ":       {Scope: transcriptv1.Scope_SCOPE_STORE, DryRun: true, ReclaimSpace: true},
			"max_nodes_per_second": {MaxNodesPerSecond: -1},
			"grace":                {Grace: durationpb.New(-time.Second)},
			"grace ":               {Grace: &durationpb.Duration{Seconds: 10*365*24*3600 + 1}},
			"grace  ":              {Grace: &durationpb.Duration{Seconds: 1 << 60}},
			"grace   ":             {Grace: &durationpb.Duration{Nanos: 1}},
			"grace    ":            {Grace: &durationpb.Duration{Seconds: 1, Nanos: -1000000}},
		} {
			_, err := r.collected(req)
			r.fails(err, codes.InvalidArgument, "INVALID_FIELD", strings.TrimSpace(field))
		}
		stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
		equal(r, "the number of nodes", stats.Nodes, 1)
	})
}
