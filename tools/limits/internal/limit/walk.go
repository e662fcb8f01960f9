package limit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// walk is the plain way to keep chains: a row for each node under its id, with its parent's id and its messages. A read is a walk
// from the head to the root with a Get each; what comes is decoded, turned around, and sent as messages that gRPC encodes. It
// checks nothing and syncs nothing. The first read closes and opens the database, so that what was put is read from tables, as
// transcriptd's chains are.
type walk struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	dir string

	mu sync.RWMutex
	// db is nil where it could not be opened again.
	db *badgerdb.Bare
	// fresh says that something was put since the database was opened.
	fresh bool
}

func openWalk(dir string) (service, error) {
	w := &walk{dir: dir}
	return w, w.open()
}

// walkCacheBytes is what transcriptd has for all of its caches; the walk has it for blocks.
const walkCacheBytes = 64 << 20

func (w *walk) open() (err error) {
	w.db, err = badgerdb.OpenBare(w.dir, func(o badger.Options) badger.Options {
		return o.WithSyncWrites(false).WithBlockCacheSize(walkCacheBytes)
	})
	return err
}

// Close closes the database, if there is one.
func (w *walk) Close() error {
	if w.db == nil {
		return nil
	}
	return w.db.Close()
}

// nodeID names a node. The row under it is the parent's id, zeros for a root, and the payload behind it.
type nodeID [sha256.Size]byte

// aliasKey is the key of an alias, whose value is a nodeID. No id has its length.
func aliasKey(name string) []byte { return append(make([]byte, sha256.Size), name...) }

// PutNodes puts nodes behind a parent or behind each other, and points aliases to them.
func (w *walk) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = true
	batch := w.db.NewWriteBatch()
	defer batch.Cancel()
	reply := &transcriptv1.PutNodesResponse{}
	var previous nodeID
	for _, in := range req.Nodes {
		row, err := walkRow(in, previous)
		if err != nil {
			return nil, err
		}
		previous = sha256.Sum256(row)
		err = batch.Set(slices.Clone(previous[:]), row)
		for _, a := range in.Aliases {
			err = errors.Join(err, batch.Set(aliasKey(a.Name), slices.Clone(previous[:])))
		}
		if err != nil {
			return nil, err
		}
		reply.Nodes = append(reply.Nodes, &transcriptv1.PutNodeResponse{NodeId: hex.EncodeToString(previous[:]), Created: true})
	}
	return reply, batch.Flush()
}

func walkRow(in *transcriptv1.NewNode, previous nodeID) ([]byte, error) {
	if !in.Previous {
		previous = nodeID{}
		if id := in.GetParent().GetNodeId(); id != "" {
			if n, err := hex.Decode(previous[:], []byte(id)); err != nil || n != len(previous) {
				return nil, status.Error(codes.InvalidArgument, "a parent is named by something else than an id")
			}
		}
	}
	return proto.MarshalOptions{}.MarshalAppend(previous[:], &transcriptv1.Payload{Messages: in.Messages})
}

// frameBytes is what a frame of several nodes takes at most, as in transcriptd.
const frameBytes = 64 << 10

// StreamAssemble walks from an alias to the root.
func (w *walk) StreamAssemble(req *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	head, nodes, err := w.read(req.GetHead().GetAlias())
	if err != nil {
		return err
	}
	frame := &transcriptv1.StreamAssembleResponse{HeadId: hex.EncodeToString(head[:])}
	size := 0
	for _, node := range slices.Backward(nodes) {
		if size > 0 && size+node.size > frameBytes {
			if err := out.Send(frame); err != nil {
				return err
			}
			frame, size = &transcriptv1.StreamAssembleResponse{}, 0
		}
		frame.Messages = append(frame.Messages, node.messages...)
		size += node.size
	}
	frame.Report = &transcriptv1.Report{}
	return out.Send(frame)
}

// walkedNode is a node as it was read; size is that of its payload.
type walkedNode struct {
	messages []*transcriptv1.Message
	size     int
}

// read reads a chain, head first.
func (w *walk) read(alias string) (head nodeID, nodes []walkedNode, err error) {
	if err := w.flush(); err != nil {
		return head, nil, err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	err = w.db.View(func(txn *badger.Txn) error {
		err := get(txn, aliasKey(alias), func(id []byte) error {
			copy(head[:], id)
			return nil
		})
		for at := head; err == nil && at != (nodeID{}); {
			id := at
			err = get(txn, id[:], func(row []byte) error {
				payload := &transcriptv1.Payload{}
				n := copy(at[:], row)
				nodes = append(nodes, walkedNode{size: len(row) - n})
				err := proto.Unmarshal(row[n:], payload)
				nodes[len(nodes)-1].messages = payload.Messages
				return err
			})
		}
		return err
	})
	return head, nodes, err
}

func get(txn *badger.Txn, key []byte, f func([]byte) error) error {
	item, err := txn.Get(key)
	if err != nil {
		return err
	}
	return item.Value(f)
}

// flush sees to it that all rows are in tables.
func (w *walk) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fresh {
		w.fresh = false
		return errors.Join(w.db.Close(), w.open())
	}
	if w.db == nil {
		return errors.New("the database could not be opened again")
	}
	return nil
}
