package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// The engines that --store can name.
const (
	engineMemory = "memory"
	engineBadger = "badger"
)

// parseStore reads --store: the engine, and the absolute path of what is on disk.
func parseStore(store string) (engine, path string, err error) {
	engine, path, ok := strings.Cut(store, ":")
	switch {
	case !ok:
		return "", "", usagef("--store must be badger://PATH or memory:, is %q", store)
	case engine == engineMemory && path != "":
		return "", "", usagef("--store memory: takes no path, has %q", path)
	case engine == engineMemory:
		return engine, "", nil
	case engine != engineBadger:
		return "", "", usagef("--store has no engine %q: use badger://PATH or memory:", engine)
	}
	path, ok = strings.CutPrefix(path, "//")
	if !ok || path == "" {
		return "", "", usagef("--store must be badger://PATH, such as badger://./transcripts or badger:///var/lib/transcriptd")
	}
	path, err = filepath.Abs(path)
	return engine, path, err
}

// openStore opens what --store names and tells where the data lies, in words.
func openStore(cfg *config, log *slog.Logger) (store chainstore.Store, place string, err error) {
	engine, path, err := parseStore(cfg.Store)
	if err != nil {
		return nil, "", err
	}
	if engine == engineMemory {
		return memstore.New(memstore.Options{}), "memory (gone at exit)", nil
	}
	return openBadger(path, cfg, log)
}

func openBadger(path string, cfg *config, log *slog.Logger) (chainstore.Store, string, error) {
	store, err := badgerstore.Open(path, badgerstore.Options{CacheBytes: cfg.CacheMiB << 20, Logger: log})
	switch {
	case errors.Is(err, badgerdb.ErrBeyondRepair):
		return nil, "", fmt.Errorf("opening the store in %s: %w", path, err)
	case errors.Is(err, badgerstore.ErrDamaged):
		return nil, "", fmt.Errorf("opening the store in %s: %w\nRestore a backup; or see what a repair would save and lose: "+
			"transcriptd repair --dry-run --store badger://%s", path, err, path)
	case err != nil:
		return nil, "", fmt.Errorf("opening the store in %s: %w", path, err)
	}
	return store, fmt.Sprintf("%s (badger, format %d)", path, store.Info().Format), nil
}
