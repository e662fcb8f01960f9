package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"google.golang.org/grpc/mem"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// countedPool counts what is given out and not given back.
type countedPool struct {
	mem.BufferPool
	out map[*byte]bool
}

func (p *countedPool) Get(n int) *[]byte {
	b := p.BufferPool.Get(n)
	p.out[&(*b)[:1][0]] = true
	return b
}

func (p *countedPool) Put(b *[]byte) {
	delete(p.out, &(*b)[:1][0])
	p.BufferPool.Put(b)
}

// keptRun are payloads that lie end to end in memory that is kept.
type keptRun struct {
	kept          []byte
	from, through int
}

// TestFrames: what is laid comes out in order and counted, what is kept without a copy, as one if it lies end to end, and all
// memory is given back.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := &countedPool{newBuffers(), map[*byte]bool{}}
		f := &frame{pool: pool, most: rapid.IntRange(0, 3*frameBytes).Draw(t, "most"), exactly: rapid.Bool().Draw(t, "exactly")}
		var want []byte
		var runs []keptRun
		kept, end, goesOn := make([]byte, 3*frameBytes), 0, false // goesOn: what was laid last ends there in kept
		for i := range rapid.IntRange(0, 40).Draw(t, "payloads") {
			size := rapid.SampledFrom([]int{1, 10, sharedBytes - 1, sharedBytes, 3000, frameBytes + 1}).Draw(t, "size")
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
					most := rapid.SampledFrom([]int{0, 2 * size, 3 * frameBytes}).Draw(t, "kept")
					kept, end, goesOn = make([]byte, max(most, 1+size)), 0, false
				}
				if how == "shared behind a gap" {
					end, goesOn = end+1, false
				}
				copy(kept[end:], payload)
				f.share(kept, end, size)
				if !goesOn {
					runs = append(runs, keptRun{kept, end, end})
				}
				end, goesOn = end+size, true
				runs[len(runs)-1].through = end
				continue
			}
			goesOn = false
		}
		if f.bytes != len(want) || f.size() != len(want) {
			t.Fatalf("%d bytes, size %d; %d were laid", f.bytes, f.size(), len(want))
		}
		f.close()
		all := f.messages()
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
				if size >= sharedBytes && len(r.kept)-size <= frameBytes-wasted {
					t.Fatalf("%d bytes that are kept were copied", size)
				}
			default:
				t.Fatalf("%d bytes that are kept were cut", size)
			}
		}
		if wasted > len(want)+frameBytes {
			t.Fatalf("for %d bytes %d more stay in memory", len(want), wasted)
		}
		all.Free()
		for b := range pool.out {
			t.Fatalf("memory at %p is not given back", b)
		}
	})
}

// A spliced reply is the message with the frame's messages behind it.
func TestSplicedReply(t *testing.T) {
	pool := newBuffers()
	c := newCodec(pool, slog.New(slog.DiscardHandler))
	f := &frame{pool: pool, most: 100}
	encode := func(v any) []byte {
		b, err := c.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Free()
		return b.Materialize()
	}
	payload := encode(&transcriptv1.Payload{Messages: []*transcriptv1.Message{{}, {}}})
	f.share(payload, 0, len(payload))
	m := &transcriptv1.AssembleResponse{HeadId: "ab"}
	reply := splice(m, f, nil)
	want := size(reply)
	all, err := reply.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := encode(reply)
	if !bytes.Equal(all, got) {
		t.Error("Encode gives other bytes than are sent")
	}
	var back transcriptv1.AssembleResponse
	if err := c.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(got)}, &back); err != nil {
		t.Fatal(err)
	}
	if len(got) != want || back.HeadId != "ab" || len(back.Messages) != 2 {
		t.Errorf("%d bytes, %d told: %v", len(got), want, &back)
	}
}
