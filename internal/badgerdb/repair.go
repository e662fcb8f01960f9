package badgerdb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"

	"github.com/transcriptd/transcriptd/internal/syncdir"
)

// Repair makes a damaged store one that opens, at the price of what was written last: it tells what is wrong, what it does, and what is lost,
// a line each. A dry run does nothing. Whatever it drops it sets aside. What Open mends by itself, it leaves to Open. It keeps a
// beginning of the store's transactions and never one behind a gap: a later one may build on each before. Of the options it has to
// do with Admit and Peek, and with EncryptionKey: a store that is not admitted, or whose key it is not, is left as it is. Errors: those of Admit, ErrKey, ErrLocked, ErrFormat,
// ErrBeyondRepair, those of the file system. One that was cut short can be repeated.
func Repair(dir string, o Options, dryRun bool, tell func(line string)) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("look for the store: %w", err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return err
	}
	return errors.Join(repairLocked(dir, &o, dryRun, tell), lock.Close())
}

func repairLocked(dir string, o *Options, dryRun bool, tell func(line string)) error {
	if err := checkDirectory(dir); err != nil {
		if errors.Is(err, ErrDamaged) && !errors.Is(err, ErrBeyondRepair) {
			err = fmt.Errorf("%w: %w", ErrBeyondRepair, err)
		}
		return err
	}
	i, err := inspectAdmitted(dir, o)
	if err != nil {
		return err
	}
	if len(i.damages) == 0 {
		tell("Nothing is damaged of what a start checks: the store opens. Start it, and 'transcriptctl verify --all' reads its tables whole.")
		return nil
	}
	for _, d := range i.damages {
		tell("damaged: " + d.Error())
	}
	steps, err := i.plan()
	if err != nil {
		tell("Nothing was changed.")
		return err
	}
	for _, s := range steps {
		tell(s.text)
	}
	if dryRun {
		tell("Nothing was changed.")
		return nil
	}
	if err := i.run(steps); err != nil {
		return err
	}
	tell("Repaired. What was taken away lies in " + i.path(asideFolder) + ". Start the store, then run: transcriptctl verify --all")
	return nil
}

// repairStep is a part of a repair; do is nil where there is only something to say.
type repairStep struct {
	text string
	do   func() error
}

// run takes the steps, and sees that nothing is damaged then.
func (i *inspection) run(steps []repairStep) error {
	for _, s := range steps {
		if s.do == nil {
			continue
		}
		if err := s.do(); err != nil {
			return err
		}
	}
	after, err := inspect(i.dir, i.encryptionKey)
	if err != nil {
		return err
	}
	return refusal(after.damages)
}

// plan finds the steps. The first are for files that hold nothing, then the MANIFEST is mended, since the logs go on from what it names.
func (i *inspection) plan() ([]repairStep, error) {
	if i.hopeless() {
		return nil, ErrBeyondRepair
	}
	folder := filepath.Join(asideFolder, "repair-"+stamp())
	var steps []repairStep
	for _, d := range i.damages {
		if d.remedy == setAside {
			steps = append(steps, i.move(d.File, folder, "; it holds nothing that is missed"))
		}
	}
	logs := i
	if len(i.orphans) > 0 {
		adopted, err := i.adopt(folder)
		if err != nil {
			return nil, err
		}
		steps = append(steps, adopted)
		if logs, err = i.again(); err != nil {
			return nil, err
		}
	}
	for _, d := range logs.damages {
		switch d.remedy {
		case cutLog, dropLogs:
			steps = append(steps, logs.dropFrom(d, folder)...)
		case adoptTables, noRemedy:
			return nil, ErrBeyondRepair
		case setAside: // above
		}
	}
	return steps, nil
}

// move is the step that renames a file into a folder of the store.
func (i *inspection) move(file, folder, why string) repairStep {
	to := filepath.Join(folder, file)
	return repairStep{fmt.Sprintf("move %s to %s%s", file, to, why), func() error {
		err := os.MkdirAll(i.path(folder), 0o700)
		if err == nil {
			err = os.Rename(i.path(file), i.path(to))
		}
		if err == nil {
			err = errors.Join(syncdir.Sync(i.path(folder)), syncdir.Sync(i.path(asideFolder)), syncdir.Sync(i.dir))
		}
		if err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		return nil
	}}
}

// dropFrom are the steps that make the logs end before a damage.
func (i *inspection) dropFrom(d *Damage, folder string) []repairStep {
	at := slices.IndexFunc(i.logs, func(s *logScan) bool { return s.name == d.File })
	first, bytes := at, int64(0)
	if cut := i.logs[at]; d.remedy == cutLog && cut.end > 0 {
		first, bytes = at+1, cut.dataEnd-cut.end
	}
	var steps []repairStep
	if first > at {
		steps = append(steps, i.cutAt(i.logs[at], folder))
	}
	for _, s := range i.logs[first:] {
		bytes += s.dataEnd
		steps = append(steps, i.move(s.name, folder, "; it lies behind the damage"))
	}
	lost := fmt.Sprintf("lost: what was written after transaction %d: %d bytes of the log", i.known, bytes)
	if i.highest > i.known {
		lost += fmt.Sprintf(", transactions %d to %d, %d in all with the damaged one", i.known+1, i.highest, i.highest-i.known)
	}
	return append(steps, repairStep{text: lost})
}

// cutAt is the step that copies a log and then makes it end behind its last whole transaction.
func (i *inspection) cutAt(s *logScan, folder string) repairStep {
	return repairStep{fmt.Sprintf("copy %s to %s, and cut it at byte %d", s.name, folder, s.end), func() error {
		return i.rewrite(s.name, folder, s.dataEnd, s.end, nil)
	}}
}

// rewrite copies a file into a folder, of which nothing but zeros lies behind dataEnd, and then makes it end in more at an offset.
func (i *inspection) rewrite(name, folder string, dataEnd, end int64, more []byte) (err error) {
	f, size, err := i.open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := i.keep(io.NewSectionReader(f, 0, dataEnd), size, filepath.Join(folder, name)); err != nil {
		return err
	}
	err = f.Truncate(end)
	if err == nil && len(more) > 0 {
		_, err = f.WriteAt(more, end)
	}
	if err := errors.Join(err, f.Sync()); err != nil {
		return fmt.Errorf("rewrite %s: %w", f.Name(), err)
	}
	return nil
}

// adopt is the step that makes the MANIFEST name tables that it has lost: those that memtables became, in order, with every transaction from known
// on. Others may be what several tables were merged into, of which some are lost: ErrBeyondRepair.
func (i *inspection) adopt(folder string) (repairStep, error) {
	set, names := &pb.ManifestChangeSet{}, ""
	for _, t := range i.orphans {
		if err := i.followsOn(t); err != nil {
			return repairStep{}, err
		}
		i.adopted = append(i.adopted, t)
		i.known = t.maxVersion
		set.Changes = append(set.Changes, &pb.ManifestChange{
			Id: t.id, Op: pb.ManifestChange_CREATE, KeyId: t.keyID, EncryptionAlgo: pb.EncryptionAlgo_aes, Compression: uint32(options.ZSTD),
		})
		names += " " + t.name
	}
	b, err := proto.Marshal(set)
	if err != nil {
		return repairStep{}, fmt.Errorf("name tables: %w", err)
	}
	text := fmt.Sprintf("copy MANIFEST to %s, and add%s to it, which have all transactions up to %d; nothing is lost", folder, names, i.known)
	return repairStep{text, func() error {
		return i.rewrite(badger.ManifestFilename, folder, i.manifest.size, i.manifest.end, changeSetBytes(b))
	}}, nil
}

// followsOn sees that a table has every transaction from known on to its last: then it is what a memtable became, with all
// of it.
func (i *inspection) followsOn(t *tableFile) error {
	numbers, err := i.numbersIn(t)
	if err != nil {
		return err
	}
	for n := i.known + 1; n <= t.maxVersion; n++ {
		if _, ok := numbers[n]; !ok {
			return fmt.Errorf("%w: %s does not have transaction %d", ErrBeyondRepair, t.name, n)
		}
	}
	return nil
}

// again inspects the store as it is once the MANIFEST names what it adopts.
func (i *inspection) again() (*inspection, error) {
	again := &inspection{dir: i.dir, encryptionKey: i.encryptionKey, adopted: i.adopted}
	return again, again.inspect()
}
