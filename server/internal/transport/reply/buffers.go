package reply

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/mem"

	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// buffers are what replies are laid and encoded into. gRPC's own pool goes from 32 KiB to 1 MiB at once, of which each frame
// of a stream would hold several for as long as its reader is slow, and clears what it gives out; a reply is written over
// all that is sent of its buffer.
type buffers struct {
	pools []sizedPool
	// given is the bytes that were asked for so far.
	given atomic.Int64
}

// sizedPool has buffers of one capacity.
type sizedPool struct {
	size int
	pool *sync.Pool
}

// bufferSizes are those of buffers that are used again. The least is more than gRPC's threshold (mem.IsBelowBufferPoolingThreshold),
// at or below which mem.NewBuffer forgets the pool and gives nothing back.
var bufferSizes = []int{
	2 << 10, 4 << 10, 16 << 10, 32 << 10, wire.FrameBytes + 8<<10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, wire.MaxReply + 64<<10,
}

func NewBuffers() *buffers {
	b := &buffers{}
	for _, size := range bufferSizes {
		b.pools = append(b.pools, sizedPool{size, &sync.Pool{New: func() any {
			made := make([]byte, size)
			return &made
		}}})
	}
	return b
}

// Get returns a buffer of a length; what is in it is whatever was there before.
func (b *buffers) Get(length int) *[]byte {
	b.given.Add(int64(length))
	i, _ := slices.BinarySearchFunc(b.pools, length, func(p sizedPool, n int) int { return p.size - n })
	if i < len(b.pools) {
		if got, ok := b.pools[i].pool.Get().(*[]byte); ok {
			*got = (*got)[:length]
			return got
		}
	}
	made := make([]byte, length)
	return &made
}

// Borrow makes a buffer of what is another's.
func (*buffers) Borrow(b []byte) mem.Buffer { return mem.SliceBuffer(b) }

// Put takes a buffer back; one that is not of these is left to the garbage collector.
func (b *buffers) Put(buffer *[]byte) {
	i, found := slices.BinarySearchFunc(b.pools, cap(*buffer), func(p sizedPool, n int) int { return p.size - n })
	if found {
		b.pools[i].pool.Put(buffer)
	}
}

// Laid is how many bytes were asked for so far.
func (b *buffers) Laid() int64 { return b.given.Load() }
