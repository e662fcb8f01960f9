package main

import (
	"errors"
	"os"
)

// newBundleFile makes a file for a bundle, as newPartFile does: nobody else may read it, it is NAME.part until it is complete, and what is there
// already is not written over.
func newBundleFile(name string) (*partFile, error) {
	if name == "" {
		return nil, usagef("FILE must not be empty")
	}
	for _, path := range []string{name, name + partEnding} {
		switch _, err := os.Lstat(path); {
		case err == nil && path == name:
			return nil, usagef("%s is there already: a bundle is not written over", name)
		case err == nil:
			return nil, usagef("%s is there already, of a bundle or backup that was not finished: remove it, or name another FILE", path)
		}
	}
	return newPartFile(name)
}

// end gives the file its name where it is complete, and else takes it away.
func (f *partFile) end(complete bool) error {
	if complete {
		return f.complete()
	}
	return errors.Join(f.leave(), os.Remove(f.Name()))
}
