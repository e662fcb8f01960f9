package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// runsOf are the names and states of the aliases in a scope.
func runsOf(t *testing.T, c *client.Client, scope client.AliasScope, openOnly bool) (all []string) {
	t.Helper()
	for a, err := range c.AliasRuns(t.Context(), scope, openOnly) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(a.Name, " ", a.Loop.State))
		if since := time.Since(a.Now); since < 0 || since > time.Minute || a.Idle() > time.Minute {
			t.Errorf("the page was made %v ago, and the run idle for %v", since, a.Idle())
		}
	}
	return all
}

func TestAliasRuns(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	for name, messages := range map[string][]*transcriptv1.Message{
		"chat/asked": {client.User("q")}, "chat/answered": {client.User("q"), client.Assistant("a")}, "chat/new": {client.System("s")},
		"else": {client.User("q")},
	} {
		must(c.Put(ctx, client.Node{Messages: messages, Aliases: []client.AliasUpdate{{Name: name}}}))(t)
	}
	const open, closed, none = "RUN_LOOP_STATE_OPEN", "RUN_LOOP_STATE_CLOSED", "RUN_LOOP_STATE_UNSPECIFIED"
	for _, scope := range []client.AliasScope{client.AliasesWithPrefix("chat/"), client.AliasesUnder("chat")} {
		if got := fmt.Sprint(runsOf(t, c, scope, true)); got != "[chat/asked "+open+"]" {
			t.Errorf("the open runs are %s", got)
		}
		if got := runsOf(t, c, scope, false); len(got) != 3 {
			t.Errorf("the runs are %q", got)
		}
	}
	want := fmt.Sprint([]string{"chat/answered " + closed, "chat/asked " + open, "chat/new " + none, "else " + open})
	if got := fmt.Sprint(runsOf(t, c, client.AliasScope{}, false)); got != want {
		t.Errorf("the runs are %s", got)
	}
}
