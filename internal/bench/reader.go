package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// received is a reply as it came, undecoded.
type received struct{ bytes []byte }

// rawCodec is protobuf's codec, but leaves a *received as it is, as the SDK's raw client does.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*received); ok {
		r.bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// reader is the raw client: it asks for chains, takes the replies' bytes and does not decode them. Not for use by several
// goroutines.
type reader struct {
	s    *server
	conn *grpc.ClientConn
	rpc  transcriptv1.TranscriptServiceClient
	raw  grpc.CallOption
	// sizes are how many bytes came for each alias when it was first read. Another number is an error.
	sizes map[string]int
}

// reader makes a raw client on a connection of its own.
func (s *server) reader() (*reader, error) {
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	return newReader(s, conn), nil
}

func newReader(s *server, conn *grpc.ClientConn) *reader {
	return &reader{
		s: s, conn: conn, rpc: transcriptv1.NewTranscriptServiceClient(conn), sizes: map[string]int{},
		raw: grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)}),
	}
}

// stream reads the chain that an alias points to, frame by frame.
func (r *reader) stream(ctx context.Context, alias string) error {
	size := 0
	err := r.frames(ctx, alias, func(frame []byte) { size += len(frame) })
	return errors.Join(err, r.same(alias, size))
}

// frames yields the frames of a stream, which are the yielded function's.
func (r *reader) frames(ctx context.Context, alias string, yield func([]byte)) error {
	stream, err := r.rpc.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Namespace: r.s.namespace, Head: byAlias(alias)}, r.raw)
	if err != nil {
		return err
	}
	for {
		var frame received
		if err := stream.RecvMsg(&frame); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		yield(frame.bytes)
	}
}

// assemble reads what comes after a node, if one is named, in one reply.
func (r *reader) assemble(ctx context.Context, alias, after string) error {
	reply, err := r.whole(ctx, alias, after)
	return errors.Join(err, r.same(alias, len(reply)))
}

func (r *reader) whole(ctx context.Context, alias, after string) ([]byte, error) {
	var reply received
	req := &transcriptv1.AssembleRequest{Namespace: r.s.namespace, Head: byAlias(alias), AfterId: after}
	err := r.conn.Invoke(ctx, transcriptv1.TranscriptService_Assemble_FullMethodName, req, &reply, r.raw)
	return reply.bytes, err
}

// same checks that as much comes as came before.
func (r *reader) same(alias string, size int) error {
	before, ok := r.sizes[alias]
	if !ok {
		r.sizes[alias] = size
		return nil
	}
	if size != before {
		return fmt.Errorf("a read gave %d bytes, and %d before", size, before)
	}
	return nil
}

// chain is a chain of turns to be put.
type chain struct {
	alias string
	first uint64
	turns int
}

// reading starts a transcriptd, with flags, that has chains, and has closed and opened its store since: what is read comes
// from compressed tables, as it does from any store that has been there for a while.
func (e *env) reading(ctx context.Context, flags []string, chains ...chain) (*server, error) {
	s, err := e.transcriptd(flags...)
	if err != nil {
		return nil, err
	}
	for _, c := range chains {
		if _, err := s.fill(ctx, c.alias, c.first, c.turns); err != nil {
			return nil, err
		}
	}
	if s.process == nil {
		return s, nil
	}
	return s, errors.Join(s.stop(), s.start(flags...))
}

// ready starts a limit in memory with what transcriptd answers to a method for chainAlias. Against a remote address it is
// the server there, which contests leave out.
func (s *server) ready(ctx context.Context, method string) (*server, error) {
	if s.process == nil {
		return s, nil
	}
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	var replies [][]byte
	if method == transcriptv1.TranscriptService_Assemble_FullMethodName {
		reply, failed := r.whole(ctx, chainAlias, "")
		replies, err = append(replies, reply), failed
	} else {
		err = r.frames(ctx, chainAlias, func(frame []byte) { replies = append(replies, frame) })
	}
	if err != nil {
		return nil, err
	}
	dir, err := s.e.folder("recording")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "replies")
	if err := (recording{recordingKey(method, chainAlias): replies}).write(path); err != nil {
		return nil, err
	}
	return s.e.limit("memory", path)
}

// readers are raw clients of two servers that must answer in the same size.
func readers(a, b *server) (ra, rb *reader, err error) {
	if ra, err = a.reader(); err != nil {
		return nil, nil, err
	}
	if rb, err = b.reader(); err != nil {
		return nil, nil, err
	}
	rb.sizes = ra.sizes
	return ra, rb, nil
}

// firstReads opens transcriptd's store n times, and times the first stream of chainAlias after each.
func (s *server) firstReads(ctx context.Context, n int) (*sample, error) {
	first := &sample{}
	for range n {
		r, err := s.reopened(ctx)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := r.stream(ctx, chainAlias); err != nil {
			return nil, err
		}
		took := time.Since(begin)
		first.took, first.while = append(first.took, took), first.while+took
	}
	slices.Sort(first.took)
	return first, nil
}

// reopened closes and opens transcriptd's store, and connects a raw client.
func (s *server) reopened(ctx context.Context) (*reader, error) {
	if err := errors.Join(s.stop(), s.start()); err != nil {
		return nil, err
	}
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	return r, r.connected(ctx)
}

// connected waits until the connection stands.
func (r *reader) connected(ctx context.Context) error {
	defer r.s.e.dog.await()()
	r.conn.Connect()
	for state := r.conn.GetState(); state != connectivity.Ready; state = r.conn.GetState() {
		if !r.conn.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
	return nil
}
