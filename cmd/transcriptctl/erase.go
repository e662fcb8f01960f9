package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type eraseCommand struct {
	Nodes       []string    `arg:"" optional:"" name:"NODE" completes:"alias" help:"The nodes: id, beginning of an id (6 digits or more), or alias, which is the node that it points to alone."`
	AliasPrefix aliasPrefix `xor:"by" completes:"alias" placeholder:"TEXT" help:"What aliases reach whose names begin so, and did in their histories, up to the roots; the labels of these aliases go, too. End the name of a folder with a slash."`
	Metadata    string      `xor:"by" placeholder:"KEY=VALUE" help:"The nodes whose metadata has this entry."`
	Attribute   string      `xor:"by" placeholder:"KEY=VALUE" help:"The nodes that have a message with this attribute in its note."`
	Shared      string      `enum:",keep,erase" default:"" placeholder:"keep|erase" help:"What becomes of roots without a salt, which every chain has that begins with the same words: keep them, or erase them for everybody. Without it a selection that has one is refused."`
	Reference   string      `placeholder:"TEXT" help:"Stays in the receipts for good, such as the number of a ticket: at most 128 bytes, and no personal data."`
	Wait        bool        `help:"Wait until the content has left the files of the store."`
	DryRun      bool        `xor:"sure" help:"Tell what would be erased, and who else reaches it."`
	Yes         bool        `xor:"sure" help:"Erase. It cannot be undone."`
}

func (c *eraseCommand) Help() string {
	return `Erases text, arguments, results, metadata, salt and notes of nodes, and their copies and summaries in compaction nodes. The nodes stay, with markers, so that chains are read on. Names stay: those of aliases, tools and variables. Backups that were made before are not touched. docs/operations.md#erasure has more. Progress goes to standard error where that is a terminal. An erasure that was cut goes on with the same command. Examples:

    transcriptctl erase --metadata subject=alice --dry-run
    transcriptctl erase --metadata subject=alice --reference T-1042 --wait --yes
    transcriptctl erase --alias-prefix chat/42/ --shared keep --yes
    transcriptctl erase 3f9a1c2b --dry-run --output json`
}

// Run erases nodes.
func (c *eraseCommand) Run(ctx context.Context, s *session) error {
	e, err := c.asked(ctx, s)
	if err != nil {
		return err
	}
	line := newProgress(s.notes)
	defer line.clear()
	p := erasePrinter{command: c, s: s, nodes: s.table(left("NODE").wide(idDigits), left("WHY").wide(len("selected")), right("MESSAGES"), right("SIZE").wide(8), left("WHAT"))}
	for reply, err := range s.Erase(ctx, e) {
		line.clear()
		if err != nil {
			return ofField("nodes.ids", c.Nodes, err)
		}
		if err := p.print(reply); err != nil || reply.GetDone() {
			return err
		}
		line.show(c.text(reply) + eraseDoing(reply))
	}
	return errBadReply
}

// asked is what the command line asks for.
func (c *eraseCommand) asked(ctx context.Context, s *session) (e client.Erasure, err error) {
	by := c.AliasPrefix != "" || c.Metadata != "" || c.Attribute != ""
	switch {
	case by == (len(c.Nodes) > 0):
		return e, usagef("give NODE, or one of --alias-prefix, --metadata and --attribute")
	case c.DryRun && (c.Reference != "" || c.Wait):
		return e, usagef("--reference and --wait go without --dry-run")
	case !c.DryRun && !c.Yes:
		return e, usagef("this erases for good: see what with --dry-run, then give --yes")
	}
	e = client.Erasure{AliasPrefix: string(c.AliasPrefix), DryRun: c.DryRun, Reference: c.Reference, WaitForFiles: c.Wait}
	switch c.Shared {
	case "keep":
		e.SharedRoots = transcriptv1.SharedRoots_SHARED_ROOTS_KEEP
	case "erase":
		e.SharedRoots = transcriptv1.SharedRoots_SHARED_ROOTS_ERASE
	}
	if e.Metadata, err = entryOf("--metadata", c.Metadata); err != nil {
		return e, err
	}
	if e.Attribute, err = entryOf("--attribute", c.Attribute); err != nil {
		return e, err
	}
	for _, text := range c.Nodes {
		id, err := erasable(ctx, s, text)
		if err != nil {
			return e, ofNode(text, err)
		}
		e.Nodes = append(e.Nodes, id)
	}
	return e, nil
}

// entryOf reads KEY=VALUE; nil for none.
func entryOf(flag, text string) (*transcriptv1.EntrySelector, error) {
	if text == "" {
		return nil, nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return nil, usagef("%s must be KEY=VALUE", flag)
	}
	return &transcriptv1.EntrySelector{Key: key, Value: value}, nil
}

// text is what was erased so far, or would be.
func (c *eraseCommand) text(r *transcriptv1.EraseResponse) string {
	text := count(r.GetNodesErased(), "node") + " with " + count(r.GetMessages(), "message") + " of " + size(r.GetMessageBytes())
	if c.DryRun {
		text += " would be erased"
	} else {
		text += " erased"
	}
	if n := r.GetCompactions(); n > 0 {
		text += ", " + count(n, "compaction node") + " of copies among them"
	}
	if n := r.GetAlreadyErased(); n > 0 {
		text += "; " + count(n, "node") + " erased before"
	}
	if n := r.GetSharedRootsKept(); n > 0 {
		text += "; " + count(n, "shared root") + " kept"
	}
	return text
}

// eraseDoing is what it is at.
func eraseDoing(r *transcriptv1.EraseResponse) string {
	switch r.GetPhase() {
	case transcriptv1.ErasePhase_ERASE_PHASE_SELECTING:
		return ", " + count(r.GetNodesLookedAt(), "node") + " looked at"
	case transcriptv1.ErasePhase_ERASE_PHASE_PURGING:
		return ", " + count(r.GetNodesInFiles(), "node") + " in files yet"
	default:
		return ""
	}
}

// erasePrinter prints what reports list.
type erasePrinter struct {
	command *eraseCommand
	s       *session
	nodes   *table
}

func (p *erasePrinter) print(r *transcriptv1.EraseResponse) error {
	if p.s.json {
		if len(r.GetNodes())+len(r.GetAliases())+len(r.GetSpawnedNodeIds()) == 0 && !r.GetDone() {
			return nil
		}
		return errors.Join(p.s.printReply(r), p.s.out.Flush())
	}
	for _, n := range r.GetNodes() {
		if err := p.nodes.row([]string{n.GetNodeId(), eraseCause(n), count(n.GetMessages(), "message"), size(n.GetMessageBytes()), eraseWhat(n)}); err != nil {
			return err
		}
	}
	for _, a := range r.GetAliases() {
		if err := p.s.printLine("%s", "reached by "+aliasReach(a)); err != nil {
			return err
		}
	}
	for _, id := range r.GetSpawnedNodeIds() {
		if err := p.s.printLine("spawned, and not erased: %s", id); err != nil {
			return err
		}
	}
	if !r.GetDone() {
		return p.s.out.Flush()
	}
	if r.GetMoreSpawned() {
		p.s.remark("there may be more chains that were spawned")
	}
	if r.GetNodesErased()+r.GetAlreadyErased()+r.GetSharedRootsKept() == 0 {
		p.s.remark("%s", p.command.nothing(p.s, r))
	}
	return p.s.printLine("%s", p.command.text(r))
}

// nothing says that nothing was selected.
func (c *eraseCommand) nothing(s *session, r *transcriptv1.EraseResponse) string {
	sought := "metadata " + c.Metadata
	switch {
	case c.AliasPrefix != "":
		sought = "an alias that begins with " + name(string(c.AliasPrefix))
	case c.Attribute != "":
		sought = "an attribute " + c.Attribute
	}
	text := fmt.Sprintf("nothing in namespace %s has %s that is not erased; %s looked at", s.namespace(), sought, count(r.GetNodesLookedAt(), "node"))
	if c.Wait {
		text += ". What was erased before may be in files yet: 'transcriptctl receipt show' tells, by ids"
	}
	return text
}

func eraseCause(n *transcriptv1.ErasedNode) string {
	if n.GetCause() == transcriptv1.EraseCause_ERASE_CAUSE_COPIES {
		return "copies"
	}
	return "selected"
}

// eraseWhat is what there is to know of a node before it is erased.
func eraseWhat(n *transcriptv1.ErasedNode) string {
	var words []string
	if n.GetAlreadyErased() {
		return "erased before"
	}
	if n.GetRoot() {
		words = append(words, "root")
	}
	if !n.GetSalted() {
		words = append(words, "without a salt")
	}
	if n.GetForked() {
		words = append(words, "forked")
	}
	return orDash(strings.Join(words, ", "))
}

// aliasReach is an alias, and how it reaches what would be erased.
func aliasReach(a *transcriptv1.ReachingAlias) string {
	text := name(a.GetName())
	switch {
	case a.GetDeleted():
		text += ", deleted, by its history"
	case a.GetPastOnly():
		text += " by its history"
	}
	return text
}
