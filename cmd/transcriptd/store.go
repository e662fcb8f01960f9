package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// openStore opens what --store names and tells where the data lies, in words.
func openStore(cfg *config, log *slog.Logger) (store chainstore.Store, place string, err error) {
	scheme, path, ok := strings.Cut(cfg.Store, ":")
	if !ok {
		return nil, "", usagef("--store must be badger://PATH or memory:, is %q", cfg.Store)
	}
	switch scheme {
	case "memory":
		if path != "" {
			return nil, "", usagef("--store memory: takes no path, has %q", path)
		}
		return memstore.New(memstore.Options{}), "memory (gone at exit)", nil
	case "badger":
		path, ok = strings.CutPrefix(path, "//")
		if !ok || path == "" {
			return nil, "", usagef("--store must be badger://PATH, such as badger://./transcripts or badger:///var/lib/transcriptd")
		}
		return openBadger(path, cfg, log)
	default:
		return nil, "", usagef("--store has no engine %q: use badger://PATH or memory:", scheme)
	}
}

func openBadger(path string, cfg *config, log *slog.Logger) (chainstore.Store, string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	store, err := badgerstore.Open(absolute, badgerstore.Options{CacheBytes: cfg.CacheMiB << 20, Logger: log})
	if err != nil {
		return nil, "", fmt.Errorf("opening the store in %s: %w", absolute, err)
	}
	return store, fmt.Sprintf("%s (badger, format %d)", absolute, store.Info().Format), nil
}
