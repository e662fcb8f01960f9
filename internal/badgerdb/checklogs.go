package badgerdb

import (
	"fmt"
	"path/filepath"
)

// tornEnd is the end of a log that holds a part of the transaction that was written when the process or the machine ended.
type tornEnd struct {
	file     string
	from, to int64
}

// checkLogs reads the logs and judges how they end.
//
// Transactions have consecutive numbers (see Commit), and one is synced before the next is written. So the logs, in order, go on
// from what the tables have without a gap, and only the very last transaction can be in part what was written: what a loss of power leaves
// of it is any of its pages, what a kill leaves is its beginning. Anything else is damage. Only the first is told: what lies
// behind it would be lost with it.
func (i *inspection) checkLogs() error {
	if err := i.scanLogs(); err != nil {
		return err
	}
	for n, s := range i.logs {
		if s.first > i.known+1 {
			i.damaged(s.name, -1, dropLogs, fmt.Sprintf(
				"transactions %d to %d are missing before it: a log or a table is gone, was emptied, or was renamed", i.known+1, s.first-1))
			return nil
		}
		if s.first > i.inTables && s.first <= i.known {
			i.damaged(s.name, -1, dropLogs, fmt.Sprintf("transaction %d, its first, is in the log before it too", s.first))
			return nil
		}
		i.known = max(i.known, s.last)
		if s.clean() {
			continue
		}
		if what := s.damage(i.known, goesOnWith(i.logs[n+1:])); what != "" {
			i.damaged(s.name, s.bad, cutLog, what+i.behind(s))
			return nil
		}
		i.torn = append(i.torn, tornEnd{s.name, s.end, s.dataEnd})
	}
	return nil
}

// scanLogs reads the logs, and tells the highest number that any of them has. One that is empty was made and not sized yet, or
// was about to be removed.
func (i *inspection) scanLogs() error {
	known := i.inTables
	for _, name := range i.files.logs {
		s, err := i.scanLog(name, known)
		if err != nil {
			return err
		}
		if s == nil {
			i.leftovers = append(i.leftovers, name)
			continue
		}
		i.logs = append(i.logs, s)
		known = max(known, s.last)
		i.highest = max(i.highest, known, s.markLast)
	}
	return nil
}

// scanLog reads a log; nil: it is empty. Transactions up to known are known otherwise.
func (i *inspection) scanLog(name string, known uint64) (*logScan, error) {
	f, size, err := i.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size == 0 {
		return nil, nil
	}
	r := &logReader{file: f, size: size, peek: i.peek, nextData: func(from int64) int64 { return nextData(f, from, size) }}
	s, err := scanLog(name, r, i.keys, known)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(i.dir, name), err)
	}
	return s, nil
}

// goesOnWith is the number of the first transaction of logs; 0: they have none.
func goesOnWith(logs []*logScan) uint64 {
	for _, s := range logs {
		if s.first != 0 {
			return s.first
		}
		if s.markFirst != 0 {
			return s.markFirst
		}
	}
	return 0
}

// damage says why a log that is not clean does not end as one that a loss of power, or a kill, has left; "": it does. Transactions up to
// known are whole, and later is the number of the first in the logs behind it, 0 where there is none.
func (s *logScan) damage(known, later uint64) string {
	switch {
	case s.why == stopHeader && s.size < logHeader:
		return "the log is cut short"
	case s.why == stopHeader:
		return "the log's header is damaged: it names a data key that KEYREGISTRY does not have"
	case s.why == stopBeyond:
		return "the log is cut short there, or the length of an entry is damaged"
	case s.why == stopForeign:
		return "what is whole there does not follow what is before it"
	case s.marks > 1, s.marks == 1 && s.markFirst != 0 && s.markFirst != known+1:
		return "the log is damaged there"
	case s.marks == 1 && s.dataEnd > s.markEnd: // the next one was begun once this one was synced
		return "the log is damaged there"
	case s.begun > known+1, later > known+1:
		return "the log is damaged there"
	case s.dataEnd == s.size: // an open has cut it behind its last transaction, which was whole then
		return "the log is damaged there"
	case s.dataEnd-s.end > s.longestTxn():
		return "more is damaged there than a transaction can be"
	default:
		return ""
	}
}

// longestTxn is more than a transaction takes of a log: Badger allows it 15 % of a memtable, and the log is two memtables.
func (s *logScan) longestTxn() int64 { return s.size / 8 }

// behind tells how many transactions lie behind the damaged one, which follows the last that is known.
func (i *inspection) behind(s *logScan) string {
	switch {
	case i.highest > i.known+1:
		return fmt.Sprintf("; %d transactions lie behind it, up to number %d", i.highest-i.known-1, i.highest)
	case s.marks > 0 && s.markLast == 0:
		return fmt.Sprintf("; the ends of %d transactions lie behind it", s.marks)
	default:
		return ""
	}
}
