package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

// row is one row of the table. Numbers were given once; those of rows that are gone are not given again.
type row struct {
	number int
	claims []measure.Claim
	// run returns a figure for each claim, in order.
	run func(context.Context, *env) ([]measure.Figure, error)
}

func rows() []row {
	return []row{
		{1, []measure.Claim{streamed}, streamRead},
		{4, []measure.Claim{assembled}, unaryRead},
		{5, []measure.Claim{shortAssembled}, shortRead},
		{6, []measure.Claim{tailAssembled}, tailRead},
		{8, []measure.Claim{walkedRaw, walkedDecoded}, againstWalk},
		{10, []measure.Claim{putsBy64, putsBy256}, manyPuts},
		{12, []measure.Claim{putAlone}, lonePut},
		{13, []measure.Claim{putDeep}, putAtDepth},
		{15, []measure.Claim{besideP50, besideP99}, readsBesidePuts},
		{18, []measure.Claim{diskBytes}, textOnDisk},
		{20, []measure.Claim{memoryMost, memoryGrowth}, memoryUnderLoad},
		{22, []measure.Claim{importLike, importAlone}, importReal},
		{25, []measure.Claim{goodput, refusedClearly, silent}, overload},
		{26, []measure.Claim{fairPuts, fairPutsP99, fairReads, fairReadsP99}, fairShares},
		{27, []measure.Claim{besideStrangers}, strangers},
	}
}

const (
	// rowTime is more than any row takes.
	rowTime = 40 * time.Minute
	// leastSync is what a sync takes at least where the disk syncs.
	leastSync = 50 * time.Microsecond
)

// measure measures a row. Where that fails its figures tell nothing, and the error says why.
func (e *env) measure(ctx context.Context, r row) (figures []measure.Figure, err error) {
	e.note("row %d: %s", r.number, r.claims[0].What)
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, rowTime)
	defer cancel()
	figures, err = r.run(within, e)
	if ended := e.end(); err == nil {
		err = ended
	}
	if err == nil && len(figures) != len(r.claims) {
		err = fmt.Errorf("%d figures of %d claims", len(figures), len(r.claims))
	}
	if err != nil {
		figures = nil
		why, _, _ := strings.Cut(err.Error(), "\n")
		for _, c := range r.claims {
			figures = append(figures, c.Nothing("it failed: "+why))
		}
	}
	for i, c := range r.claims {
		figures[i].Row = r.number
		if c.Syncs && e.fsync < leastSync && figures[i].Void == "" {
			figures[i] = figures[i].Voided(fmt.Sprintf("a sync takes %s here: the disk does not sync", e.fsync))
		}
	}
	e.note("row %d took %s", r.number, time.Since(began).Round(time.Second))
	return figures, err
}
