package bench

import (
	"context"
	"errors"
)

func branchBytes(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func textBytesOnDisk(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func nodeBytesOnDisk(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func forkBytes(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func deviceBytes(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }
