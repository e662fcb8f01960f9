package client

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// refusedForAnAlias tells whether nothing was put since an alias is not where it should be.
func refusedForAnAlias(err error) bool {
	return errors.Is(err, ErrAliasMoved) || errors.Is(err, ErrAliasExists)
}

// onlyCompacted is where a thread's alias points to, if all that kept a node from being put is that the chain was
// compacted meanwhile; else empty.
func onlyCompacted(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Reason != ErrAliasMoved || len(e.Conflicts) != 1 {
		return ""
	}
	if c := e.Conflicts[0]; c.OnlyCompacted && c.Field == "aliases[0]" {
		return c.NodeID
	}
	return ""
}

// lost finds the node of a put that was refused for an alias, where an earlier attempt may have put it and others moved aliases
// since: in the thread's chain. If it is not there, refused stays the error. Where unsure, the attempt may be that of another call, which
// set no further aliases, or others: then those that never pointed to the node are set.
func (t *Thread) lost(ctx context.Context, node *Node, refused error, unsure bool) (*PutResult, error) {
	var e *Error
	if !errors.As(refused, &e) || !e.Retried && !unsure {
		return nil, refused
	}
	id, ok := identify(node.wire(), node.Parent.ref.GetNodeId())
	if !ok {
		return nil, refused
	}
	_, err := t.c.Assemble(ctx, ByAlias(t.alias), Query{View: transcriptv1.View_VIEW_FULL, After: id})
	if errors.Is(err, ErrNodeNotFound) || errors.Is(err, ErrNotAnAncestor) || errors.Is(err, ErrAliasNotFound) {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	res := &transcriptv1.PutNodeResponse{NodeId: id}
	for _, a := range node.Aliases {
		res.Aliases = append(res.Aliases, &transcriptv1.AliasResult{Name: a.Name})
	}
	if unsure {
		if err := t.c.setMissing(ctx, id, node.Aliases, len(t.aliases(Condition{})), res.Aliases); err != nil {
			return nil, err
		}
	}
	found, err := t.c.NodeInfo(ctx, ByID(id))
	if err != nil {
		return nil, err
	}
	res.Counters = found.Counters
	return &PutResult{PutNodeResponse: res, Retried: true}, nil
}

// setMissing sets those of the aliases from first on that never pointed to a node, all or nothing, and notes in results what changed.
// The error names them by their places among all.
func (c *Client) setMissing(ctx context.Context, id string, aliases []AliasUpdate, first int, results []*transcriptv1.AliasResult) error {
	var moves []AliasMove
	var places []int
	for i, a := range aliases[first:] {
		pointed, err := c.pointed(ctx, a.Name, id)
		if err != nil {
			return err
		}
		if !pointed {
			moves = append(moves, AliasMove{Name: a.Name, Target: ByID(id), If: a.If, Labels: a.Labels})
			places = append(places, first+i)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	set, err := c.SetAliases(ctx, moves...)
	if err != nil {
		return atPlaces(err, places)
	}
	if len(set) != len(moves) {
		return fault(ErrBadReply, "")
	}
	for i, result := range set {
		results[places[i]] = result
	}
	return nil
}

// pointed tells whether an alias points to a node, or did so in one of the states that the service keeps of it.
func (c *Client) pointed(ctx context.Context, name, id string) (bool, error) {
	for state, err := range c.History(ctx, name) {
		if err != nil {
			if errors.Is(err, ErrAliasNotFound) {
				err = nil
			}
			return false, err
		}
		if state.NodeId == id {
			return true, nil
		}
	}
	return false, nil
}

// atPlaces has an error name the aliases of a call, of which there is one for each of the places, by those.
func atPlaces(err error, places []int) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	field := func(i int) string { return fmt.Sprintf("aliases[%d]", i) }
	renamed := make(map[string]string, len(places))
	for i, place := range places {
		renamed[field(i)] = field(place)
	}
	for i := range e.Conflicts {
		e.Conflicts[i].Field = renamed[e.Conflicts[i].Field]
	}
	return err
}

// overtaken is the error of a writer whose very node another writer put first.
func overtaken(id string) error {
	return &Error{
		Code: codes.Aborted, Reason: ErrAliasMoved, Message: "another writer put the same first",
		Conflicts: []Conflict{{Field: "aliases[0]", NodeID: id}},
	}
}
