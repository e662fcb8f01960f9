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
}

// given tells whether there is a condition.
func (f *conditionFlags) given() bool { return f.IfNew || f.IfExists || f.IfHead != "" }

// condition is what the flags say.
func (f *conditionFlags) condition(ctx context.Context, s *session) (client.Condition, error) {
	switch {
	case f.IfNew:
		return client.MustNotExist(), nil
	case f.IfExists:
		return client.MustExist(), nil
	case f.IfHead != "":
		head, err := s.id(ctx, f.IfHead)
		return client.HeadIs(head), err
	}
	return client.Condition{}, nil
}
