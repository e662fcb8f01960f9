package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// point sets an alias to a node.
func (r *rig) point(name, id string, labels ...string) {
	r.Helper()
	m := &transcriptv1.AliasMove{Name: name, Target: byID(id)}
	if len(labels) > 0 {
		m.Labels = &transcriptv1.Labels{Entries: map[string]string{}}
		for i, l := range labels {
			m.Labels.Entries[fmt.Sprint(i)] = l
		}
	}
	must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{m}}))
}

func TestPagesOfAliases(t *testing.T) {
	r := newRig(t)
	id := r.put("", user("x"))
	var want []string
	for i := range 230 {
		name := fmt.Sprintf("chat/%03d", i)
		want = append(want, name)
		r.point(name, id)
	}
	r.point("other", id)
	prefix := &transcriptv1.ListAliasesRequest_Prefix{Prefix: "chat/"}
	folder := &transcriptv1.ListAliasesRequest_Folder{Folder: "chat"}
	for size, first := range map[int32]int{0: 100, 1: 1, 7: 7, 64: 64, 65: 65, 230: 230, 1_000_000: 230} {
		for _, folders := range []bool{false, true} {
			req := &transcriptv1.ListAliasesRequest{PageSize: size, Scope: prefix}
			if folders {
				req.Scope = folder
			}
			var got []string
			for pages := 0; ; pages++ {
				page := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), req))
				if pages == 0 {
					equal(r, "the first page's size", len(page.Aliases), first)
				}
				for _, a := range page.Aliases {
					got = append(got, a.Name)
				}
				if req.PageToken = page.NextPageToken; req.PageToken == "" {
					break
				}
			}
			if folders {
				slices.Sort(got) // the order of moves is the store's matter
			}
			equal(r, "the names", slices.Equal(got, want), true)
		}
	}
	all := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageSize: 1000}))
	equal(r, "the aliases without a scope", len(all.Aliases), 231)
	equal(r, "the last one", all.Aliases[230].Name, "other")
}

// TestOrdersOfAliases: each list has both orders, page after page, and a token is good for one of them.
func TestOrdersOfAliases(t *testing.T) {
	r, clock, _ := newClocked(t)
	id := r.put("", user("x"))
	for _, name := range []string{"chat/b", "chat/a/1", "top", "1/2/3/4/5/6/7/8/9", "chat/a/2/3", "chat"} {
		r.point(name, id)
		clock.pass(time.Second)
	}
	const unspecified, ascending, descending = transcriptv1.SortOrder_SORT_ORDER_UNSPECIFIED, transcriptv1.SortOrder_SORT_ORDER_ASCENDING,
		transcriptv1.SortOrder_SORT_ORDER_DESCENDING
	prefix := &transcriptv1.ListAliasesRequest_Prefix{Prefix: "chat/"}
	under := func(folder string) *transcriptv1.ListAliasesRequest {
		return &transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: folder}}
	}
	for _, c := range []struct {
		req  *transcriptv1.ListAliasesRequest
		own  transcriptv1.SortOrder
		want []string
	}{
		{&transcriptv1.ListAliasesRequest{}, ascending, []string{"1/2/3/4/5/6/7/8/9", "chat", "chat/a/1", "chat/a/2/3", "chat/b", "top"}},
		{&transcriptv1.ListAliasesRequest{Scope: prefix}, ascending, []string{"chat/a/1", "chat/a/2/3", "chat/b"}},
		{under("chat"), descending, []string{"chat/a/2/3", "chat/a/1", "chat/b"}},
		{under("chat/a"), descending, []string{"chat/a/2/3", "chat/a/1"}},
		{under("1/2/3/4/5/6/7"), descending, []string{"1/2/3/4/5/6/7/8/9"}},
		{under(""), descending, []string{"chat", "chat/a/2/3", "1/2/3/4/5/6/7/8/9", "top", "chat/a/1", "chat/b"}},
	} {
		for _, order := range []transcriptv1.SortOrder{unspecified, ascending, descending} {
			req := proto.CloneOf(c.req)
			req.Order, req.PageSize = order, 1
			var got []string
			for pages := 0; pages == 0 || req.PageToken != ""; pages++ {
				page := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), req))
				for _, a := range page.Aliases {
					got = append(got, a.Name)
				}
				if req.PageToken = page.NextPageToken; req.PageToken != "" && order != unspecified {
					other := proto.CloneOf(req)
					other.Order = ascending + descending - order
					_, err := r.ListAliases(r.ctx(), other)
					r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
				}
			}
			if order != unspecified && order != c.own {
				slices.Reverse(got)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v is %q, want %q", req, got, c.want)
			}
		}
	}
}

// TestPagesOfLargeAliases: labels are large, pages are not.
func TestPagesOfLargeAliases(t *testing.T) {
	r := newRig(t)
	id := r.put("", user("x"))
	labels := repeat(60, strings.Repeat("l", 4<<10))
	for i := range 40 {
		r.point(fmt.Sprint(i), id, labels...)
	}
	got, pages := 0, 1
	for token := ""; ; {
		page := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageSize: 1000, PageToken: token}))
		got += len(page.Aliases)
		if token = page.NextPageToken; token == "" {
			break
		}
		if pages++; pages == 40 {
			break
		}
	}
	equal(r, "the aliases", got, 40)
	equal(r, "that there were several pages, of several aliases", pages > 5 && pages < 20, true)
}

// TestTokensAreBound: a token is good for the list it came from and no other.
func TestTokensAreBound(t *testing.T) {
	r := newRig(t)
	a, b := r.put("", user("a")), r.put("", user("b"))
	for i := range 5 {
		r.put(a, user(fmt.Sprint(i)))
		r.put(b, user(fmt.Sprint(i)))
		r.point(fmt.Sprintf("f/%d", i), a)
		r.point("moved", []string{a, b}[i%2])
	}
	prefix := func(s string) *transcriptv1.ListAliasesRequest {
		return &transcriptv1.ListAliasesRequest{PageSize: 2, Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: s}}
	}
	aliases := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), prefix("f/"))).NextPageToken
	children := must[*transcriptv1.ListChildrenResponse](r)(r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(a), PageSize: 2})).NextPageToken
	history := must[*transcriptv1.ListAliasHistoryResponse](r)(r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "moved", PageSize: 2})).NextPageToken
	calls := map[string]func(token string) error{
		"aliases": func(token string) error {
			req := prefix("f/")
			req.PageToken = token
			_, err := r.ListAliases(r.ctx(), req)
			return err
		},
		"all aliases": func(token string) error {
			_, err := r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageToken: token})
			return err
		},
		"a folder": func(token string) error {
			_, err := r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageToken: token, Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: "f/"}})
			return err
		},
		"another namespace": func(token string) error {
			req := prefix("f/")
			req.PageToken, req.Namespace = token, "other"
			_, err := r.ListAliases(r.ctx(), req)
			return err
		},
		"children": func(token string) error {
			_, err := r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(a), PageToken: token})
			return err
		},
		"another's children": func(token string) error {
			_, err := r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(b), PageToken: token})
			return err
		},
		"history": func(token string) error {
			_, err := r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "moved", PageToken: token})
			return err
		},
		"another's history": func(token string) error {
			_, err := r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "f/1", PageToken: token})
			return err
		},
	}
	for owner, token := range map[string]string{"aliases": aliases, "children": children, "history": history} {
		if token == "" {
			t.Fatalf("no token of %s", owner)
		}
		for name, call := range calls {
			err := call(token)
			if name == owner {
				if err != nil {
					t.Errorf("the token of %s: %v", owner, err)
				}
				continue
			}
			r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
		}
		for i := range len(token) {
			forged := token[:i] + string(token[i]^1) + token[i+1:]
			r.fails(calls[owner](forged), codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
			if forged = token[:i] + "A"; forged == token {
				continue
			}
			r.fails(calls[owner](forged), codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
		}
	}
}

func TestChildren(t *testing.T) {
	r := newRig(t)
	top := r.put("", system("s"))
	r.point("top", top)
	var want []string
	for i := range 150 {
		want = append(want, r.put(top, user(fmt.Sprint(i)), assistant("a")))
	}
	for _, ref := range []*NodeRef{byID(top), byAlias("top")} {
		var got []string
		req := &transcriptv1.ListChildrenRequest{Node: ref, PageSize: 70}
		for pages := 0; ; pages++ {
			page := must[*transcriptv1.ListChildrenResponse](r)(r.ListChildren(r.ctx(), req))
			for _, c := range page.Children {
				got = append(got, c.NodeId)
				equal(r, "the roles", len(c.Roles), 2)
			}
			if ref.GetAlias() != "" {
				r.point("top", want[0]) // pages go on with the node that the first was of
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				equal(r, "the pages", pages, 2)
				break
			}
		}
		equal(r, "the children", slices.Equal(got, want), true)
	}
	exact := must[*transcriptv1.ListChildrenResponse](r)(r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(top), PageSize: 150}))
	equal(r, "the token of a page that holds all", exact.NextPageToken, "")
	none := must[*transcriptv1.ListChildrenResponse](r)(r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(want[0])}))
	equal(r, "a leaf's children", len(none.Children), 0)
}

func TestHistoryPages(t *testing.T) {
	r := newRig(t)
	a, b := r.put("", user("a")), r.put("", user("b"))
	for i := range 25 {
		r.point("x", []string{a, b}[i%2])
	}
	req := &transcriptv1.ListAliasHistoryRequest{Name: "x", PageSize: 10}
	var got []string
	for {
		page := must[*transcriptv1.ListAliasHistoryResponse](r)(r.ListAliasHistory(r.ctx(), req))
		for _, e := range page.Entries {
			got = append(got, e.NodeId)
		}
		r.point("x", []string{b, a}[len(got)/10%2]) // a move between pages shifts nothing
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			break
		}
	}
	equal(r, "the states", len(got), 25)
	for i, id := range got {
		equal(r, "a state", id, []string{a, b}[(24-i)%2])
	}
}

// TestAmbiguousPrefix searches for two nodes whose ids begin alike.
func TestAmbiguousPrefix(t *testing.T) {
	r := newRig(t)
	seen := map[string]string{}
	for from := 0; ; from += 1000 {
		req := &transcriptv1.PutNodesRequest{}
		for i := range 1000 {
			req.Nodes = append(req.Nodes, &transcriptv1.NewNode{Messages: []*Message{user(fmt.Sprint(from + i))}})
		}
		for _, n := range must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req)).Nodes {
			other := seen[n.NodeId[:6]]
			if seen[n.NodeId[:6]] = n.NodeId; other == "" {
				continue
			}
			_, err := r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(n.NodeId[:6])})
			f := r.fails(err, codes.InvalidArgument, "AMBIGUOUS_PREFIX", "")
			want := []string{n.NodeId, other}
			slices.Sort(want)
			equal(r, "the candidates", slices.Equal(f.candidates, want), true)
			one := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(n.NodeId[:12])}))
			equal(r, "the node of more digits", one.Info.NodeId, n.NodeId)
			return
		}
	}
}

func TestLargestNode(t *testing.T) {
	r := newRig(t)
	big := user(strings.Repeat("x", 2<<20))
	req := &PutNode{Messages: []*Message{big, user(strings.Repeat("y", 2<<20-132<<10))}}
	for i := range 24 {
		req.Metadata = append(req.Metadata, &transcriptv1.MetadataEntry{Key: fmt.Sprint(i), Value: strings.Repeat("z", 4<<10)})
	}
	id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id)}))
	r.sameMessages("the messages", n.Messages, req.Messages...)
	equal(r, "the metadata", len(n.Metadata.Entries), 24)
	frames, err := r.frames(&Assemble{Head: byID(id), NodeDetail: envelopes})
	if err != nil || len(frames) != 1 || proto.Size(frames[0]) > 4<<20 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	for i := range 100 {
		r.point(fmt.Sprint(i)+strings.Repeat("n", 500), id)
	}
	_, err = r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id)})
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	small := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id), OmitMessages: true}))
	equal(r, "the aliases", len(small.Aliases), 100)
	equal(r, "that there are more", small.HasMoreAliases, false)
	r.point("one more", id)
	cut := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id), OmitMessages: true}))
	equal(r, "the aliases of 101", len(cut.Aliases), 100)
	equal(r, "that there are more than 100", cut.HasMoreAliases, true)
}
