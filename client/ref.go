package client

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Ref names a node. The zero Ref names none: as a parent it makes a root.
type Ref struct{ ref *transcriptv1.NodeRef }

// ByID names a node by its id: 64 lower-case hex digits; for Client.Node a prefix of 6 digits or more.
func ByID(id string) Ref {
	return Ref{&transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}}
}

// ByAlias names the node that an alias points to: 1 to 512 bytes of UTF-8 without control characters.
func ByAlias(name string) Ref {
	return Ref{&transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}}
}

// NodeRef is the reference as requests have it; nil for the zero Ref.
func (r Ref) NodeRef() *transcriptv1.NodeRef { return r.ref }

// MessageAlias is the alias of a message: msg/ID.
func MessageAlias(id string) string { return "msg/" + id }

// ChatAlias is the alias of a conversation: chat/NAME.
func ChatAlias(name string) string { return "chat/" + name }

// Condition is what must be true of an alias for a call to take place. The zero Condition is always met. Except on a
// delete, any condition is met too where the alias already points to the node that the call would set it to.
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

// labels are an alias's labels on the wire: nil leaves them as they are, anything else replaces them.
func labels(l map[string]string) *transcriptv1.Labels {
	if l == nil {
		return nil
	}
	return &transcriptv1.Labels{Entries: l}
}
