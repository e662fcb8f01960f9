package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
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

// A row that fails is void, says why, and does not end the run, unless nothing is left to measure; the run fails in the end.
func TestRowsThatFail(t *testing.T) {
	one := []claim{{"one", atMost(1)}}
	good := func(context.Context, *env) ([]Figure, error) { return []Figure{figure(one[0], 1)}, nil }
	failing := func(err error) func(context.Context, *env) ([]Figure, error) {
		return func(context.Context, *env) ([]Figure, error) { return nil, err }
	}
	died := fmt.Errorf("transcriptd %w\nits last words", errDied)
	gone := &client.Error{Code: codes.Unavailable, Message: "gone"}
	for _, c := range []struct {
		err    error
		remote string
		goesOn bool
	}{{errNotCreated, "", true}, {errNotCreated, "there", true}, {died, "", false}, {gone, "", true}, {gone, "there", false}} {
		e := rowEnv(t)
		e.Remote = c.remote
		var got []Figure
		err := e.all(t.Context(), []row{{1, "a", good, one}, {2, "b", failing(c.err), one}, {3, "c", good, one}},
			func(f Figure) { got = append(got, f) })
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), "row 2 (b)") {
			t.Errorf("%v", err)
		}
		if len(got) != 3 && c.goesOn || len(got) != 2 && !c.goesOn || !got[0].Met {
			t.Fatalf("after %v: %+v", c.err, got)
		}
		if f := got[1]; !f.Void || f.Row != 2 || !strings.HasPrefix(f.Why, "it failed: ") || strings.Contains(f.Why, "\n") {
			t.Errorf("%+v", f)
		}
	}
}

// Of several rows that failed, the error tells how many there were, and the first.
func TestSeveralRowsFail(t *testing.T) {
	r := row{1, "a", func(context.Context, *env) ([]Figure, error) { return nil, errNotCreated }, []claim{{"one", atMost(1)}}}
	err := rowEnv(t).all(t.Context(), []row{r, r}, func(Figure) {})
	if !errors.Is(err, errNotCreated) || !strings.HasPrefix(err.Error(), "2 rows failed, the first: row 1 (a): ") {
		t.Errorf("%v", err)
	}
}

// Who gives a run up gets no figures of the row that was under way.
func TestRunGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := row{1, "a", func(context.Context, *env) ([]Figure, error) {
		cancel()
		return nil, errNotCreated
	}, []claim{{"one", atMost(1)}}}
	if err := rowEnv(t).all(ctx, []row{r, r}, func(f Figure) { t.Errorf("%+v", f) }); err == nil {
		t.Error("no error")
	}
}
