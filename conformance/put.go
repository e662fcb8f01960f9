package conformance

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func putNodeChecks() []Check {
	return []Check{
		{ID: "put-node/created", Promise: "the first put of a node says created, further ones do not and give the same id", run: putCreated},
		{ID: "put-node/equal-roots-are-shared", Promise: "roots with equal messages are one node; a salt makes one of its own", run: sharedRoots},
		{ID: "put-node/repeat-is-harmless", Promise: "a repeat of a put with its alias on a condition writes no node, moves nothing, and succeeds", run: repeatPut},
		{ID: "put-node/repeat-undoes-nothing", Promise: "a repeat that comes late leaves aliases where others moved them since", run: latePut},
		{ID: "put-node/parent-by-alias", Promise: "a parent named by an alias is the node that it points to; conditioned on a head, that head", run: parentByAlias},
		{ID: "put-node/loser-learns-the-head", Promise: "of two writers of one conversation the second is told the winner's head, and its node is not written", run: loserLearns},
		{ID: "put-node/one-of-many-wins", Promise: "of many equal claims of an alias exactly one says changed, and of many different ones exactly one succeeds", run: oneWins},
		{ID: "put-node/parent-not-there", Promise: "a parent that is not there is PARENT_NOT_FOUND, by id and by alias", run: parentNotThere},
		{ID: "put-node/one-commit", Promise: "where an alias's condition fails, neither the node nor another alias of the call is written", run: oneCommit},
		{ID: "put-node/counters", Promise: "the reply counts the chain's nodes, messages, depth, run loops, bytes and tokens, in the full and the effective view", run: putCounters},
		{ID: "put-node/metadata-alone", Promise: "a node may have metadata and no messages", run: metadataAlone},
		{ID: "put-node/anything-said-is-stored", Promise: "results without calls, calls without results, an assistant first, empty messages are stored as they came", run: storedAsItCame},
		{ID: "put-node/spawned-from", Promise: "a link to a spawner is kept, may dangle, and is part of the id", run: spawnedFrom},
		{ID: "put-node/duplicate-alias", Promise: "one alias twice in a call is DUPLICATE_ALIAS", run: duplicateAlias},
	}
}

func putCreated(p *probe) {
	r := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}}
	first := p.put(r)
	is(p, "created of the first put", first.GetCreated(), true)
	second := p.put(r)
	is(p, "created of the second put", second.GetCreated(), false)
	is(p, "id of the second put", second.GetNodeId(), first.GetNodeId())
	child := p.put(&transcriptv1.PutNodeRequest{Parent: byID(first.GetNodeId()), Messages: r.Messages})
	p.holds(child.GetCreated() && child.GetNodeId() != first.GetNodeId(), "equal messages behind another parent to be another node")
}

func sharedRoots(p *probe) {
	prompt := text(transcriptv1.Role_ROLE_SYSTEM, p.text("prompt"))
	put := func(salt string) string {
		return p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{prompt}, Salt: []byte(salt)}).GetNodeId()
	}
	plain, salted := put(""), put("0123456789abcdef")
	is(p, "id of the same root", put(""), plain)
	p.holds(salted != plain, "another id with a salt")
	is(p, "id of the same root with the same salt", put("0123456789abcdef"), salted)
	p.holds(put("0123456789abcdeF") != salted, "another id with another salt")
}

// update sets an alias on a condition.
func update(name string, on *transcriptv1.AliasPrecondition) []*transcriptv1.AliasUpdate {
	return []*transcriptv1.AliasUpdate{{Name: name, Precondition: on}}
}

func absent() *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
}

func present() *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}}
}

func at(head string) *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: head}}
}

func revised(n int64) *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Revision: &n}
}

func repeatPut(p *probe) {
	name := p.name("chat")
	begin := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, absent())}
	first, again := p.put(begin), p.put(begin)
	p.repeated(first, again)
	appended := &transcriptv1.PutNodeRequest{
		Parent: byID(first.GetNodeId()), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, at(first.GetNodeId())),
	}
	second := p.put(appended)
	p.repeated(second, p.put(appended))
	byName := &transcriptv1.PutNodeRequest{
		Parent: byAlias(name), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, at(second.GetNodeId())),
	}
	third := p.put(byName)
	p.repeated(third, p.put(byName))
	is(p, "head of the alias", p.resolve(name).GetNodeId(), third.GetNodeId())
	is(p, "children of the first node", p.children(first.GetNodeId()), []string{second.GetNodeId()})
	is(p, "children of the second node", p.children(second.GetNodeId()), []string{third.GetNodeId()})
	is(p, "children of the third node", len(p.children(third.GetNodeId())), 0)
}

// repeated holds that a reply is that of a repeat.
func (p *probe) repeated(first, again *transcriptv1.PutNodeResponse) {
	is(p, "id of the repeat", again.GetNodeId(), first.GetNodeId())
	is(p, "created of the first call", first.GetCreated(), true)
	is(p, "created of the repeat", again.GetCreated(), false)
	is(p, "changed of the first call", first.GetAliases()[0].GetChanged(), true)
	is(p, "changed of the repeat", again.GetAliases()[0].GetChanged(), false)
	is(p, "revision of the repeat", again.GetAliases()[0].GetRevision(), first.GetAliases()[0].GetRevision())
}

func latePut(p *probe) {
	name, mark := p.name("chat"), p.name("mark")
	begin := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Aliases: []*transcriptv1.AliasUpdate{
		{Name: name, Precondition: absent()}, {Name: mark, Labels: &transcriptv1.Labels{Entries: map[string]string{"n": "1"}}},
	}}
	first := p.put(begin)
	other := p.node(first.GetNodeId(), p.user())
	p.point(mark, other)
	again := p.put(begin)
	is(p, "created of the repeat", again.GetCreated(), false)
	is(p, "alias that another writer moved, after the repeat", p.resolve(mark).GetNodeId(), other)
}

func parentByAlias(p *probe) {
	name := p.name("chat")
	root := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, nil)}).GetNodeId()
	child := p.put(&transcriptv1.PutNodeRequest{Parent: byAlias(name), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, nil)})
	is(p, "parent of a node appended to the alias", p.get(child.GetNodeId()).GetInfo().GetEnvelope().GetParentId(), root)
	is(p, "head of the alias", p.resolve(name).GetNodeId(), child.GetNodeId())
	is(p, "previous_id", child.GetAliases()[0].GetPreviousId(), root)
}

func loserLearns(p *probe) {
	name := p.name("chat")
	root := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, absent())}).GetNodeId()
	request := func() *transcriptv1.PutNodeRequest {
		return &transcriptv1.PutNodeRequest{Namespace: p.namespace, Parent: byID(root), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, at(root))}
	}
	winner := p.put(request()).GetNodeId()
	_, err := p.PutNode(p.ctx, request())
	p.refused(err, "ALIAS_MOVED")
	c := p.conflicts(err, 1)[0]
	is(p, "node_id of the conflict", c.GetNodeId(), winner)
	is(p, "field of the conflict", c.GetField(), "aliases[0]")
	is(p, "revision of the conflict", c.GetRevision(), p.resolve(name).GetRevision())
	is(p, "only_compacted of the conflict", c.GetOnlyCompacted(), false)
	is(p, "children of the head that both read", p.children(root), []string{winner})
}

// conflicts are those that an error tells.
func (p *probe) conflicts(err error, n int) []*transcriptv1.AliasConflict {
	d := detail[*transcriptv1.AliasConflicts](status.Convert(err))
	is(p, "conflicts told by the error", len(d.GetConflicts()), n)
	return d.GetConflicts()
}

// oneWins has eight callers claim a name.
func oneWins(p *probe) {
	const callers = 8
	claim := func(name string, message func(i int) *transcriptv1.Message) (changed, succeeded int, heads map[string]bool) {
		var mu sync.Mutex
		var all sync.WaitGroup
		heads = map[string]bool{}
		for i := range callers {
			m := message(i)
			all.Go(func() {
				reply, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: []*transcriptv1.Message{m}, Aliases: update(name, absent())})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					succeeded++
					if heads[reply.GetNodeId()] = true; reply.GetAliases()[0].GetChanged() {
						changed++
					}
				} else if d := detail[*transcriptv1.AliasConflicts](status.Convert(err)); len(d.GetConflicts()) == 1 {
					heads[d.GetConflicts()[0].GetNodeId()] = true
				}
			})
		}
		all.Wait()
		return changed, succeeded, heads
	}
	equal := p.user()
	changed, succeeded, _ := claim(p.name("equal"), func(int) *transcriptv1.Message { return equal })
	is(p, "equal claims that succeed", succeeded, callers)
	is(p, "equal claims that say changed", changed, 1)
	changed, succeeded, heads := claim(p.name("different"), func(i int) *transcriptv1.Message {
		return text(transcriptv1.Role_ROLE_USER, p.text(fmt.Sprint("claim ", i)))
	})
	is(p, "different claims that succeed", succeeded, 1)
	is(p, "different claims that say changed", changed, 1)
	is(p, "heads that winner and losers were told", len(heads), 1)
}

func parentNotThere(p *probe) {
	nowhere := "00000000000000000000000000000000000000000000000000000000000000ff"
	_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Parent: byID(nowhere), Messages: []*transcriptv1.Message{p.user()}})
	p.refused(err, "PARENT_NOT_FOUND", "parent")
	_, err = p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Parent: byAlias(p.name("none")), Messages: []*transcriptv1.Message{p.user()}})
	p.refused(err, "PARENT_NOT_FOUND", "parent")
}

func oneCommit(p *probe) {
	taken, free := p.name("taken"), p.name("free")
	root := p.node("", p.user())
	p.point(taken, root)
	message := p.user()
	_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{
		Namespace: p.namespace, Parent: byID(root), Messages: []*transcriptv1.Message{message},
		Aliases: []*transcriptv1.AliasUpdate{{Name: free}, {Name: taken, Precondition: absent()}},
	})
	p.refused(err, "ALIAS_EXISTS")
	is(p, "field of the conflict", p.conflicts(err, 1)[0].GetField(), "aliases[1]")
	p.gone(free)
	is(p, "children of the parent", len(p.children(root)), 0)
	is(p, "head of the alias", p.resolve(taken).GetNodeId(), root)
}

func putCounters(p *probe) {
	c := p.chain("s | u c1c2 r2 r9 o a | u a")
	last := p.put(&transcriptv1.PutNodeRequest{Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user()}})
	full, effective := last.GetCounters().GetFull(), last.GetCounters().GetEffective()
	is(p, "nodes", full.GetNodes(), 10)
	is(p, "messages of the full view", full.GetMessages(), 10)
	is(p, "messages of the effective view", effective.GetMessages(), 9)
	is(p, "depth", full.GetDepth(), 6)
	is(p, "run loops", full.GetRunLoops(), 3)
	reply := (&chain{p: p, ids: []string{last.GetNodeId()}}).view(&transcriptv1.AssembleRequest{})
	is(p, "bytes of the effective view", effective.GetBytes(), reply.GetReport().GetBytes())
	is(p, "bytes of the messages of the reply", reply.GetReport().GetBytes(), int64(payloadBytes(reply.GetMessages()...)))
	is(p, "tokens of the effective view", effective.GetTokens(), reply.GetReport().GetTokens())
	is(p, "tokens_estimated without notes", effective.GetTokensEstimated(), true)
}

func metadataAlone(p *probe) {
	root := p.node("", p.user())
	put := p.put(&transcriptv1.PutNodeRequest{Parent: byID(root), Metadata: []*transcriptv1.MetadataEntry{{Key: "k", Value: p.text("v")}}})
	n := p.get(put.GetNodeId())
	is(p, "messages", len(n.GetMessages()), 0)
	is(p, "entries of metadata", len(n.GetMetadata().GetEntries()), 1)
	is(p, "ancestors", n.GetAncestors(), 1)
}

func storedAsItCame(p *probe) {
	c := p.chain("a r1 c2 e u s r2 r2 e d c2 c2")
	p.sameMessages("full view", c.view(&transcriptv1.AssembleRequest{View: transcriptv1.View_VIEW_FULL}).GetMessages(), c.messages)
}

func spawnedFrom(p *probe) {
	message := p.user()
	spawner := p.chain("u c7").head()
	put := func(node string, call string) *transcriptv1.PutNodeResponse {
		return p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{message}, SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: node, ToolCallId: &call}})
	}
	dangling := "00000000000000000000000000000000000000000000000000000000000000fe"
	a, b := put(spawner, "7"), put(dangling, "7")
	p.holds(a.GetNodeId() != b.GetNodeId(), "another id with another spawner")
	link := p.get(a.GetNodeId()).GetInfo().GetEnvelope().GetSpawnedFrom()
	is(p, "spawned_from", link.GetNodeId(), spawner)
	is(p, "call of spawned_from", link.GetToolCallId(), "7")
}

func duplicateAlias(p *probe) {
	name := p.name("twice")
	_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{
		Namespace: p.namespace, Messages: []*transcriptv1.Message{p.user()}, Aliases: []*transcriptv1.AliasUpdate{{Name: name}, {Name: name}},
	})
	p.refused(err, "DUPLICATE_ALIAS")
	_, err = p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: []*transcriptv1.NewNode{
		{Messages: []*transcriptv1.Message{p.user()}, Aliases: []*transcriptv1.AliasUpdate{{Name: name}}},
		{Previous: true, Messages: []*transcriptv1.Message{p.user()}, Aliases: []*transcriptv1.AliasUpdate{{Name: name}}},
	}})
	p.refused(err, "DUPLICATE_ALIAS")
	p.gone(name)
}

func putNodesChecks() []Check {
	return []Check{
		{ID: "put-nodes/all-or-nothing", Promise: "where one node or alias of a call is refused, none of the call is written", run: allOrNothing},
		{ID: "put-nodes/previous", Promise: "previous makes the parent the node before in the request; refused on the first and beside a parent", run: previousNode},
		{ID: "put-nodes/alias-before-the-call", Promise: "an alias as parent is the node that it pointed to before the call", run: aliasBeforeTheCall},
		{ID: "put-nodes/repeat-is-harmless", Promise: "a repeat writes no node and says so of each", run: repeatPutNodes},
	}
}

func (p *probe) putNodes(nodes ...*transcriptv1.NewNode) []*transcriptv1.PutNodeResponse {
	reply, err := p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: nodes})
	p.ok(err, "PutNodes")
	is(p, "nodes of the reply", len(reply.GetNodes()), len(nodes))
	return reply.GetNodes()
}

func allOrNothing(p *probe) {
	root, taken, free := p.node("", p.user()), p.name("taken"), p.name("free")
	p.point(taken, root)
	good := func() *transcriptv1.NewNode {
		return &transcriptv1.NewNode{Parent: byID(root), Messages: []*transcriptv1.Message{p.user()}, Aliases: []*transcriptv1.AliasUpdate{{Name: free}}}
	}
	for reason, bad := range map[string]*transcriptv1.NewNode{
		"INVALID_FIELD":    {Previous: true, Messages: []*transcriptv1.Message{{}}},
		"PARENT_NOT_FOUND": {Parent: byAlias(p.name("none")), Messages: []*transcriptv1.Message{p.user()}},
		"ALIAS_EXISTS":     {Previous: true, Messages: []*transcriptv1.Message{p.user()}, Aliases: update(taken, absent())},
	} {
		_, err := p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: []*transcriptv1.NewNode{good(), bad}})
		p.refused(err, reason)
		p.gone(free)
		is(p, "children of the parent of nodes that were refused together", len(p.children(root)), 0)
	}
}

func previousNode(p *probe) {
	message := func() []*transcriptv1.Message { return []*transcriptv1.Message{p.user()} }
	made := p.putNodes(&transcriptv1.NewNode{Messages: message()}, &transcriptv1.NewNode{Previous: true, Messages: message()}, &transcriptv1.NewNode{Previous: true, Messages: message()})
	for i := 1; i < 3; i++ {
		is(p, "parent of a node with previous", p.get(made[i].GetNodeId()).GetInfo().GetEnvelope().GetParentId(), made[i-1].GetNodeId())
	}
	_, err := p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: []*transcriptv1.NewNode{{Previous: true, Messages: message()}}})
	p.refused(err, "INVALID_FIELD", "nodes[0].previous")
	_, err = p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: []*transcriptv1.NewNode{
		{Messages: message()}, {Previous: true, Parent: byID(made[0].GetNodeId()), Messages: message()},
	}})
	p.refused(err, "INVALID_FIELD", "nodes[1].previous")
}

func aliasBeforeTheCall(p *probe) {
	name, root := p.name("chat"), p.node("", p.user())
	p.point(name, root)
	made := p.putNodes(
		&transcriptv1.NewNode{Parent: byAlias(name), Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, at(root))},
		&transcriptv1.NewNode{Parent: byAlias(name), Messages: []*transcriptv1.Message{p.user()}},
	)
	is(p, "children of the node that the alias pointed to", p.children(root), []string{made[0].GetNodeId(), made[1].GetNodeId()})
	is(p, "head of the alias", p.resolve(name).GetNodeId(), made[0].GetNodeId())
}

func repeatPutNodes(p *probe) {
	name := p.name("chat")
	nodes := []*transcriptv1.NewNode{
		{Messages: []*transcriptv1.Message{p.user()}},
		{Previous: true, Messages: []*transcriptv1.Message{p.user()}, Aliases: update(name, absent())},
	}
	first, again := p.putNodes(nodes...), p.putNodes(nodes...)
	for i := range first {
		is(p, "id of the repeat", again[i].GetNodeId(), first[i].GetNodeId())
		is(p, "created of the repeat", again[i].GetCreated(), false)
	}
	p.repeated(first[1], again[1])
}
