package badgerdb

import (
	"errors"
	"fmt"
	"slices"
)

// Damage is what is wrong with one file of a store.
type Damage struct {
	// File is the file's name in the store's directory.
	File string
	// Offset is where the damage begins; less than 0: it is the file as a whole.
	Offset int64
	// What is wrong, in words. It holds nothing of what is stored.
	What string

	// remedy is what Repair can do about it.
	remedy remedy
}

func (d *Damage) Error() string {
	if d.Offset < 0 {
		return fmt.Sprintf("%s: %s", d.File, d.What)
	}
	return fmt.Sprintf("%s at byte %d: %s", d.File, d.Offset, d.What)
}

// remedy is what can be done about a damage without a backup.
type remedy int

const (
	// noRemedy: what is lost is in the middle of what is kept, which makes no sense without it.
	noRemedy remedy = iota
	// setAside: the file holds nothing that is missed; Badger makes another.
	setAside
	// cutLog: the log ends before the damage, and the logs behind it go.
	cutLog
	// dropLogs: the log and those behind it go.
	dropLogs
	// adoptTables: the MANIFEST names the tables anew that it has lost.
	adoptTables
)

// refusal is the error of an Open that found damages; nil where there are none.
func refusal(damages []*Damage) error {
	if len(damages) == 0 {
		return nil
	}
	errs := make([]error, len(damages), len(damages)+1)
	for i, d := range damages {
		errs[i] = d
	}
	if slices.ContainsFunc(damages, func(d *Damage) bool { return d.remedy == noRemedy }) {
		errs = append(errs, ErrBeyondRepair)
	}
	return fmt.Errorf("%w, nothing was changed: %w", ErrDamaged, errors.Join(errs...))
}
