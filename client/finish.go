package client

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Outcome is how a run ended. It is the value of the metadata OutcomeKey of a node; the service refuses any other.
type Outcome string

// The outcomes.
const (
	// Replied: it was answered, by whatever means: a text, or a tool that sends one.
	Replied Outcome = "replied"
	// Stopped: its agent ended it on purpose, at a limit of steps or money say.
	Stopped Outcome = "stopped"
	// Failed: its agent could not go on.
	Failed Outcome = "failed"
	// Cancelled: somebody else ended it.
	Cancelled Outcome = "cancelled"
)

// OutcomeKey is the metadata key that holds an Outcome, for a node that AppendNode puts with notes or further metadata.
const OutcomeKey = canonical.OutcomeKey

// Finish ends the run with an outcome, and puts the last messages of it in the same commit; there may be none. Calls without a
// result are ended with it: views give each a stand-in, and a result that comes later changes nothing. Also for a run that
// Resume found dead, whoever began it. What is appended afterwards goes on with the run, and takes the outcome back; a user
// message begins the next one. Errors: those of Append; ErrInvalidField for another outcome.
func (t *Thread) Finish(ctx context.Context, outcome Outcome, messages ...*transcriptv1.Message) error {
	_, err := t.AppendNode(ctx, ended(outcome, messages))
	return err
}

// Reply is Finish with Replied, and in the same commit gives the reply the alias msg/REPLYID, by which later messages reply to it;
// ErrAliasExists where that is taken, unless by Sent in this run. Where the id is known only once the reply was sent, call Finish and
// then Sent.
func (t *Thread) Reply(ctx context.Context, replyID string, reply ...*transcriptv1.Message) error {
	if replyID == "" {
		return fault(ErrNoName, "")
	}
	alias := MessageAlias(replyID)
	node := ended(Replied, reply)
	if !t.follows(replyID) {
		node.Aliases = []AliasUpdate{{Name: alias, If: MustNotExist()}}
	}
	if _, err := t.AppendNode(ctx, node); err != nil {
		return err
	}
	t.remember(alias)
	return nil
}

// ended is the last node of a run.
func ended(outcome Outcome, messages []*transcriptv1.Message) Node {
	return Node{Messages: messages, Metadata: map[string]string{OutcomeKey: string(outcome)}}
}

// remember notes that what was assembled is the beginning of an alias's chain, for threads that go on from there.
func (t *Thread) remember(alias string) {
	t.mu.Lock()
	at := t.at
	t.mu.Unlock()
	t.c.cache.name(alias, at)
}
