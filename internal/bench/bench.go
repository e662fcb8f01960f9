// Package bench measures transcriptd, in a process of its own, against what the machine, gRPC and the disk allow: limits
// that are measured in the same run, in turns with it. Every figure is a ratio of two things that were measured side by
// side, or a count of bytes; none is a time.
//
// A row of the table is a function in rows(); what it holds transcriptd against is a limit (limit.go), in a process of its
// own as well, or bare (bare.go), in this one.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// Options are what a run is to do. The zero Options measure every row, at length, beside stores in the system's folder for
// temporary files.
type Options struct {
	// Rows are the numbers of the rows to measure; none: all.
	Rows []int
	// Quick makes rounds fewer and shorter, and stores smaller. Rows that were not begun after quickWithin are void.
	Quick bool
	// Restless gives the store no rest between the loads of row 25, which last restlessFor. Its figures are void then.
	Restless bool
	// Remote is the address of a transcriptd that runs already; empty: a process of its own for each row. What needs the
	// process, its files or a limit is void then.
	Remote string
	// Transcriptd is the program; empty: see Program.
	Transcriptd string
	// Limit is the command, with its first arguments, that runs ServeLimit with the arguments that follow.
	Limit []string
	// Import is the command, with its first arguments, that imports files: transcriptctl import.
	Import []string
	// Dir is where stores are put, on the disk that is to be measured.
	Dir string
	// Profile is the folder for profiles of server and client, which the rows that count bytes have none of; empty: none are
	// taken.
	Profile string
	// Timeout ends a row where nothing is answered for so long; 0: never. Puts of row 25 have a second and calls of row 23 a
	// minute of their own.
	Timeout time.Duration
	// Transcripts is the folder of the real conversations; empty or not there: their row is void.
	Transcripts string
	// Notes takes remarks on what is being done, a line each; nil: none.
	Notes io.Writer
}

// row is one row of the table.
type row struct {
	number int
	name   string
	run    func(context.Context, *env) ([]Figure, error)
	// claims are what its figures are of, in the order in which run returns them.
	claims []claim
}

// errOtherFigures: a row that is left out would tell of other figures than one that is measured.
var errOtherFigures = errors.New("the figures are not those that the row claims")

// check is errOtherFigures of figures that are not those of the row's claims.
func (r row) check(figures []Figure) error {
	if !slices.EqualFunc(figures, r.claims, func(f Figure, c claim) bool {
		return f.What == c.what && f.Target == c.target.String()
	}) {
		return errOtherFigures
	}
	return nil
}

// voids are the row's figures where it was not measured.
func (r row) voids(why string) []Figure {
	figures := voids(why, r.claims...)
	for i := range figures {
		figures[i].Row = r.number
	}
	return figures
}

// rows are the table, in order.
func rows() []row {
	return []row{
		{1, "StreamAssemble of 1,000 turns, second read", secondRead, []claim{secondReadSpeed}},
		{2, "StreamAssemble of 10,000 turns with a small cache", longRead, []claim{longReadSpeed}},
		{3, "StreamAssemble of 1,000 turns, first read", firstRead, []claim{firstReadSpeed}},
		{4, "Assemble of 1,000 turns", unaryRead, []claim{unaryReadSpeed}},
		{5, "Assemble of 10 turns", shortRead, []claim{shortReadTime}},
		{6, "Assemble after one turn ago, at any depth", tailRead, []claim{tailReadTime}},
		{7, "time per turn, at any length", readPerTurn, []claim{turnTime}},
		{8, "against walking parents", againstWalking, []claim{rawWalkSpeed, typedWalkSpeed}},
		{9, "PutNode, 64 callers, against an echo", putsAgainstEcho, []claim{ofEcho}},
		{10, "PutNode, many callers, against a bare committer", putsAgainstCommitter, byCallers(ofCommitter)},
		{11, "PutNode, many callers, against a transaction a node", putsAgainstTransactions, byCallers(ofTransactions)},
		{12, "PutNode, one caller", lonePut, []claim{lonePutTime}},
		{13, "PutNode at any depth", putAtDepth, []claim{deepPutTime, deepPutWork, deepPutStart}},
		{14, "writers that move one alias", contendedAlias, []claim{movesPerSecond, movesOfFastest, updatesLost}},
		{15, "Assemble beside putting callers", readsBesidePuts, []claim{besideP50, besideP99}},
		{16, "a put of what is there", repeatedPut, []claim{bytesWritten, keysWritten}},
		{17, "bytes of branches", branchBytes, []claim{bytesOfBranches}},
		{18, "bytes on disk of text", textBytesOnDisk, []claim{bytesOfText}},
		{19, "bytes on disk beside a small payload", nodeBytesOnDisk, []claim{bytesOfNode}},
		{20, "memory under load", memoryUnderLoad, []claim{memoryMost, memoryGrowth}},
		{21, "bytes of a fork and of an alias", forkBytes, []claim{bytesOfFork, bytesOfAlias}},
		{22, "import of real conversations", importReal, []claim{importLike, importAlone}},
		{23, "idle connections and active streams", manyConnections, []claim{callsServed}},
		{24, "bytes written to the device", deviceBytes, []claim{bytesOfDevice}},
		{25, "twice the load that it can serve", overload, []claim{putsServed, putsClear, putsSilent}},
	}
}

// Numbers are the numbers of all rows.
func Numbers() (numbers []int) {
	for _, r := range rows() {
		numbers = append(numbers, r.number)
	}
	return numbers
}

// clientGC is how far, in per cent, garbage may outgrow what is in use here before it is collected: who offers a load on
// the processors of the server that is measured should take little of them.
const clientGC = 400

// quickWithin is how long after its beginning a quick run begins no other row, so that it ends within ten minutes.
const quickWithin = 8 * time.Minute

// Run measures the rows and yields each one's figures as they come. A row that fails is void, and an error in the end names
// it. Where the run is given up, or there is no transcriptd any more to measure, it ends there.
func Run(ctx context.Context, o Options, began func(Machine), yield func(Figure)) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(clientGC))
	e, err := newEnv(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(e.dir)) }()
	began(e.machine)
	if o.Remote != "" {
		e.note("a server elsewhere is not waited for: it may still be at work on what came before when something is measured")
	}
	return e.all(ctx, rows(), yield)
}

// all measures those of some rows that are to be.
func (e *env) all(ctx context.Context, some []row, yield func(Figure)) error {
	start, waits := time.Now(), *e.waits
	var failed []error
	for _, r := range some {
		if len(e.Rows) > 0 && !slices.Contains(e.Rows, r.number) {
			continue
		}
		figures, err := e.figures(ctx, r, time.Since(start))
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("row %d (%s): %w", r.number, r.name, err)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("row %d (%s): %w", r.number, r.name, err))
			why, _, _ := strings.Cut(err.Error(), "\n")
			figures = r.voids("it failed: " + why)
		}
		for _, f := range figures {
			yield(f)
		}
		if e.nothingLeft(err) {
			break
		}
	}
	e.note("all of it took %s, of which processes were waited for for %s", time.Since(start).Round(time.Second), (waits - *e.waits).Round(time.Second))
	return failure(failed)
}

// nothingLeft tells whether a row's fault leaves nothing to measure: the server elsewhere is gone or silent, or a process that
// this one started ended by itself, as the next one would.
func (e *env) nothingLeft(fault error) bool {
	call, ok := errors.AsType[*client.Error](fault)
	gone := ok && (call.Code == codes.Unavailable || call.Code == codes.DeadlineExceeded)
	return e.Remote != "" && gone || errors.Is(fault, errDied)
}

// failure tells of rows that failed.
func failure(failed []error) error {
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	return fmt.Errorf("%d rows failed, the first: %w", len(failed), failed[0])
}

// figures measures a row of a run that has taken so long, with notes; where a quick run has taken too long, all of the row is
// void.
func (e *env) figures(ctx context.Context, r row, taken time.Duration) ([]Figure, error) {
	if e.Quick && taken > quickWithin {
		return r.voids(fmt.Sprintf("left out: the quick run has taken %s", taken.Round(time.Second))), nil
	}
	e.note("row %d: %s", r.number, r.name)
	start := time.Now()
	own := e.in(r)
	fsync, err := own.fsync()
	if err != nil {
		return nil, err
	}
	figures, err := own.measure(ctx)
	if err == nil {
		// What is measured while the caller gives up tells nothing, whatever became of its calls.
		err = errors.Join(ctx.Err(), r.check(figures))
	}
	e.note("row %d took %s", r.number, time.Since(start).Round(time.Second))
	if err != nil {
		return nil, err
	}
	for i, c := range r.claims {
		figures[i] = figures[i].onDisk(c, fsync)
		figures[i].Row, figures[i].Busy = r.number, own.busy
	}
	return figures, nil
}
