//go:build !linux

package badgerdb

// descriptorUsage cannot tell here.
func descriptorUsage() (u Usage, ok bool) { return u, false }

// mapUsage cannot tell here.
func mapUsage() (u Usage, ok bool) { return u, false }
