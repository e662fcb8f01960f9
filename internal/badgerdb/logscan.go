package badgerdb

import "bytes"

// logScan is what lies in a log: whole transactions, and a tail behind the last.
type logScan struct {
	name string
	size int64
	// first and last are the numbers of the whole transactions, 0 where there is none; end is the offset behind the last.
	first, last uint64
	end         int64
	// bad is the offset at which no whole entry follows, and why says so. From end to it lie whole entries of the
	// transaction begun; 0: there are none.
	bad   int64
	why   stop
	begun uint64
	// dataEnd is the offset behind the last byte of the tail that is not zero; end where all are.
	dataEnd int64
	// Of the end marks behind bad, of transactions that are not known otherwise: how many there are, the number of the first, 0
	// where it cannot be decrypted, the offset behind it, and the highest number.
	marks     int
	markFirst uint64
	markEnd   int64
	markLast  uint64
}

// scanLog reads a log. Transactions up to known are known otherwise. It returns errors of the file only.
func scanLog(name string, r *logReader, keys dataKeys, known uint64) (*logScan, error) {
	s := &logScan{name: name, size: r.size}
	found, err := r.header(keys)
	switch {
	case err != nil:
		return nil, err
	case found:
		s.end, s.bad = logHeader, logHeader
		err = s.walk(r)
	default:
		s.why = stopHeader
	}
	if err == nil {
		err = s.searchTail(r, max(known, s.last))
	}
	return s, err
}

// clean tells whether nothing but zeros follows the last whole transaction.
func (s *logScan) clean() bool {
	return (s.why == stopEnd || s.why == stopZeros) && s.begun == 0 && s.dataEnd == s.end
}

// walk reads entries from the beginning as long as they are whole and make transactions, as Badger does.
func (s *logScan) walk(r *logReader) error {
	for s.why == goesOn {
		e, why, err := r.entry(s.bad)
		if err != nil {
			return err
		}
		if why == goesOn {
			why = s.take(e)
		}
		s.why = why
	}
	if s.why == stopEnd && s.begun != 0 {
		s.why = stopBeyond
	}
	return nil
}

// take goes on behind a whole entry.
func (s *logScan) take(e entry) stop {
	next := s.bad + e.length
	switch {
	case e.meta&entryInTxn != 0 && e.number != 0 && (s.begun == 0 || s.begun == e.number):
		s.begun = e.number
	case e.meta&entryInTxn == 0 && e.meta&entryEndsTxn != 0 && s.begun != 0 && s.begun == e.number && (s.last == 0 || e.number == s.last+1):
		if s.first == 0 {
			s.first = e.number
		}
		s.last, s.begun, s.end = e.number, 0, next
	default:
		return stopForeign
	}
	s.bad = next
	return goesOn
}

// searchTail looks behind the last whole transaction for what is not zero, and for end marks.
func (s *logScan) searchTail(r *logReader, known uint64) error {
	const window = 1 << 20
	s.dataEnd = s.end
	for at := r.nextData(s.end); at < s.size; at = r.nextData(at + window) {
		b, err := r.bytes(at, min(window+int64(maxEndMark), s.size-at))
		if err != nil {
			return err
		}
		if n := len(bytes.TrimRight(b, "\x00")); n > 0 {
			s.dataEnd = at + int64(n)
		}
		s.searchMarks(r, b, at, min(at+window, s.size), known)
	}
	return nil
}

// searchMarks looks for end marks in what lies at an offset, which begin behind bad and before an end.
func (s *logScan) searchMarks(r *logReader, b []byte, at, end int64, known uint64) {
	for i := max(0, s.bad-at); ; i++ {
		if i > int64(len(b)) {
			return
		}
		n := bytes.Index(b[i:], []byte(endMarkHead))
		if n < 0 || at+i+int64(n) >= end {
			return
		}
		i += int64(n)
		number, length, ok := r.endMark(b[i:], at+i)
		if !ok || number != 0 && number <= known {
			continue
		}
		if s.marks == 0 {
			s.markFirst, s.markEnd = number, at+i+length
		}
		s.marks++
		s.markLast = max(s.markLast, number)
	}
}
