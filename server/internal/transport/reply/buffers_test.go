package reply

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// BenchmarkShortReplies encodes a reply of so many bytes and gives its memory back, as gRPC does once it is sent.
func BenchmarkShortReplies(b *testing.B) {
	for _, size := range []int{40, 200, 1000, 2000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := NewCodec(receive.NewRequests(), NewBuffers(), slog.New(slog.DiscardHandler))
			reply := &transcriptv1.AssembleResponse{Etag: strings.Repeat("x", size)}
			b.ReportAllocs()
			for b.Loop() {
				encoded, err := c.Marshal(reply)
				if err != nil {
					b.Fatal(err)
				}
				encoded.Free()
			}
		})
	}
}

// TestBuffersComeBack: memory of every size that is used again is given back by a buffer of gRPC that is freed, to where such
// memory is taken from.
func TestBuffersComeBack(t *testing.T) {
	for i, size := range bufferSizes {
		shortest := 1
		if i > 0 {
			shortest = bufferSizes[i-1] + 1
		}
		for _, length := range []int{shortest, size} {
			pool := &countedPool{NewBuffers(), map[*byte]bool{}}
			got := pool.Get(length)
			if len(*got) != length || cap(*got) != size {
				t.Errorf("%d bytes are given as %d of %d, want %d", length, len(*got), cap(*got), size)
			}
			if mem.NewBuffer(got, pool).Free(); len(pool.out) > 0 {
				t.Errorf("%d bytes of %d are not given back", length, size)
			}
		}
	}
}

// countedPool counts what is given out and not given back.
type countedPool struct {
	*buffers
	out map[*byte]bool
}

func (p *countedPool) Get(n int) *[]byte {
	b := p.buffers.Get(n)
	p.out[&(*b)[:1][0]] = true
	return b
}

func (p *countedPool) Put(b *[]byte) {
	delete(p.out, &(*b)[:1][0])
	p.buffers.Put(b)
}
