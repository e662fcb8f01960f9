package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
	"github.com/transcriptd/transcriptd/tools/limits/internal/process"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

var diskBytes = measure.AtMost(0.5, "disk bytes per text byte, 1,000 turns, as a stopped transcriptd leaves them").
	Meaning("1 GB of text takes so many GB, with everything that finds it.")

// textOnDisk holds a store with one chain against the text in it: all that a turn says and calls with, nothing of how it is encoded.
// Turns are put one by one as agents do, each with an alias for its message, and the chat's alias moved.
func textOnDisk(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	text := 0
	var parent *transcriptv1.NodeRef
	for i := range e.chain {
		messages := turns.Turn(uint64(i))
		text += turns.TextBytes(messages)
		res, err := rpc.PutNode(ctx, &transcriptv1.PutNodeRequest{
			Namespace: s.namespace, Parent: parent, Messages: messages,
			Aliases: []*transcriptv1.AliasUpdate{{Name: "chat/some"}, {Name: messageAlias(i)}},
		})
		if err != nil {
			return nil, err
		}
		parent = raw.ByID(res.NodeId)
	}
	if err := s.stop(); err != nil {
		return nil, err
	}
	bytes, err := process.DiskUsage(s.dir)
	if err != nil {
		return nil, err
	}
	return []measure.Figure{diskBytes.Figure(float64(bytes)/float64(text), fmt.Sprintf("%d bytes of text, %d on disk", text, bytes))}, nil
}

// messageAlias names a turn's message as agents do, by an id of 20 characters from where it was sent.
func messageAlias(i int) string {
	random := rand.New(rand.NewPCG(3, uint64(i)))
	id := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, random.Uint64()), random.Uint64())
	return "msg/" + base64.RawURLEncoding.EncodeToString(id[:15])
}
