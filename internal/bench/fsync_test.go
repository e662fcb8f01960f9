package bench

import (
	"context"
	"strings"
	"testing"
)

// What fsync takes is measured before each row with figures that depend on it, stands beside them, and voids those for
// which it is too little.
func TestFsyncIsMeasuredBeforeEachRow(t *testing.T) {
	one := claim{"of no disk", atLeast(1)}
	never, always := claim{"of a disk", atLeast(1).onDisk(1e9)}, claim{"of any disk", atLeast(1).onDisk(1e-9)}
	r := row{9, "puts", func(context.Context, *env) ([]Figure, error) {
		return []Figure{figure(one, 2), figure(never, 2), figure(always, 2)}, nil
	}, []claim{one, never, always}}
	e := rowEnv(t)
	figures, err := e.figures(t.Context(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f := figures[0]; f.Void || len(f.Measured) != 0 {
		t.Errorf("%+v", f)
	}
	for _, f := range figures[1:] {
		if len(f.Measured) != 1 || f.Measured[0].Value <= 0 || f.Measured[0].Unit != "us" {
			t.Errorf("%+v", f)
		}
	}
	if f := figures[1]; !f.Void || f.Met || !strings.Contains(f.Why, "fsync takes") {
		t.Errorf("%+v", f)
	}
	e.Remote = "127.0.0.1:1"
	if figures, err = e.figures(t.Context(), r, 0); err != nil || figures[1].Void || len(figures[1].Measured) != 0 {
		t.Errorf("of a server elsewhere: %+v, %v", figures, err)
	}
}

// A disk that syncs nothing voids what depends on it, and one that syncs fast what holds only where it is slow.
func TestFiguresOnDisk(t *testing.T) {
	puts, against := claim{"puts", atLeast(1).onDisk(syncsAtAll)}, claim{"against", atLeast(1).onDisk(syncsSlowly)}
	for _, c := range []struct {
		claim claim
		fsync float64
		void  bool
	}{
		{puts, 49, true}, {puts, 51, false}, {puts, 299, false}, {against, 49, true}, {against, 299, true}, {against, 300, false},
	} {
		if f := figure(c.claim, 2).onDisk(c.claim, c.fsync); f.Void != c.void || f.Met == c.void {
			t.Errorf("%s with %g us: %+v", c.claim.what, c.fsync, f)
		}
	}
	if f := void(puts, "why").onDisk(puts, 10); f.Why != "why" || len(f.Measured) != 0 {
		t.Errorf("what was void already: %+v", f)
	}
}
