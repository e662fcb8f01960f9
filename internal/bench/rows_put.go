package bench

import (
	"context"
	"errors"
)

func putsAgainstEcho(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func putsAgainstCommitter(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func putsAgainstTransactions(context.Context, *env) ([]Figure, error) {
	return nil, errors.ErrUnsupported
}

func lonePut(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func putAtDepth(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func repeatedPut(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }
