package client_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// arguments are those of all verbs.
type arguments struct {
	Thread      string            `json:"thread"`
	From        string            `json:"from"`
	MessageID   string            `json:"message_id"`
	ReplyTo     string            `json:"reply_to"`
	ReplyID     string            `json:"reply_id"`
	Chat        string            `json:"chat"`
	Name        string            `json:"name"`
	Alias       string            `json:"alias"`
	CallID      *string           `json:"call_id"`
	Occurrence  int               `json:"occurrence"`
	Inherit     string            `json:"inherit"`
	Outcome     string            `json:"outcome"`
	System      []plain           `json:"system"`
	Messages    []plain           `json:"messages"`
	Message     plain             `json:"message"`
	Metadata    map[string]string `json:"metadata"`
	Summary     *string           `json:"summary"`
	SummaryOnly bool              `json:"summary_only"`
	Through     string            `json:"through"`
	DryRun      bool              `json:"dry_run"`
	Forget      bool              `json:"forget"`
	Bytes       int64             `json:"bytes"`
	Policy      json.RawMessage   `json:"policy"`
	Of          *plainRef         `json:"of"`
	View        string            `json:"view"`
	Condense    bool              `json:"condense_last"`
	After       string            `json:"after"`
	IfNoneMatch string            `json:"if_none_match"`
	Last        int32             `json:"last_messages"`
	Arguments   *string           `json:"arguments"`
	Prefix      *string           `json:"prefix"`
	Text        *string           `json:"text"`
	Regexp      *string           `json:"regexp"`
	If          plainCondition    `json:"if"`
	Node        plainNode         `json:"node"`
	Nodes       []plainNode       `json:"nodes"`
	Moves       []plainMove       `json:"moves"`
	Envelope    string            `json:"envelope"`
	Payload     string            `json:"payload"`
	Was         int32             `json:"message_bytes"`
	Receipt     string            `json:"receipt"`
}

// plainRef names a node.
type plainRef struct {
	ID    string `json:"id"`
	Alias string `json:"alias"`
}

func (r *plainRef) ref() client.Ref {
	switch {
	case r == nil:
		return client.Ref{}
	case r.Alias != "":
		return client.ByAlias(r.Alias)
	default:
		return client.ByID(r.ID)
	}
}

type plainCondition struct {
	MustNotExist bool   `json:"must_not_exist"`
	MustExist    bool   `json:"must_exist"`
	Head         string `json:"head"`
	Revision     int64  `json:"revision"`
}

func (c plainCondition) condition() client.Condition {
	switch {
	case c.MustNotExist:
		return client.MustNotExist()
	case c.MustExist:
		return client.MustExist()
	case c.Head != "" && c.Revision != 0:
		return client.HeadAt(c.Head, c.Revision)
	case c.Head != "":
		return client.HeadIs(c.Head)
	case c.Revision != 0:
		return client.RevisionIs(c.Revision)
	default:
		return client.Condition{}
	}
}

type plainNode struct {
	Parent   json.RawMessage   `json:"parent"`
	Messages []plain           `json:"messages"`
	Metadata map[string]string `json:"metadata"`
	Salt     string            `json:"salt"`
	Aliases  []plainMove       `json:"aliases"`
}

func (p *plainNode) node() (client.Node, error) {
	n := client.Node{Metadata: p.Metadata, Previous: string(p.Parent) == `"previous"`}
	var err error
	if n.Messages, err = toMessages(p.Messages); err != nil {
		return n, err
	}
	if len(p.Parent) > 0 && !n.Previous {
		parent := new(plainRef)
		if err := json.Unmarshal(p.Parent, parent); err != nil {
			return n, err
		}
		n.Parent = parent.ref()
	}
	if p.Salt != "" {
		if n.Salt, err = hex.DecodeString(p.Salt); err != nil {
			return n, err
		}
	}
	for _, a := range p.Aliases {
		n.Aliases = append(n.Aliases, client.AliasUpdate{Name: a.Name, If: a.If.condition(), Labels: a.Labels, Delete: a.Delete})
	}
	return n, nil
}

type plainMove struct {
	Name   string            `json:"name"`
	Target *plainRef         `json:"target"`
	If     plainCondition    `json:"if"`
	Labels map[string]string `json:"labels"`
	Delete bool              `json:"delete"`
}

// actor is a client in a scenario.
type actor struct {
	*play
	c *client.Client
}

// object is a result.
type object = map[string]any

// verb does a step.
type verb func(context.Context, *actor, *arguments) (any, error)

var verbs = map[string]verb{
	"start": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		system, err := toMessages(args.System)
		if err != nil {
			return nil, err
		}
		said, err := toMessages(args.Messages)
		if err != nil {
			return nil, err
		}
		return a.names(args.Thread)(a.c.Start(ctx, client.Turn{
			MessageID: args.MessageID, ReplyTo: args.ReplyTo, Chat: args.Chat, System: system, Messages: said,
		}))
	},
	"chat": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		system, err := toMessages(args.System)
		if err != nil {
			return nil, err
		}
		return a.names(args.Thread)(a.c.Chat(ctx, args.Name, system...))
	},
	"resume": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		return a.names(args.Thread)(a.c.Resume(ctx, args.MessageID))
	},
	"open": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		return a.names(args.Thread)(a.c.Open(ctx, args.Alias))
	},
	"fork": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		return a.names(args.Thread)(a.threads[args.From].Fork(ctx, args.Alias))
	},
	"spawn": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		said, err := toMessages(args.Messages)
		if err != nil {
			return nil, err
		}
		return a.names(args.Thread)(a.threads[args.From].Spawn(ctx, client.Spawn{
			CallID: *args.CallID, Alias: args.Alias, Messages: said, Inherit: client.Inheritance(args.Inherit),
		}))
	},
	"append": onThread(func(ctx context.Context, t *client.Thread, args *arguments, said messages) error {
		if args.Metadata == nil {
			return t.Append(ctx, said...)
		}
		_, err := t.AppendNode(ctx, client.Node{Messages: said, Metadata: args.Metadata})
		return err
	}),
	"append_results": onThread(func(ctx context.Context, t *client.Thread, _ *arguments, said messages) error {
		return t.AppendResults(ctx, said...)
	}),
	"reply": onThread(func(ctx context.Context, t *client.Thread, args *arguments, said messages) error {
		return t.Reply(ctx, args.ReplyID, said...)
	}),
	"finish": onThread(func(ctx context.Context, t *client.Thread, args *arguments, said messages) error {
		return t.Finish(ctx, client.Outcome(args.Outcome), said...)
	}),
	"sent": onThread(func(ctx context.Context, t *client.Thread, args *arguments, _ messages) error {
		return t.Sent(ctx, args.MessageID)
	}),
	"answer_unknown": onThread(func(ctx context.Context, t *client.Thread, _ *arguments, _ messages) error {
		return t.AnswerUnknown(ctx)
	}),
	"refresh": onThread(func(ctx context.Context, t *client.Thread, _ *arguments, _ messages) error { return t.Refresh(ctx) }),

	"compact": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		o, err := args.compaction()
		if err != nil {
			return nil, err
		}
		t := a.threads[args.Thread]
		res, err := t.Compact(ctx, o)
		return written(t, res), err
	},
	"compact_when": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		when := client.Trigger{Bytes: args.Bytes, Compaction: client.Compaction{SummaryOnly: args.SummaryOnly}}
		if args.Summary != nil {
			when.Summarize = func(context.Context, messages) (string, error) { return *args.Summary, nil }
		}
		t := a.threads[args.Thread]
		res, err := t.CompactWhen(ctx, when)
		return written(t, res), err
	},

	"messages": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		policy, err := toPolicy(args.Policy)
		if err != nil {
			return nil, err
		}
		all, err := a.threads[args.Thread].Messages(ctx, policy)
		return object{"messages": toPlain(all)}, err
	},
	"open_calls": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		calls, err := a.threads[args.Thread].OpenCalls(ctx)
		return object{"calls": plainCalls(calls)}, err
	},
	"reply_text": func(_ context.Context, a *actor, args *arguments) (any, error) {
		reply, err := args.Message.message()
		return object{"text": a.threads[args.Thread].ReplyText(reply)}, err
	},
	"assemble": assembled,
	"frames": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		view, err := toView(args.View)
		if err != nil {
			return nil, err
		}
		all := []plain{}
		for frame, err := range a.c.Frames(ctx, args.Of.ref(), client.Query{View: view}) {
			if err != nil {
				return nil, err
			}
			some, err := frame.Messages()
			if err != nil {
				return nil, err
			}
			all = append(all, toPlain(some)...)
		}
		return object{"messages": all}, nil
	},

	"put": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		n, err := args.Node.node()
		if err != nil {
			return nil, err
		}
		res, err := a.c.Put(ctx, n)
		if err != nil {
			return nil, err
		}
		return putResult(res), nil
	},
	"put_all": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		var nodes []client.Node
		for i := range args.Nodes {
			n, err := args.Nodes[i].node()
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		}
		all := []object{}
		results, err := a.c.PutAll(ctx, nodes...)
		for _, res := range results {
			all = append(all, putResult(res))
		}
		return object{"nodes": all}, err
	},
	"put_erased": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		envelope, bad := hex.DecodeString(args.Envelope)
		payload, err := hex.DecodeString(args.Payload)
		receipt, worse := hex.DecodeString(args.Receipt)
		if err = errors.Join(bad, err, worse); err != nil {
			return nil, err
		}
		put, err := a.c.PutArchived(ctx, &transcriptv1.ArchivedNode{
			Envelope: envelope, Payload: payload, Erasure: &transcriptv1.ArchivedErasure{MessageBytes: []int32{args.Was}, Receipt: receipt},
		})
		if err != nil {
			return nil, err
		}
		return object{"id": put[0].NodeId}, nil
	},
	"resolve": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		res, err := a.c.Resolve(ctx, args.Alias)
		if err != nil {
			return nil, err
		}
		labels := map[string]string{}
		for key, value := range res.Alias.Labels {
			labels[key] = value
		}
		return object{
			"head": res.Alias.NodeId, "revision": res.Alias.Revision, "labels": labels, "depth": res.Counters.GetFull().GetDepth(),
		}, nil
	},
	"set_aliases": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		var moves []client.AliasMove
		for _, m := range args.Moves {
			moves = append(moves, client.AliasMove{
				Name: m.Name, Target: m.Target.ref(), If: m.If.condition(), Labels: m.Labels, Delete: m.Delete,
			})
		}
		set, err := a.c.SetAliases(ctx, moves...)
		return object{"aliases": aliasResults(set)}, err
	},
	"delete_alias": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		deletes := a.c.DeleteAlias
		if args.Forget {
			deletes = a.c.ForgetAlias
		}
		previous, err := deletes(ctx, args.Alias, args.If.condition())
		return object{"previous": previous}, err
	},
	"aliases": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		return listed("names", a.c.Aliases(ctx, client.AliasesWithPrefix(*args.Prefix)), (*transcriptv1.AliasInfo).GetName)
	},

	"recall": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		res, err := a.c.Recall(ctx, args.Of.ref(), client.Recall{ID: *args.CallID, HasID: true, Occurrence: args.Occurrence})
		if err != nil {
			return nil, err
		}
		return object{
			"name": res.Call.GetName(), "arguments": res.Call.GetArguments(), "state": enumName(res.State, "TOOL_CALL_STATE_"),
			"text": client.Text(&transcriptv1.Message{Parts: res.Parts}), "earlier": res.EarlierOccurrences,
		}, nil
	},
	"tool": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		t := a.threads[args.Thread]
		tool := t.RecallTool()
		if args.Name == "search_history" {
			tool = t.SearchTool()
		}
		if tool.Name != args.Name {
			return nil, fmt.Errorf("no tool is called %q", args.Name)
		}
		if args.Arguments == nil {
			return object{"openai": tool.OpenAI(), "anthropic": tool.Anthropic()}, nil
		}
		text, err := tool.Call(ctx, *args.Arguments)
		return object{"text": places.ReplaceAllString(times.ReplaceAllString(text, "TIME"), "PLACE")}, err
	},
	"search": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		req := new(transcriptv1.SearchRequest)
		if req.Scope = (&transcriptv1.SearchRequest_Head{Head: args.Of.ref().NodeRef()}); args.Prefix != nil {
			req.Scope = &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: *args.Prefix}
		}
		if args.Text != nil {
			req.Pattern = &transcriptv1.SearchRequest_Text{Text: *args.Text}
		} else {
			req.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: *args.Regexp}
		}
		return listed("hits", a.c.Search(ctx, req), func(hit *transcriptv1.SearchHit) object {
			return object{"role": enumName(hit.Role, "ROLE_"), "tool": hit.GetToolName()}
		})
	},
	"run_loops": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		return listed("loops", a.c.RunLoops(ctx, args.Of.ref(), nil), func(l *transcriptv1.RunLoop) object {
			return object{
				"state": enumName(l.State, "RUN_LOOP_STATE_"), "outcome": enumName(l.Outcome, "RUN_OUTCOME_"),
				"messages": l.Messages, "unanswered": l.UnansweredCalls,
			}
		})
	},
	"replay": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		res, err := a.c.Replay(ctx, args.Of.ref(), nil)
		calls := []object{}
		for _, call := range res.GetCalls() {
			calls = append(calls, object{
				"id": call.GetId(), "name": call.GetName(), "state": enumName(call.State, "TOOL_CALL_STATE_"), "result": call.Result,
			})
		}
		return object{"calls": calls}, err
	},
	"describe": func(ctx context.Context, a *actor, args *arguments) (any, error) {
		res, err := a.c.Describe(ctx, args.Of.ref(), nil)
		if err != nil {
			return nil, err
		}
		pending, tools := []string{}, []string{}
		for _, call := range res.Loop.GetPending() {
			pending = append(pending, call.GetId())
		}
		for _, tool := range res.Tools {
			tools = append(tools, tool.GetName())
		}
		return object{
			"head": res.HeadId, "aliases": append([]string{}, res.Aliases...), "tools": tools, "pending": pending,
			"state": enumName(res.Loop.GetState(), "RUN_LOOP_STATE_"), "outcome": enumName(res.Loop.GetOutcome(), "RUN_OUTCOME_"),
		}, nil
	},
	"stats": func(ctx context.Context, a *actor, _ *arguments) (any, error) {
		res, err := a.c.Stats(ctx)
		return object{
			"nodes": res.GetNodes(), "messages": res.GetMessages(), "aliases": res.GetAliases(), "forks": res.GetForks(),
		}, err
	},
}

// times and places are what differs each time in the texts for a model.
var (
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)
	places = regexp.MustCompile(`[0-9a-f]{12}\.\d+`)
)

// assembled is the verb assemble.
func assembled(ctx context.Context, a *actor, args *arguments) (any, error) {
	policy, err := toPolicy(args.Policy)
	if err != nil {
		return nil, err
	}
	view, err := toView(args.View)
	if err != nil {
		return nil, err
	}
	res, err := a.c.Assemble(ctx, args.Of.ref(), client.Query{
		View: view, Policy: policy, CondenseLast: args.Condense,
		After: args.After, IfNoneMatch: args.IfNoneMatch, LastMessages: args.Last,
	})
	if err != nil {
		return nil, err
	}
	all, err := res.Messages()
	return object{
		"head": res.HeadID, "base": res.BaseID, "etag": res.Etag, "not_modified": res.NotModified,
		"more_before": res.MoreBefore, "messages": toPlain(all),
	}, err
}

// toView is the view of a name; none for no name.
func toView(name string) (transcriptv1.View, error) {
	view, known := transcriptv1.View_value["VIEW_"+strings.ToUpper(name)]
	if !known && name != "" {
		return 0, fmt.Errorf("no view is called %q", name)
	}
	return transcriptv1.View(view), nil
}

// names gives a new thread its name, and its state as the result.
func (a *actor) names(name string) func(*client.Thread, error) (any, error) {
	return func(t *client.Thread, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		a.threads[name] = t
		return threadState(t), nil
	}
}

// onThread is a verb of a thread that ends in its state.
func onThread(do func(context.Context, *client.Thread, *arguments, messages) error) verb {
	return func(ctx context.Context, a *actor, args *arguments) (any, error) {
		said, err := toMessages(args.Messages)
		if err != nil {
			return nil, err
		}
		t := a.threads[args.Thread]
		if t == nil {
			return nil, fmt.Errorf("no thread is called %q", args.Thread)
		}
		err = do(ctx, t, args, said)
		return threadState(t), err
	}
}

func threadState(t *client.Thread) object {
	return object{"head": t.Head(), "depth": t.Depth(), "alias": t.Alias(), "new": t.New()}
}

func written(t *client.Thread, res *transcriptv1.CompactResponse) object {
	state := threadState(t)
	state["written"] = res.GetWritten()
	return state
}

func (args *arguments) compaction() (client.Compaction, error) {
	o := client.Compaction{Through: args.Through, SummaryOnly: args.SummaryOnly, DryRun: args.DryRun}
	if args.Summary != nil {
		o.Summary = *args.Summary
	}
	var err error
	o.Policy, err = toPolicy(args.Policy)
	return o, err
}

func putResult(res *client.PutResult) object {
	return object{"id": res.NodeId, "created": res.Created, "retried": res.Retried, "aliases": aliasResults(res.Aliases)}
}

func aliasResults(all []*transcriptv1.AliasResult) []object {
	results := []object{}
	for _, r := range all {
		results = append(results, object{"name": r.Name, "changed": r.Changed, "revised": r.Revised, "revision": r.Revision})
	}
	return results
}

// listed is a result of all that a sequence yields.
func listed[T, R any](member string, all iter.Seq2[T, error], of func(T) R) (any, error) {
	list := []R{}
	for one, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, of(one))
	}
	return object{member: list}, nil
}

// enumName is the name of a value of an enumeration without the prefix.
func enumName(value fmt.Stringer, prefix string) string {
	return strings.TrimPrefix(value.String(), prefix)
}
