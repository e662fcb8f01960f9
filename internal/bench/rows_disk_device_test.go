package bench

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestSectorsWritten(t *testing.T) {
	const counters = " 1123722   163661 44552314  2367042  5572876  1395658 298288328  1974774        0   871772  4800183  1236356       61 290308040   149485  2601526   308881\n"
	got, err := sectorsWritten(counters)
	if err != nil || got != 298288328*512 {
		t.Errorf("written: %d, %v", got, err)
	}
	for _, bad := range []string{"", "1 2 3 4 5 6", "1 2 3 4 5 6 seven 8"} {
		if _, err := sectorsWritten(bad); !errors.Is(err, errNoCounters) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDeviceFigure(t *testing.T) {
	for _, c := range []struct {
		name       string
		idle, busy wrote
		want       float64
		met, void  bool
	}{
		{"what is written anyway counts for nothing", wrote{1000, time.Second}, wrote{22_000, 2 * time.Second}, 20, true, false},
		{"missed", wrote{0, time.Second}, wrote{31_000, time.Second}, 31, false, false},
		{"something else writes", wrote{2000, time.Second}, wrote{10_000, time.Second}, 8, false, true},
		{"nothing is counted", wrote{0, time.Second}, wrote{0, time.Second}, 0, false, true},
	} {
		f := deviceFigure(c.idle, c.busy, 1000)
		if math.Abs(f.Figure-c.want) > 1e-9 || f.Met != c.met || f.Void != c.void || f.Void != (f.Why != "") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
