package main

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// errBadReply: what the server sent is not what the contract says.
var errBadReply = fmt.Errorf("the server's reply is malformed: %w", client.ErrBadReply)

// remoteExitCode is the exit code for a call that failed, or for any other failure.
func remoteExitCode(err error) int {
	var remote *client.Error
	if errors.Is(err, client.ErrVerification) {
		return exitDamaged
	}
	if !errors.As(err, &remote) {
		return exitFailed
	}
	switch remote.Reason {
	case client.ErrOverloaded:
		return exitUnavailable
	case client.ErrNotAnAncestor, client.ErrNotInView, client.ErrAlreadyCovered:
		return exitUsage // another node is to be named
	case client.ErrOpenToolCalls:
		return exitConflict // the same call succeeds once the results are there
	default:
	}
	switch remote.Code {
	case codes.InvalidArgument:
		return exitUsage
	case codes.NotFound:
		return exitNotFound
	case codes.AlreadyExists, codes.Aborted:
		return exitConflict
	case codes.Unavailable, codes.DeadlineExceeded:
		return exitUnavailable
	case codes.DataLoss:
		return exitDamaged
	case codes.Unauthenticated, codes.PermissionDenied:
		return exitDenied
	default:
		return exitFailed
	}
}

// explainRemote says what the server refused and what to do next.
func explainRemote(err error) (text, hint string) {
	var remote *client.Error
	if errors.Is(err, client.ErrVerification) {
		return err.Error(), "What the server sent is not what was put: run 'transcriptctl verify', and look at the server's disk."
	}
	if !errors.As(err, &remote) {
		return err.Error(), ""
	}
	before, _, _ := strings.Cut(err.Error(), remote.Error())
	if remote.Code == codes.Unavailable && remote.Reason == 0 {
		before += "no answer from the server: "
	}
	message := remote.Message
	for _, v := range remote.Violations {
		message = strings.ReplaceAll(message, v.Field, flagOf(v.Field))
	}
	return before + message + particulars(remote), hintFor(remote)
}

// particulars are the fields, preconditions, holds or candidates that a refusal names, a line each.
func particulars(e *client.Error) string {
	var b strings.Builder
	for _, v := range e.Violations {
		if strings.Contains(e.Message, v.Rule) {
			continue // the server's message is the only violation
		}
		fmt.Fprintf(&b, "\n  %s: %s", flagOf(v.Field), v.Rule)
	}
	for _, q := range e.Quotas {
		fmt.Fprintf(&b, "\n  %s", q.Rule)
	}
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s %s", c.Field, pointsTo(&c))
	}
	if d := e.Deleted; d != nil {
		fmt.Fprintf(&b, "\n  it was deleted %s with revision %d, and pointed to %s", clock(d.GetDeletedAt()), d.GetRevision(), d.GetPreviousId())
	}
	if told := heldBy(e); told != "" {
		fmt.Fprintf(&b, "\n  %s", told)
	}
	for _, id := range e.Candidates {
		fmt.Fprintf(&b, "\n  %s", id)
	}
	return b.String()
}

// heldBy tells what a legal hold keeps, and on which prefix it is, as far as the server tells; empty where it tells neither.
func heldBy(e *client.Error) string {
	on := ""
	switch {
	case e.HoldPrefix == nil:
	case *e.HoldPrefix == "":
		on = "a legal hold on every alias"
	default:
		on = fmt.Sprintf("a legal hold on the prefix %q", *e.HoldPrefix)
	}
	switch {
	case e.HeldAlias == "" && on == "":
		return ""
	case e.HeldAlias == "":
		return "there is " + on
	case on == "":
		return fmt.Sprintf("the alias %q is held", e.HeldAlias)
	default:
		return fmt.Sprintf("the alias %q is held, by %s", e.HeldAlias, on)
	}
}

func pointsTo(c *client.Conflict) string {
	switch {
	case c.NodeID != "":
		return fmt.Sprintf("points to %s, revision %d", c.NodeID, c.Revision)
	case c.Revision > 0:
		return fmt.Sprintf("was deleted with revision %d", c.Revision)
	default:
		return "does not exist"
	}
}

// hintFor is what to do about a refusal; empty where its text says all.
func hintFor(e *client.Error) string {
	switch e.Reason {
	case client.ErrNodeNotFound, client.ErrAliasNotFound:
		return "See what is there with 'transcriptctl alias list'; is it another --namespace?"
	case client.ErrParentNotFound:
		return "Put the parent first, or leave out --parent to begin a chain; is it another --namespace?"
	case client.ErrAliasExists:
		return "Take another name, or say with --if-head which node it must point to."
	case client.ErrAliasMoved:
		return "See its present chain with 'transcriptctl log', decide again, and repeat with that node as --if-head, or with the revision as --if-revision."
	case client.ErrSettingsChanged:
		return "See the settings and their revision with 'transcriptctl stats', decide again, and repeat with that revision as --revision."
	case client.ErrAmbiguousPrefix:
		return "Give more digits."
	case client.ErrToolCallNotFound:
		return "Calls with their ids: 'transcriptctl replay', or 'transcriptctl loops REF --output json' for all of them."
	case client.ErrInvalidPattern:
		return "The syntax is RE2's (https://github.com/google/re2/wiki/Syntax). Leave out --regexp to find the text as it is."
	case client.ErrNotAnAncestor:
		return "See the nodes of the chain with 'transcriptctl log'."
	case client.ErrNotInView:
		return "Name as --before a message that the view shows, or see all with --view full."
	case client.ErrAlreadyCovered:
		return "Name a later node as --through: 'transcriptctl log' marks compactions and tells what they cover."
	case client.ErrOpenToolCalls:
		return "Put the results first, or name as --through a node before the calls; 'transcriptctl describe' lists them."
	case client.ErrCompactionTooLarge:
		return "Keep less, with --max-run-loops or --max-bytes, or name an earlier node as --through."
	case client.ErrUseStreamAssemble:
		return "Its messages are too large for one reply: see them with 'transcriptctl assemble --view full'."
	case client.ErrDiskFull:
		return "Make the server's disk larger, or remove other files from it, and repeat."
	case client.ErrTooManyFiles:
		return "Nothing was written. Raise the server's limit on open files or maps, which its log names, and repeat."
	case client.ErrNodeCorrupt:
		return "Run 'transcriptctl verify' to see what is damaged."
	case client.ErrStoreFailed:
		return "The server could not write to its disk: look at the disk, then restart the server."
	case client.ErrIdentityUnavailable:
		return "The server cannot tell callers apart until its file of principals, or the keys of JWTs, can be read; its log has the cause."
	case client.ErrAuditUnavailable:
		return "Nothing was changed. The server must be able to write its audit; its log has the cause."
	case client.ErrLegalHold:
		if e.HoldPrefix != nil {
			return "Who has the roles admin and operate lifts it with 'transcriptctl namespace set NAME --release PREFIX'."
		}
		return "'transcriptctl stats' lists the holds of a namespace. Who has the roles admin and operate lifts one with 'transcriptctl namespace set NAME --release PREFIX'."
	case client.ErrSharedRoot:
		return "Nothing was erased. Give --shared keep to leave such roots alone, or --shared erase to erase them for everybody who begins with the same words."
	case client.ErrQuotaExceeded:
		return "Who has the role operate sees quotas with 'transcriptctl stats'. Who has the roles admin and operate can raise them with 'transcriptctl namespace set'."
	case client.ErrRateLimited:
		return "Nothing was changed. Make fewer calls at once, or ask the server's operator for a higher rate."
	case client.ErrInternal:
		return "This is a fault of the server; its log has the cause."
	case client.ErrDeadlineExceeded:
		return "Give it longer with --timeout. If it was a write, it may have taken place: look before you repeat it."
	default:
	}
	switch e.Code {
	case codes.Unavailable:
		return "Is transcriptd running there? Start it with 'transcriptd', or name its address with --addr or TRANSCRIPTCTL_ADDR. " +
			"If it speaks TLS, give --tls, or --ca with the CA that signed its certificate, and --cert and --key where it asks for a client certificate."
	case codes.Unauthenticated:
		return "Give a token that is known there and has not expired, with --token-file or TRANSCRIPTCTL_TOKEN, or a client certificate with " +
			"--cert and --key; or name a context that has them, with --context."
	case codes.PermissionDenied:
		return "To read, a principal needs the role read on the --namespace; to write, append; for stats and verify, operate; for namespace set, admin and operate; for collect, admin; " +
			"for erase, erase, and read where it is given an alias; for alias delete --forget-history, append and erase; for namespace delete, admin and erase; for receipt, read; " +
			"for backup create, backup (with --all on *); for restore, read, append and admin on each namespace that is restored to, and erase where something was erased. " +
			"Is it another --namespace, --token-file or --context? Grants are in the server's file of principals."
	case codes.Unimplemented:
		return "Is that a transcriptd? Then it is older than this transcriptctl."
	default:
		return ""
	}
}
