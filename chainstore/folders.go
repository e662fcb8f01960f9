package chainstore

import (
	"iter"
	"strings"
)

// FolderLevels is how many levels of folders aliases can be listed by. The top, "", is the first, "a" is of the second, "a/b" of the
// third. Part of the contract, and of what stores hold.
const FolderLevels = 8

// Folders yields the folders that a name lies under and that are at most FolderLevels deep, the highest first: "", "a" and "a/b" for
// "a/b/c".
func Folders(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield("") {
			return
		}
		level := 1
		for i := 1; i < len(name) && level < FolderLevels; i++ {
			if name[i] != '/' {
				continue
			}
			if level++; !yield(name[:i]) {
				return
			}
		}
	}
}

// FolderLevel is how deep a folder lies; "" is 1.
func FolderLevel(folder string) int {
	if folder == "" {
		return 1
	}
	return 2 + strings.Count(folder[1:], "/")
}

// IsUnder tells whether a name lies under a folder, directly or deeper. Every name lies under "".
func IsUnder(name, folder string) bool {
	return folder == "" || len(name) > len(folder) && name[len(folder)] == '/' && name[:len(folder)] == folder
}
