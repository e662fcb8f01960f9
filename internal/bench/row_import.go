package bench

import (
	"context"
	"errors"
)

func importReal(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }
