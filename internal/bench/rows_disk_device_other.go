//go:build !linux

package bench

func syncAll() {}

// deviceWrites is always errNoCounters.
func deviceWrites(string) (bytes int64, err error) { return 0, errNoCounters }
