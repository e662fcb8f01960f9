package bench

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// syncLog is a bare log: a file of a fixed size that is written round and round, and synced without its times.
type syncLog struct {
	f    *os.File
	size int64
	at   int64
}

// openLog creates a log with all of its blocks, so that a sync need not write where they are.
func openLog(path string, size int64) (*syncLog, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size && err == nil; at += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at)
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &syncLog{f: f, size: size}, nil
}

func (l *syncLog) write(b []byte) error {
	if l.at+int64(len(b)) > l.size {
		l.at = 0
	}
	n, err := l.f.WriteAt(b, l.at)
	l.at += int64(n)
	return err
}

func (l *syncLog) sync() error { return datasync(l.f) }

func (l *syncLog) close() error { return errors.Join(l.f.Close(), os.Remove(l.f.Name())) }

// medianSync is the median time, in microseconds, that it takes to make 4 KiB of a file durable whose size does not change.
func medianSync(dir string) (median float64, err error) {
	l, err := openLog(filepath.Join(dir, "fsync"), 1<<20)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	took := make([]time.Duration, 201)
	page := make([]byte, 4<<10)
	for i := range took {
		if err := l.write(page); err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := l.sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return float64(at(took, 0.5)) / float64(time.Microsecond), nil
}
