package client

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Ref names a node. The zero Ref names none: as a parent it makes a root.
type Ref struct{ ref *transcriptv1.NodeRef }

// ByID names a node by its id: 64 lower-case hex digits; for Client.Node a prefix of 6 digits or more.
func ByID(id string) Ref {
	return Ref{&transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}}
}

// MaxAliasBytes is the most bytes of an alias.
const MaxAliasBytes = 512

// ByAlias names the node that an alias points to: 1 to 512 bytes of UTF-8 without control characters.
func ByAlias(name string) Ref {
	return Ref{&transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}}
}

// NodeRef is the reference as requests have it; nil for the zero Ref.
func (r Ref) NodeRef() *transcriptv1.NodeRef { return r.ref }

// MessageAlias is the alias of a message: msg/ID, or where that is no valid alias, being over 512 bytes, not UTF-8 or with control
// characters, msg/sha256:HEX with the SHA-256 of the id in 64 lower-case hex digits. So it is, too, where ID begins with "sha256:",
// so that no two ids meet.
func MessageAlias(id string) string {
	alias := messagePrefix + id
	if len(alias) <= MaxAliasBytes && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl) && !strings.HasPrefix(id, hashedID) {
		return alias
	}
	digest := sha256.Sum256([]byte(id))
	return messagePrefix + hashedID + hex.EncodeToString(digest[:])
}

const (
	messagePrefix = "msg/"
	hashedID      = "sha256:"
)

// ChatAlias is the alias of a conversation: chat/NAME.
func ChatAlias(name string) string { return "chat/" + name }

// Condition is what must be true of an alias for a call to take place. The zero Condition is always met. Except on a
// delete, any condition without a revision is met too where the alias already points to the node that the call would set it to.
type Condition struct {
	condition *transcriptv1.AliasPrecondition
}

// MustNotExist is met where there is no such alias; else ErrAliasExists. Refused on a delete.
func MustNotExist() Condition {
	return Condition{&transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}}
}

// MustExist is met where there is such an alias; else ErrAliasNotFound.
func MustExist() Condition {
	return Condition{&transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}}}
}

// HeadIs is met where the alias points to that node; else ErrAliasMoved.
func HeadIs(id string) Condition {
	return Condition{&transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: id}}}
}

// RevisionIs is met where the alias has that revision, 1 or more, also where this was a deletion; else ErrAliasMoved. It is met too
// at the next revision where the alias is exactly as the call leaves it: that is a repeat. Of two callers who set the same from the
// same revision both succeed; AliasResult.revised is true for the one that changed it. Resolve and every result tell revisions.
func RevisionIs(revision int64) Condition {
	return Condition{&transcriptv1.AliasPrecondition{Revision: &revision}}
}

// HeadAt is HeadIs and RevisionIs: the alias points to that node since that revision, or a later change of labels. A node that is
// appended to the alias needs both for a repeat to be known.
func HeadAt(id string, revision int64) Condition {
	c := HeadIs(id)
	c.condition.Revision = &revision
	return c
}

// labels are an alias's labels on the wire: nil leaves them as they are, anything else replaces them.
func labels(l map[string]string) *transcriptv1.Labels {
	if l == nil {
		return nil
	}
	return &transcriptv1.Labels{Entries: l}
}
