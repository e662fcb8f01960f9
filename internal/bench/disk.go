package bench

import (
	"context"
	"io/fs"
	"path/filepath"
)

// diskUsage is what du tells of a folder: the blocks of its files and folders, and its own; holes take none.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		total += allocated(info)
		return nil
	})
	return total, err
}

// atRest is what a store takes on disk that fill has filled through a transcriptd of its own, as that leaves it when it is
// stopped: all indexes and the database's own files, and whatever stopping leaves uncompacted.
func (e *env) atRest(ctx context.Context, fill func(context.Context, *server) error) (int64, error) {
	s, err := e.transcriptd()
	if err != nil {
		return 0, err
	}
	if err := fill(ctx, s); err != nil {
		return 0, err
	}
	if err := s.stop(); err != nil {
		return 0, err
	}
	return diskUsage(s.dir)
}
