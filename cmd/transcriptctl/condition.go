package main

import (
	"context"

	"github.com/transcriptd/transcriptd/client"
)

// conditionFlags say what must be true of the aliases that a command sets.
type conditionFlags struct {
	IfNew    bool   `xor:"condition" help:"Only if the alias does not exist yet."`
	IfExists bool   `xor:"condition" help:"Only if the alias exists."`
	IfHead   string `xor:"condition" placeholder:"REF" help:"Only if the alias points to this node."`
	revisionFlag
}

// revisionFlag is a condition that goes alone, or beside --if-head.
type revisionFlag struct {
	IfRevision *int64 `placeholder:"N" help:"Only if the alias has this revision, also where this was its deletion; alone or with --if-head."`
}

// given tells whether there is a condition.
func (f *conditionFlags) given() bool {
	return f.IfNew || f.IfExists || f.IfHead != "" || f.IfRevision != nil
}

// condition is what the flags say.
func (f *conditionFlags) condition(ctx context.Context, s *session) (client.Condition, error) {
	switch {
	case f.IfRevision != nil && (f.IfNew || f.IfExists):
		return client.Condition{}, usagef("--if-revision goes alone, or with --if-head")
	case f.IfNew:
		return client.MustNotExist(), nil
	case f.IfExists:
		return client.MustExist(), nil
	case f.IfHead != "":
		head, err := s.id(ctx, f.IfHead)
		if f.IfRevision != nil {
			return client.HeadAt(head, *f.IfRevision), err
		}
		return client.HeadIs(head), err
	case f.IfRevision != nil:
		return client.RevisionIs(*f.IfRevision), nil
	}
	return client.Condition{}, nil
}
