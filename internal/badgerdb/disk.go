package badgerdb

// diskSpace is what a file system still takes: bytes, and files. Fewer inodes than keptInodes count as none: a merge makes a file
// for each table.
type diskSpace struct{ bytes, inodes, keptInodes int64 }

// keptInodes are kept of a file system that has many; of others a quarter.
const keptInodes = 4096

// fewInodes tells whether hardly an inode is left.
func (s diskSpace) fewInodes() bool { return s.inodes < s.keptInodes }

// forPuts is how many bytes puts find free.
func (s diskSpace) forPuts() int64 {
	if s.fewInodes() {
		return 0
	}
	return s.bytes
}
