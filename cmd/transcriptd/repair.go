package main

import (
	"fmt"
	"io"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
)

// repair makes the store that --store names one that opens, and prints what it does.
func repair(cfg *config, stdout io.Writer) error {
	path, err := cfg.badgerPath(commandRepair)
	if err != nil {
		return err
	}
	o, err := cfg.storeOptions()
	if err != nil {
		return err
	}
	err = badgerstore.Repair(path, o, cfg.Repair.DryRun, func(line string) { fmt.Fprintln(stdout, line) })
	if err != nil {
		return fmt.Errorf("repairing the store in %s: %w%s", path, err, aboutKey(err))
	}
	return nil
}
