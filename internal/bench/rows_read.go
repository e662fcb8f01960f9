package bench

import (
	"context"
	"errors"
)

func secondRead(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func longRead(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func firstRead(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func unaryRead(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func shortRead(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func tailRead(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func readPerTurn(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }

func againstWalking(context.Context, *env) ([]Figure, error) { return nil, errors.ErrUnsupported }
