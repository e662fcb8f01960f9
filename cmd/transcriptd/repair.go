package main

import (
	"fmt"
	"io"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
)

// repair makes the store that --store names one that opens, and prints what it does.
func repair(cfg *config, stdout io.Writer) error {
	engine, path, err := parseStore(cfg.Store)
	if err != nil {
		return err
	}
	if engine != engineBadger {
		return usagef("repair needs --store badger://PATH, has %q", cfg.Store)
	}
	err = badgerstore.Repair(path, cfg.Repair.DryRun, func(line string) { fmt.Fprintln(stdout, line) })
	if err != nil {
		return fmt.Errorf("repairing the store in %s: %w", path, err)
	}
	return nil
}
