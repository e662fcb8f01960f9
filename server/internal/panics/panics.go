// Package panics makes errors of panics, which tell what Go's runtime says, or else only the type of the value, which might hold
// content; and where it happened.
package panics

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Error is the error of a panic.
func Error(p any) error {
	what := fmt.Sprintf("%T", p)
	if fault, ok := p.(runtime.Error); ok {
		what = fault.Error()
	}
	return fmt.Errorf("panic: %s\n%s", what, debug.Stack())
}

// Guard runs f where no interceptor watches over it: a panic is its error.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Error(p)
		}
	}()
	return f()
}
