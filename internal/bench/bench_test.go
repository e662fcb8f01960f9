package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// Every row says beforehand what its figures are of, and no two figures are of the same.
func TestRowsClaim(t *testing.T) {
	all := map[string]int{}
	for i, r := range rows() {
		if r.number != i+1 || len(r.claims) == 0 {
			t.Errorf("row %d stands at %d, with %d claims", r.number, i+1, len(r.claims))
		}
		for _, c := range r.claims {
			if c.what == "" || all[c.what] > 0 {
				t.Errorf("row %d claims %+v, as does row %d", r.number, c, all[c.what])
			}
			all[c.what] = r.number
		}
	}
}

// What rows say of a server elsewhere that they cannot measure is what they claim.
func TestRowsThatNeedTheProcess(t *testing.T) {
	none := []int{15, 16, 17, 18, 19, 20, 21, 22, 24}
	e := rowEnv(t)
	e.Remote = "127.0.0.1:1" // where nobody answers
	for _, r := range rows() {
		if !slices.Contains(none, r.number) {
			continue
		}
		figures, err := e.figures(t.Context(), r, 0)
		if err != nil {
			t.Errorf("row %d: %v", r.number, err)
		}
		for _, f := range figures {
			if !f.Void || f.Why == "" || f.Row != r.number {
				t.Errorf("row %d: %+v", r.number, f)
			}
		}
	}
}

// A row that returns other figures than it claims is told of.
func TestRowsReturnWhatTheyClaim(t *testing.T) {
	one, other := claim{"one", atMost(1)}, claim{"one", atMost(2)}
	e := rowEnv(t)
	for _, figures := range [][]Figure{nil, {figure(other, 1)}, {figure(one, 1), figure(other, 1)}} {
		r := row{9, "puts", func(context.Context, *env) ([]Figure, error) { return figures, nil }, []claim{one}}
		if _, err := e.figures(t.Context(), r, 0); !errors.Is(err, errOtherFigures) {
			t.Errorf("%+v: %v", figures, err)
		}
	}
}
