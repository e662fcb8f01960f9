package badgerdb

import (
	"errors"
	"os"
)

// discardFile counts what can be collected of value logs: nothing, in a store. Badger ends the process where it cannot open it.
const discardFile = "DISCARD"

// checkDiscards sees that Badger can open the file.
func (i *inspection) checkDiscards() error {
	f, _, err := i.open(discardFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// checkValueLogs sees that the value logs hold nothing, as those of a store do (see valueThreshold). One that is empty was
// made and not sized yet, or was about to be removed.
func (i *inspection) checkValueLogs() error {
	for _, name := range i.files.valueLogs {
		s, err := i.scanLog(name, 0)
		switch {
		case err != nil:
			return err
		case s == nil:
			i.leftovers = append(i.leftovers, name)
		case !s.clean() || s.first != 0:
			i.damaged(name, s.end, setAside, "it is damaged: there is something in it, or its header names a data key that KEYREGISTRY does not have")
		}
	}
	return nil
}
