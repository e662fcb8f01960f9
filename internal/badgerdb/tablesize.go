package badgerdb

import (
	"os"
	"strings"
)

const tableSuffix = ".sst"

// tablesIn counts the files of tables in a directory, and their bytes; 0 where it cannot be read, which opening tells.
func tablesIn(dir string) (tables int, bytes int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), tableSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil {
			tables++
			bytes += info.Size()
		}
	}
	return tables, bytes
}
