package chainview

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/grpc/mem"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// countedMemory counts what is given out and not given back.
type countedMemory map[*byte]bool

func (m countedMemory) Get(n int) *[]byte {
	b := make([]byte, n, max(n, 2<<10)) // so that gRPC's buffers give it back, however short it is
	m[&b[:1][0]] = true
	return &b
}

func (m countedMemory) Put(b *[]byte) { delete(m, &(*b)[:1][0]) }

func (countedMemory) Borrow(b []byte) mem.Buffer { return mem.SliceBuffer(b) }

// keptRun are payloads that lie end to end in memory that is kept.
type keptRun struct {
	kept          []byte
	from, through int
}

// TestFrames: what is laid comes out in order and counted, what is kept without a copy, as one if it lies end to end, and all
// memory is given back.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := countedMemory{}
		f := &Frame{Memory: pool, Most: rapid.IntRange(0, 3*wire.FrameBytes).Draw(t, "most"), Exactly: rapid.Bool().Draw(t, "exactly")}
		var want []byte
		var runs []keptRun
		kept, end, goesOn := make([]byte, 3*wire.FrameBytes), 0, false // goesOn: what was laid last ends there in kept
		for i := range rapid.IntRange(0, 40).Draw(t, "payloads") {
			size := rapid.SampledFrom([]int{1, 10, SharedBytes - 1, SharedBytes, 3000, wire.FrameBytes + 1}).Draw(t, "size")
			payload := bytes.Repeat(fmt.Append(nil, i%10), size)
			want = append(want, payload...)
			how := rapid.SampledFrom([]string{"made", "added", "shared", "shared behind a gap", "shared elsewhere"}).Draw(t, "how")
			switch how {
			case "made":
				f.extend(size, func(b []byte) []byte { return append(b, payload...) })
			case "added":
				f.add(payload)
				clear(payload)
			default:
				if how == "shared elsewhere" || end+1+size > len(kept) {
					most := rapid.SampledFrom([]int{0, 2 * size, 3 * wire.FrameBytes}).Draw(t, "kept")
					kept, end, goesOn = make([]byte, max(most, 1+size)), 0, false
				}
				if how == "shared behind a gap" {
					end, goesOn = end+1, false
				}
				copy(kept[end:], payload)
				f.Share(kept, end, size)
				if !goesOn {
					runs = append(runs, keptRun{kept, end, end})
				}
				end, goesOn = end+size, true
				runs[len(runs)-1].through = end
				continue
			}
			goesOn = false
		}
		if f.Bytes != len(want) || f.Size() != len(want) {
			t.Fatalf("%d bytes, size %d; %d were laid", f.Bytes, f.Size(), len(want))
		}
		f.Close()
		all := f.Messages()
		if got := all.Materialize(); !bytes.Equal(got, want) {
			t.Fatal("other bytes come out")
		}
		laid := map[*byte]int{}
		for _, b := range all {
			laid[&b.ReadOnlyData()[0]] = b.Len()
		}
		wasted := 0
		for _, r := range runs {
			size := r.through - r.from
			switch laid[&r.kept[r.from]] {
			case size:
				wasted += len(r.kept) - size
			case 0:
				if size >= SharedBytes && len(r.kept)-size <= wire.FrameBytes-wasted {
					t.Fatalf("%d bytes that are kept were copied", size)
				}
			default:
				t.Fatalf("%d bytes that are kept were cut", size)
			}
		}
		if wasted > len(want)+wire.FrameBytes {
			t.Fatalf("for %d bytes %d more stay in memory", len(want), wasted)
		}
		all.Free()
		for b := range pool {
			t.Fatalf("memory at %p is not given back", b)
		}
	})
}
