package client_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	inheritsUnsaid    = transcriptv1.Inheritance_INHERITANCE_UNSPECIFIED
	inheritsNothing   = transcriptv1.Inheritance_INHERITANCE_NONE
	inheritsArguments = transcriptv1.Inheritance_INHERITANCE_ARGUMENTS
	inheritsPrefix    = transcriptv1.Inheritance_INHERITANCE_PREFIX
)

// The ways in which a subagent begins, as Describe tells of them; what the parent sees of each is the result.
func TestSpawn(t *testing.T) {
	task := client.Call("call-9", "delegate", `{"task":"Count the words of the report."}`)
	sub := client.System("You count.")
	for name, test := range map[string]struct {
		spawn client.Spawn
		want  transcriptv1.Inheritance
		shows messages
	}{
		"unsaid": {
			client.Spawn{Messages: messages{sub, client.User("Count the words of the report.")}},
			inheritsUnsaid, messages{sub, client.User("Count the words of the report.")},
		},
		"nothing": {
			client.Spawn{Messages: messages{sub, client.User("Begin.")}, Inherit: client.InheritNone},
			inheritsNothing, messages{sub, client.User("Begin.")},
		},
		"the arguments": {
			client.Spawn{Messages: messages{sub, client.User("Count the words of the report.")}, Inherit: client.InheritArguments},
			inheritsArguments, messages{sub, client.User("Count the words of the report.")},
		},
		"all that was said": {
			client.Spawn{Messages: messages{client.User("You are the counter.")}, Inherit: client.InheritPrefix},
			inheritsPrefix, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, c := t.Context(), newLink(t).client(client.WithVerification())
			parent := begun(t, c)
			ok(t, parent.Append(ctx, client.Assistant("", task)))
			calling := parent.Head()
			spawn := test.spawn
			spawn.CallID, spawn.Alias = "call-9", "sub/call-9"
			spawn.Metadata = map[string]string{client.VariableKey("task"): `"count"`}
			child := must(parent.Spawn(ctx, spawn))(t)
			again := must(parent.Spawn(ctx, spawn))(t)
			if !child.New() || again.New() || again.Head() != child.Head() || child.Alias() != "sub/call-9" {
				t.Errorf("new %v, again %v; head %s, again %s", child.New(), again.New(), child.Head(), again.Head())
			}
			if test.shows != nil {
				shows(t, child, test.shows...)
			} else if got := must(child.Messages(ctx, nil))(t); len(got) != 5 || got[3].Origin != transcriptv1.Origin_ORIGIN_STUB {
				t.Errorf("it begins with %v", got)
			}

			v := must(c.Variables(ctx, client.ByAlias("sub/call-9"), "task"))(t)
			if len(v) != 1 || v[0].Preview != `"count"` || v[0].SetBy.NodeId != child.Head() {
				t.Errorf("it begins with the variables %v", v)
			}
			d := must(c.Describe(ctx, client.ByAlias("sub/call-9"), nil))(t).Lineage
			if d.Inheritance != test.want || d.SpawnDepth != 1 || d.SpawnedFrom.GetNodeId() != calling || d.SpawnedFrom.GetToolCallId() != "call-9" {
				t.Errorf("described as %v", d)
			}
			p := must(c.Describe(ctx, client.ByID(parent.Head()), nil))(t).Lineage
			if len(p.Spawned) != 1 || p.Spawned[0].NodeId != child.Head() {
				t.Errorf("the parent is described as %v", p)
			}

			ok(t, child.Append(ctx, asks))
			ok(t, child.AppendResults(ctx, result))
			ok(t, child.Append(ctx, client.Assistant("42 words.")))
			ok(t, parent.AppendResults(ctx, client.Result(task, "42 words.")))
			ok(t, parent.Append(ctx, answer))
			shows(t, parent, system, hello, client.Assistant("", task), client.Result(task, "42 words."), answer)
			_, err := parent.Spawn(ctx, spawn)
			fails(t, err, client.ErrAliasExists)
			shows(t, must(c.Open(ctx, "sub/call-9"))(t), must(child.Messages(ctx, nil))(t)...)
		})
	}
}

func TestSpawnFromNoCall(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	parent := begun(t, c)
	spawn := client.Spawn{CallID: "call-1", Alias: "sub", Messages: messages{hello}}
	_, err := parent.Spawn(ctx, spawn)
	fails(t, err, client.ErrToolCallNotFound)
	ok(t, parent.AppendResults(ctx, result)) // a result without its call is no call
	_, err = parent.Spawn(ctx, spawn)
	fails(t, err, client.ErrToolCallNotFound)
	ok(t, parent.Append(ctx, asks))
	_, err = parent.Spawn(ctx, client.Spawn{CallID: "call-1", Messages: messages{hello}})
	fails(t, err, client.ErrNoName)
	_, err = parent.Spawn(ctx, client.Spawn{CallID: "call-1", Alias: "sub"})
	fails(t, err, client.ErrInvalidField)
	_, err = parent.Spawn(ctx, client.Spawn{CallID: "call-1", Alias: "sub", Messages: messages{hello}, Inherit: "everything"})
	fails(t, err, client.ErrInvalidField)
	l.lost[putNode] = 2
	if child := must(parent.Spawn(ctx, spawn))(t); !child.New() {
		t.Error("not new, where only replies were lost")
	}
}
