// Package syncdir makes names of files durable.
package syncdir

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Sync makes the names in a directory durable, where a directory can be synced: what was renamed or made in it is found after the power
// was lost.
func Sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync the directory: %w", err)
	}
	return nil
}
