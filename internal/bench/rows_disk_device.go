package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// bytesOfDevice is what the figure of this row is of.
var bytesOfDevice = claim{"bytes written to the device per text byte put, 1 caller", atMost(30).onDisk(syncsAtAll)}

// deviceBytes holds what the device writes below the store, by its own count, against the text of turns that one caller
// puts one by one, each moving an alias. Counted is all that these turns ever cause: from before the first is put until
// the server has stopped and the file system has written what it held back, less what the device writes in as long a time
// while nothing is put.
func deviceBytes(ctx context.Context, e *env) ([]Figure, error) {
	if e.Remote != "" {
		return voids(filesElsewhere, bytesOfDevice), nil
	}
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	const turns = 10_000 // so that tables are written meanwhile
	idle, err := written(s.dir, func() error { return pause(ctx, e.shorter(5*time.Second, 2*time.Second)) })
	if errors.Is(err, errNoCounters) {
		return voids(err.Error(), bytesOfDevice), nil
	}
	if err != nil {
		return nil, err
	}
	busy, err := written(s.dir, func() error {
		if _, err := s.chat(ctx, nil, "chat/bench", 0, turns); err != nil {
			return err
		}
		return s.stop()
	})
	if err != nil {
		return nil, err
	}
	return []Figure{deviceFigure(idle, busy, textOf(0, turns))}, nil
}

// deviceFigure is void where the device does not count, or where so much else is written that it tells nothing.
func deviceFigure(idle, busy wrote, put int64) Figure {
	f := figure(bytesOfDevice, (float64(busy.bytes)-idle.perSecond()*busy.while.Seconds())/float64(put),
		Measured{Name: "put", Value: float64(put), Unit: "bytes of text"},
		Measured{Name: "written meanwhile", Value: float64(busy.bytes), Unit: fmt.Sprintf("bytes in %.1f s", busy.while.Seconds())},
		Measured{Name: "written while nothing was put", Value: idle.perSecond(), Unit: "bytes a second"})
	switch {
	case busy.bytes == 0:
		return f.voided("the device counts nothing")
	case idle.perSecond() > busy.perSecond()/10:
		return f.voided("something else writes to this device")
	default:
		return f
	}
}

// wrote is what a device wrote in a while.
type wrote struct {
	bytes int64
	while time.Duration
}

func (w wrote) perSecond() float64 { return float64(w.bytes) / w.while.Seconds() }

// errNoCounters: nobody tells how much the device below a folder writes.
var errNoCounters = errors.New("the counters of the device cannot be read")

// written is what the device below a folder writes while f runs, with all that f left for later.
func written(dir string, f func() error) (w wrote, err error) {
	syncAll()
	begin := time.Now()
	before, err := deviceWrites(dir)
	if err != nil {
		return w, err
	}
	if err := f(); err != nil {
		return w, err
	}
	syncAll()
	after, err := deviceWrites(dir)
	return wrote{after - before, time.Since(begin)}, err
}

// sectorsWritten reads the bytes written out of a block device's counters: the seventh number, in sectors of 512 bytes
// whatever the device's are.
func sectorsWritten(counters string) (bytes int64, err error) {
	const field, sector = 7, 512
	numbers := strings.Fields(counters)
	if len(numbers) < field {
		return 0, fmt.Errorf("%w: there are %d", errNoCounters, len(numbers))
	}
	n, err := strconv.ParseInt(numbers[field-1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: one is no number", errNoCounters)
	}
	return n * sector, nil
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
