package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/internal/storekey"
	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// restoreFolder is the folder that a restore without a server makes. One that is not there is PATH.part until the restore is complete, so that
// nobody serves a half of it.
type restoreFolder struct {
	path string
	// at is where the store is: path, or that with partEnding.
	at string
}

// folder says where a restore works. It refuses what an earlier one left that was cut, unless it goes on with that.
func (c *restoreCommand) folder() (*restoreFolder, error) {
	path, ok := strings.CutPrefix(c.Store, "badger://")
	if !ok || path == "" {
		return nil, usagef("--store must be badger://PATH, is %q", c.Store)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f := &restoreFolder{path: path, at: path}
	switch _, err := os.Stat(path); {
	case err == nil:
		return f, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f.at += partEnding
	if _, err := os.Stat(f.at); err == nil && !c.Again {
		return nil, inputf("%s is there, of a restore that was cut: go on with it by --again, if it was of the same files, or remove it", f.at)
	}
	return f, nil
}

// open opens the store, and serves it.
func (f *restoreFolder) open(ctx context.Context, c *restoreCommand, s *session) (*session, error) {
	options := badgerstore.Options{}
	if c.EncryptionKeyFile != "" {
		var err error
		if options.EncryptionKey, err = storekey.Read(c.EncryptionKeyFile); err != nil {
			return nil, &inputError{err}
		}
	}
	store, err := badgerstore.Open(f.at, options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %s: %w", f.at, err)
	}
	return s.over(ctx, store)
}

// complete gives the folder its name, once the store is closed.
func (f *restoreFolder) complete() error {
	if f.at == f.path {
		return nil
	}
	if err := os.Rename(f.at, f.path); err != nil {
		return err
	}
	return syncdir.Sync(filepath.Dir(f.path))
}
