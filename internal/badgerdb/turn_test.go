package badgerdb

import (
	"testing"
	"testing/synctest"
)

// A commit waits where it may fill a log that is kept, for as long as anybody keeps it, and nowhere else.
func TestLogFillWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogFill(1, 100_000)
		l.wait(200_000, 1) // nobody keeps it
		l.wrote(2, 50_000, 10)
		if least := l.missing(); least != 50_000 {
			t.Errorf("%d bytes fill it", least)
		}
		if n := l.keep(); n != 2 || !l.isKept(2) || l.isKept(1) {
			t.Errorf("log %d is kept", n)
		}
		l.keep()
		l.wait(10_000, 10)
		for _, c := range []struct{ bytes, rows int64 }{{50_000, 1}, {10, 400}} {
			waited := false
			go func() {
				l.wait(c.bytes, c.rows)
				waited = true
			}()
			synctest.Wait()
			if waited {
				t.Errorf("%d bytes in %d rows do not wait", c.bytes, c.rows)
			}
			l.release()
			synctest.Wait()
			if waited {
				t.Error("it does not wait for the second one who keeps it")
			}
			l.release()
			synctest.Wait()
			if !waited || l.isKept(2) {
				t.Error("it waits, and nobody keeps it")
			}
			l.keep()
			l.keep()
		}
	})
}
