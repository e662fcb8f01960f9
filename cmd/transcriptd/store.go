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

// badgerPath is where the store lies that a command works on.
func (c *config) badgerPath(command string) (string, error) {
	engine, path, err := parseStore(c.Store)
	if err == nil && engine != engineBadger {
		err = usagef("%s needs --store badger://PATH, has %q", command, c.Store)
	}
	return path, err
}

// storeOptions are what a store is opened with.
func (c *config) storeOptions() (o badgerstore.Options, err error) {
	o = badgerstore.Options{CacheBytes: c.CacheMiB << 20, DataKeyRotation: c.Encryption.DataKeyRotation}
	o.EncryptionKey, err = c.Encryption.key()
	return o, err
}

// aboutKey says what to do about a key that does not go with a store.
func aboutKey(err error) string {
	if !errors.Is(err, badgerstore.ErrKey) {
		return ""
	}
	return "\nNothing was changed. The key of a store is given with --encryption-key-file: docs/operations.md"
}

func openBadger(path string, cfg *config, log *slog.Logger) (chainstore.Store, string, error) {
	o, err := cfg.storeOptions()
	if err != nil {
		return nil, "", err
	}
	o.Logger = log
	store, err := badgerstore.Open(path, o)
	switch {
	case errors.Is(err, badgerdb.ErrBeyondRepair):
		return nil, "", fmt.Errorf("opening the store in %s: %w", path, err)
	case errors.Is(err, badgerstore.ErrDamaged):
		return nil, "", fmt.Errorf("opening the store in %s: %w\nRestore a backup; or see what a repair would save and lose: "+
			"transcriptd repair --dry-run --store badger://%s%s", path, err, path, cfg.Encryption.flag())
	case err != nil:
		return nil, "", fmt.Errorf("opening the store in %s: %w%s", path, err, aboutKey(err))
	}
	encrypted := ""
	if store.Info().Encrypted {
		encrypted = ", encrypted"
	}
	return store, fmt.Sprintf("%s (badger, format %d%s)", path, store.Info().Format, encrypted), nil
}
