package badgerdb

// tableBytes is how large tables of the base level are in a database of a size; those of each level below are twice as large as
// those of the one above. Each table takes a file descriptor and a memory map, so a larger database has larger ones: else one of
// 256 GiB had 36,000, one of 660 GB 46,000. What a table takes of memory while it is built grows with it, see decision 0044.
func tableBytes(database int64) int64 {
	switch {
	case database < 32<<30:
		return baseTableBytes
	case database < 256<<30:
		return 2 * baseTableBytes
	default:
		return 4 * baseTableBytes
	}
}
