package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
	"github.com/transcriptd/transcriptd/tools/limits/internal/process"
)

// TestMain serves a limit, or offers a load, where it is asked to, as main does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == limitCommand || os.Args[1] == offerCommand) {
		main()
		return
	}
	os.Exit(m.Run())
}

// tiny is as little as rows take.
var tiny = scale{
	rounds: 2, round: 20 * time.Millisecond, chain: 20, deep: 40, putters: [2]int{4, 8}, deepChains: 2, putsPerChain: 2, busy: 4,
	fill: 100_000, loaded: 1500 * time.Millisecond, saturating: []int{4}, floods: 1, load: 700 * time.Millisecond, deadline: 500 * time.Millisecond,
}

// small is an environment to measure tiny rows in.
func small(t *testing.T, programs string) *env {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := &env{
		scale: tiny, note: t.Logf, dir: t.TempDir(), limits: []string{self, limitCommand}, fsync: time.Second,
		transcriptd: filepath.Join(programs, "transcriptd"), transcriptctl: filepath.Join(programs, "transcriptctl"), transcripts: programs,
	}
	e.seed.Store(1 << 32)
	return e
}

// Each row runs from its beginning to its end, and gives a number for each of its claims.
func TestRows(t *testing.T) {
	programs := t.TempDir()
	for _, command := range []string{"transcriptd", "transcriptctl"} {
		if _, err := process.Build(t.Context(), programs, command); err != nil {
			t.Fatal(err)
		}
	}
	conversation(t, programs)
	for _, r := range rows() {
		t.Run(fmt.Sprint(r.number), func(t *testing.T) {
			t.Parallel()
			figures, err := small(t, programs).measure(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range figures {
				t.Logf("%+v", f)
				short := r.number == 20 || r.number == 25 && i == 0 || r.number == 26 // of these a tiny one tells nothing
				if f.Row != r.number || f.What != r.claims[i].What || f.Void != "" && !short || math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// conversation is one to import.
func conversation(t *testing.T, dir string) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintln(z, `{"id": "some", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}`)
	if err := errors.Join(z.Close(), os.WriteFile(filepath.Join(dir, "some.jsonl.gz"), b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A row that fails tells nothing, and says why on one line; so does one that returns other figures than it claims.
func TestRowsThatFail(t *testing.T) {
	one := measure.AtMost(1, "one").OnDisk()
	for _, run := range []func(context.Context, *env) ([]measure.Figure, error){
		func(context.Context, *env) ([]measure.Figure, error) { return nil, errors.New("no\nmore") },
		func(context.Context, *env) ([]measure.Figure, error) { return nil, nil },
		func(_ context.Context, e *env) ([]measure.Figure, error) {
			e.ends(func() error { return errors.New("it died") })
			return []measure.Figure{one.Figure(0.5)}, nil
		},
	} {
		figures, err := small(t, "").measure(t.Context(), row{9, []measure.Claim{one}, run})
		if err == nil || len(figures) != 1 || figures[0].Row != 9 || !strings.HasPrefix(figures[0].Void, "it failed: ") || strings.Contains(figures[0].Void, "\n") {
			t.Errorf("%+v, %v", figures, err)
		}
	}
}

// What depends on the disk tells nothing where that does not sync.
func TestNoSync(t *testing.T) {
	one, other := measure.AtMost(1, "one").OnDisk(), measure.AtMost(1, "other")
	e := small(t, "")
	e.fsync = time.Microsecond
	figures, err := e.measure(t.Context(), row{9, []measure.Claim{one, other}, func(context.Context, *env) ([]measure.Figure, error) {
		return []measure.Figure{one.Figure(0.5), other.Figure(0.5)}, nil
	}})
	if err != nil || figures[0].Void == "" || figures[0].Met || figures[1].Void != "" || !figures[1].Met {
		t.Errorf("%+v, %v", figures, err)
	}
}

func TestMistakes(t *testing.T) {
	for text, args := range map[string][]string{
		`no row "2"`: {"--rows", "1,2"}, `no row ""`: {"--rows", ""}, `"1" is no flag`: {"1"}, "not defined": {"--quik"},
	} {
		var notes bytes.Buffer
		if err := run(t.Context(), args, &notes, &notes); !errors.Is(err, errUsage) || !strings.Contains(notes.String(), text) {
			t.Errorf("%v: %v\n%s", args, err, notes.String())
		}
	}
	if err := run(t.Context(), []string{"--help"}, new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}

// The table has a line for each figure, and under it what it was made of; JSON has the same.
func TestReports(t *testing.T) {
	met, void := measure.AtLeast(2, "some").In("times").Meaning("Much.").Median([]float64{1, 2, 3, 4}, "a: 1"), measure.Under(1, "other").Nothing("no disk")
	met.Row, void.Row = 1, 4
	for asJSON, want := range map[bool][]string{
		false: {"A machine.", "| 1 | some | ≥ 2 times | 2.5 (2 to 4) | yes | Much. |", "| 4 | other | < 1 | – | void |  |", "Row 1\n\n- a: 1", "- void: no disk"},
		true:  {`"what": "some"`, `"target": "≥ 2 times"`, `"figure": 2.5`, `"met": true`, `"void": "no disk"`},
	} {
		var out, notes bytes.Buffer
		r := newReport(&out, &notes, asJSON)
		r.begin("A machine.")
		r.figures([]measure.Figure{met})
		r.figures([]measure.Figure{void})
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("no %q in\n%s", text, out.String())
			}
		}
		if asJSON && !json.Valid(out.Bytes()) {
			t.Error(out.String())
		}
	}
}

// The table of docs/performance.md has the rows that are measured, in their words.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for _, r := range rows() {
		for _, c := range r.claims {
			found := false
			for _, line := range lines {
				found = found || strings.HasPrefix(line, fmt.Sprintf("| %d | %s | %s | ", r.number, c.What, c.Target())) &&
					strings.HasSuffix(line, " | "+c.Means+" |")
			}
			if !found {
				t.Errorf("no line for row %d, %s, %s", r.number, c.What, c.Target())
			}
		}
	}
}

// A line that goes up has its slope, and what goes up and down around it an error.
func TestSlope(t *testing.T) {
	var straight, bent []float64
	for i := range 120 {
		straight = append(straight, 5+float64(i)/60)
		bent = append(bent, 5+float64(i)/60+float64(i/blockSeconds%2))
	}
	if s, e := 60*slope(straight), slopeError(straight); math.Abs(s-1) > 1e-9 || e > 1e-9 {
		t.Errorf("%v with an error of %v", s, e)
	}
	if e := slopeError(bent); e < 0.1 {
		t.Errorf("an error of %v", e)
	}
	if s, e := slope([]float64{1}), slopeError(nil); s != 0 || e != 0 {
		t.Errorf("%v, %v of nothing", s, e)
	}
}
