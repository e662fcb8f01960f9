package bench

import (
	"context"
	"errors"
)

func contendedAlias(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func readsBesidePuts(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func manyConnections(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func overload(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }
