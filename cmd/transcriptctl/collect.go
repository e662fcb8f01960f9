package main

import (
	"context"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type collectCommand struct {
	All          bool           `help:"Collect every namespace."`
	DryRun       bool           `xor:"sure" help:"Tell how much would be deleted."`
	Yes          bool           `xor:"sure" help:"Delete."`
	Grace        *time.Duration `placeholder:"DURATION" help:"Keep what was put, or put again, for this long and at most 12h more, whatever refers to it. 0s: its time keeps nothing, also of what an agent is about to set an alias on. Default: as the server is set, which is 24h without its --collect-grace."`
	ReclaimSpace bool           `help:"With --all and --yes: give space back behind it, so that the store's files take what they would had what was deleted never been there. Calls take longer meanwhile."`
	Rate         int64          `placeholder:"N" help:"Delete at most N nodes a second; 0: no bound, but a pause of three times as long as each commit took."`
}

func (c *collectCommand) Help() string {
	return `Kept are nodes that an alias points to, that 'alias history' of a name lists, that were put within the grace, and all their ancestors; what an agent names meanwhile, too. 'alias delete --forget-history' lets what a name keeps go. A collection that was cut, or interrupted to make a pause, goes on with the same command. Progress goes to standard error where that is a terminal. Examples:

    transcriptctl collect --dry-run
    transcriptctl collect --namespace team-a --yes
    transcriptctl collect --all --yes --rate 500 --reclaim-space
    transcriptctl collect --all --dry-run --grace 0s --output json`
}

// Run collects a namespace, or the whole store.
func (c *collectCommand) Run(ctx context.Context, s *session) error {
	switch {
	case c.All && s.namespaceGiven:
		return usagef("--all collects every namespace: leave out --namespace, and TRANSCRIPTCTL_NAMESPACE in the environment")
	case c.ReclaimSpace && (!c.All || c.DryRun):
		return usagef("--reclaim-space goes with --all and --yes")
	case !c.DryRun && !c.Yes:
		return usagef("this deletes nodes: see how much with --dry-run, then give --yes")
	}
	line := newProgress(s.notes)
	defer line.clear()
	for reply, err := range s.CollectGarbage(ctx, client.Collection{WholeStore: c.All, DryRun: c.DryRun, Grace: c.Grace, MaxNodesPerSecond: c.Rate, ReclaimSpace: c.ReclaimSpace}) {
		line.clear()
		if err != nil {
			return err
		}
		if reply.GetDone() {
			if s.json {
				return s.printReply(reply)
			}
			return s.printLine("%s", c.text(reply))
		}
		line.show(c.text(reply) + c.doing(reply))
	}
	return errBadReply
}

// text is what was deleted so far, or would be.
func (c *collectCommand) text(r *transcriptv1.CollectGarbageResponse) string {
	text := count(r.GetNodes(), "node") + " with " + count(r.GetMessages(), "message") + " of " + size(r.GetMessageBytes())
	if n := r.GetAliasStates(); n > 0 {
		text += " and " + count(n, "past state") + " of aliases"
	}
	if c.DryRun {
		text += " would be deleted"
	} else {
		text += " deleted"
	}
	if n := r.GetAliasesExpired(); n > 0 {
		text += ", aliases expired: " + decimal(n)
	}
	if c.All {
		text += ", " + count(r.GetNamespacesCollected(), "namespace") + " done"
	}
	if n := r.GetNamespacesHeld(); n > 0 {
		text += ", nothing in " + count(n, "namespace") + " with a legal hold"
	}
	if r.GetFileBytes() > 0 {
		text += "; of files of " + size(r.GetFileBytes()) + " " + size(r.GetDeadBytes()) + " can be given back"
	}
	return text
}

// doing is what it is at.
func (c *collectCommand) doing(r *transcriptv1.CollectGarbageResponse) (text string) {
	if c.All && r.GetNamespace() != "" {
		text = ", in " + r.GetNamespace()
	}
	switch r.GetPhase() {
	case transcriptv1.CollectPhase_COLLECT_PHASE_QUEUED:
		return text + ", waits for another collection"
	case transcriptv1.CollectPhase_COLLECT_PHASE_HELD:
		return text + ", waits for a backup or a check to end"
	case transcriptv1.CollectPhase_COLLECT_PHASE_RECLAIMING:
		return text + ", gives space back"
	default:
		return text + ", " + share(r.GetProgress()) + " looked at"
	}
}
