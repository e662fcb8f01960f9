package server_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type ListAliases = transcriptv1.ListAliasesRequest

const openLoop = transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN

// aliasProgram is a random tree, and aliases that are set to its nodes, moved and deleted.
type aliasProgram struct{ *program }

// growRun puts a node, with an outcome now and then, or compacts.
func (p *aliasProgram) growRun() {
	t := p.t
	if len(p.heads) > 0 && rapid.IntRange(0, 4).Draw(t, "compact") == 0 {
		p.compactAt(p.head())
		return
	}
	req := &PutNode{Namespace: p.namespace}
	if len(p.heads) > 0 {
		req.Parent = byID(p.head())
	}
	if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
		req.Metadata = metadata("run/end", rapid.SampledFrom([]string{"replied", "stopped", "failed", "cancelled"}).Draw(t, "outcome"))
	}
	least := 1
	if req.Metadata != nil {
		least = 0
	}
	for range rapid.IntRange(least, 3).Draw(t, "messages") {
		req.Messages = append(req.Messages, drawMessage(t))
		req.Notes = append(req.Notes, drawNote(t))
	}
	if rapid.IntRange(0, 4).Draw(t, "unanswered") == 0 {
		req.Messages = append(req.Messages, user("q"), calling("t", "1"), assistant("without its result"))
		req.Notes = append(req.Notes, drawNote(t), drawNote(t), drawNote(t))
	}
	p.heads = append(p.heads, must[*transcriptv1.PutNodeResponse](p.rig)(p.PutNode(p.ctx(), req)).NodeId)
}

// point sets, moves or deletes an alias.
func (p *aliasProgram) point() {
	name := rapid.SampledFrom([]string{"a", "f/a", "f/b", "f/c", "f/g/a", "g/a"}).Draw(p.t, "name")
	if rapid.IntRange(0, 3).Draw(p.t, "delete") == 0 {
		must[*transcriptv1.DeleteAliasResponse](p.rig)(p.DeleteAlias(p.ctx(), &transcriptv1.DeleteAliasRequest{Namespace: p.namespace, Name: name}))
		return
	}
	must[*transcriptv1.AliasResponse](p.rig)(p.Alias(p.ctx(), &transcriptv1.AliasRequest{
		Namespace: p.namespace, Aliases: []*transcriptv1.AliasMove{{Name: name, Target: byID(p.head())}},
	}))
}

// listed reads all pages of a list.
func (r *rig) listed(req *ListAliases) (all []*transcriptv1.AliasInfo) {
	r.Helper()
	for {
		page := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), req))
		equal(r, "that the page tells the time", page.Now != nil, req.IncludeLoops)
		all = append(all, page.Aliases...)
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return all
		}
	}
}

// checkLoop compares what a list tells of an alias's loop with what Describe does, and with when Describe finds it stale.
func (p *aliasProgram) checkLoop(a *transcriptv1.AliasInfo) {
	p.Helper()
	last := a.Loop.LastPutAt.AsTime()
	describe := func(after time.Duration) *transcriptv1.LoopStatus {
		return must[*transcriptv1.DescribeResponse](p.rig)(p.Describe(p.ctx(), &Describe{
			Namespace: p.namespace, Head: byAlias(a.Name), StaleAfter: durationpb.New(after), Now: timestamppb.New(last.Add(time.Second)),
		})).Loop
	}
	want := describe(time.Second - time.Millisecond)
	got := &transcriptv1.LoopStatus{State: a.Loop.State, Outcome: a.Loop.Outcome, LeadIn: a.Loop.LeadIn, StartedAt: a.Loop.StartedAt}
	equal(p.rig, "that it is stale a millisecond earlier", want.Stale, a.Loop.State == openLoop)
	equal(p.rig, "that it is stale", describe(time.Second).Stale, false)
	want = &transcriptv1.LoopStatus{State: want.State, Outcome: want.Outcome, LeadIn: want.LeadIn, StartedAt: want.StartedAt}
	if !proto.Equal(got, want) {
		p.Errorf("the loop of %s is %v, Describe has %v", a.Name, got, want)
	}
}

// checkList compares a list with loops, and one of open loops, with the list without, page by page. It counts the loops by state.
func (p *aliasProgram) checkList(scope func(*ListAliases), states map[transcriptv1.RunLoopState]int) {
	size := rapid.Int32Range(1, 4).Draw(p.t, "size")
	list := func(loops, open bool) []*transcriptv1.AliasInfo {
		req := &ListAliases{Namespace: p.namespace, PageSize: size, IncludeLoops: loops, OpenOnly: open}
		scope(req)
		return p.listed(req)
	}
	plain, told := list(false, false), list(true, false)
	var open []*transcriptv1.AliasInfo
	for _, a := range told {
		p.checkLoop(a)
		states[a.Loop.State]++
		if a.Loop.State == openLoop {
			open = append(open, a)
		}
	}
	same := func(what string, got, want []*transcriptv1.AliasInfo) {
		if !slices.EqualFunc(got, want, func(a, b *transcriptv1.AliasInfo) bool { return proto.Equal(a, b) }) {
			p.Errorf("%s are\n%v\nwant\n%v", what, got, want)
		}
	}
	same("the open ones", list(true, true), open)
	for i, a := range told {
		told[i] = proto.CloneOf(a)
		told[i].Loop = nil
	}
	same("the aliases, but for their loops,", told, plain)
}

// TestAliasLoops: what lists tell of the loops of random aliases on random chains is what Describe tells, in either order, in pages.
func TestAliasLoops(t *testing.T) {
	bothEngines(t, func(r *rig) {
		states := map[transcriptv1.RunLoopState]int{}
		n := 0
		rapid.Check(r.T, func(rt *rapid.T) {
			n++
			p := &aliasProgram{&program{viewModel: &viewModel{rig: r, namespace: fmt.Sprint("aliases-", n)}, t: rt}}
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				p.growRun()
				p.point()
			}
			prefix := rapid.SampledFrom([]string{"", "f/"}).Draw(rt, "prefix")
			p.checkList(func(q *ListAliases) { q.Scope = &transcriptv1.ListAliasesRequest_Prefix{Prefix: prefix} }, states)
			p.checkList(func(q *ListAliases) { q.Scope = &transcriptv1.ListAliasesRequest_Folder{Folder: "f"} }, states)
			if r.Failed() {
				rt.FailNow()
			}
		})
		if !testing.Short() && len(states) < 4 {
			r.Errorf("only these states were tried: %v", states)
		}
	})
}

// TestAliasLoopsRefused: what is asked for wrongly, and tokens of one list in another.
func TestAliasLoopsRefused(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		r.chain(fmt.Sprint("chat/", i), user(fmt.Sprint(i)))
	}
	_, err := r.ListAliases(r.ctx(), &ListAliases{OpenOnly: true})
	r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "open_only")
	page := func(open bool) string {
		return must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &ListAliases{PageSize: 1, IncludeLoops: true, OpenOnly: open})).NextPageToken
	}
	for _, open := range []bool{false, true} {
		_, err := r.ListAliases(r.ctx(), &ListAliases{PageSize: 1, IncludeLoops: true, OpenOnly: !open, PageToken: page(open)})
		r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
	}
	_, err = r.ListAliases(r.ctx(), &ListAliases{PageSize: 1, PageToken: page(false)})
	r.fails(err, codes.OK, "", "")
}
