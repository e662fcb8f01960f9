package bench

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

// walkLimit is the plain way to keep chains: a row for each node under its id, with its parent's id and its messages. A
// read is a walk from the head to the root with a Get each; what comes is decoded, turned around, and sent as messages that
// gRPC encodes. It keeps nothing else, checks nothing and syncs nothing.
//
// What was put is read from tables, as transcriptd's chains are: the first read closes and opens the database.
type walkLimit struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	dir string

	mu sync.RWMutex
	// db is nil where it could not be opened again; fault says why, to every call from then on.
	db    *badgerdb.Bare
	fault error
	// fresh says that something was put since the database was opened.
	fresh bool
}

func openWalk(dir string, _ []string) (limit, error) {
	l := &walkLimit{dir: dir}
	return l, l.open()
}

// walkCacheBytes is what transcriptd has for all of its caches; the walk has it for blocks.
const walkCacheBytes = 64 << 20

func (l *walkLimit) open() error {
	db, err := badgerdb.OpenBare(l.dir, func(o badger.Options) badger.Options {
		return o.WithSyncWrites(false).WithBlockCacheSize(walkCacheBytes)
	})
	if err != nil {
		return err
	}
	l.db = db
	return nil
}

// Close closes the database, if there is one.
func (l *walkLimit) Close() error {
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}

// walkID names a node. The row under it is the parent's id, zeros for a root, and the payload behind it.
type walkID [sha256.Size]byte

// walkAliasKey is the key of an alias, whose value is a walkID. No id has its length.
func walkAliasKey(name string) []byte { return append(make([]byte, sha256.Size), name...) }

// PutNodes puts nodes by their parents' ids or behind each other, and points aliases to them.
func (l *walkLimit) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return nil, l.fault
	}
	l.fresh = true
	batch := l.db.NewWriteBatch()
	defer batch.Cancel()
	reply := &transcriptv1.PutNodesResponse{}
	var previous walkID
	for _, node := range req.Nodes {
		row, err := walkRow(node, previous)
		if err != nil {
			return nil, err
		}
		previous = sha256.Sum256(row)
		if err := batch.Set(slices.Clone(previous[:]), row); err != nil {
			return nil, err
		}
		for _, a := range node.Aliases {
			if err := batch.Set(walkAliasKey(a.Name), slices.Clone(previous[:])); err != nil {
				return nil, err
			}
		}
		reply.Nodes = append(reply.Nodes, &transcriptv1.PutNodeResponse{NodeId: hex.EncodeToString(previous[:]), Created: true})
	}
	return reply, batch.Flush()
}

// walkRow is a node's row.
func walkRow(node *transcriptv1.NewNode, previous walkID) ([]byte, error) {
	parent := walkID{}
	if id := node.GetParent().GetNodeId(); node.Previous {
		parent = previous
	} else if id != "" {
		b, err := hex.DecodeString(id)
		if err != nil || len(b) != len(parent) {
			return nil, status.Error(codes.InvalidArgument, "a parent is named by something else than an id")
		}
		parent = walkID(b)
	}
	return proto.MarshalOptions{}.MarshalAppend(parent[:], &transcriptv1.Payload{Messages: node.Messages})
}

// StreamAssemble walks from an alias to the root.
func (l *walkLimit) StreamAssemble(req *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	head, nodes, err := l.walk(req.GetHead().GetAlias())
	if err != nil {
		return err
	}
	frame := &transcriptv1.StreamAssembleResponse{HeadId: hex.EncodeToString(head[:])}
	size := 0
	for _, node := range slices.Backward(nodes) {
		if size > 0 && size+node.size > walkFrameBytes {
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

// walkFrameBytes is what a frame of several nodes takes at most, as in transcriptd.
const walkFrameBytes = 64 << 10

// walkedNode is a node as it was read; size is that of its payload.
type walkedNode struct {
	messages []*transcriptv1.Message
	size     int
}

// walk reads a chain, head first.
func (l *walkLimit) walk(alias string) (head walkID, nodes []walkedNode, err error) {
	if err := l.flushed(); err != nil {
		return head, nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.fault != nil {
		return head, nil, l.fault
	}
	err = l.db.View(func(txn *badger.Txn) error {
		if err := walkGet(txn, walkAliasKey(alias), func(id []byte) error { return walkCopy(&head, id) }); err != nil {
			return err
		}
		for at := head; at != (walkID{}); {
			id := at
			err := walkGet(txn, id[:], func(row []byte) error {
				if err := walkCopy(&at, row); err != nil {
					return err
				}
				payload := &transcriptv1.Payload{}
				if err := proto.Unmarshal(row[len(at):], payload); err != nil {
					return err
				}
				nodes = append(nodes, walkedNode{payload.Messages, len(row) - len(at)})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return head, nodes, err
}

// flushed sees to it that all rows are in tables.
func (l *walkLimit) flushed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil || !l.fresh {
		return l.fault
	}
	closed := l.db
	l.db, l.fresh = nil, false
	l.fault = errors.Join(closed.Close(), l.open())
	return l.fault
}

func walkGet(txn *badger.Txn, key []byte, f func([]byte) error) error {
	item, err := txn.Get(key)
	if err != nil {
		return err
	}
	return item.Value(f)
}

// walkCopy reads the id that b begins with.
func walkCopy(id *walkID, b []byte) error {
	if copy(id[:], b) != len(id) {
		return errors.New("a row is too short for an id")
	}
	return nil
}
