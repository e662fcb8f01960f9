package chainstore

import "github.com/transcriptd/transcriptd/compaction/runloop"

// AliasLoop is where the last run loop of the chain of an alias stands, as the full fold has it: no copy of a compaction is looked at.
type AliasLoop struct {
	runloop.Loop
	// StartedAt is when its first message was sent, else first put; meaningful unless Phase is None. LastPut is when the last node of
	// the chain that is no compaction node was first put. Both are in milliseconds since the epoch.
	StartedAt, LastPut int64
}

// LoopReach bounds the heads that a page of aliases looks at to find those whose loop is open. Part of the contract: may only grow.
const LoopReach = 1000

// LoopAt tells of the last run loop of the chain that ends in head. ancestor gives the header of a node of its path.
func LoopAt(head *Header, ancestor func(seq uint32) (*Header, error)) (*AliasLoop, error) {
	out := &AliasLoop{Loop: head.State.Full.Loop}
	said := head
	for said.Covers.Present && said.Seq > 0 {
		var err error
		if said, err = ancestor(said.Seq - 1); err != nil {
			return nil, err
		}
	}
	out.LastPut = said.FirstPut
	if out.Phase == runloop.None {
		return out, nil
	}
	first := head
	if out.Start.Seq != head.Seq {
		var err error
		if first, err = ancestor(out.Start.Seq); err != nil {
			return nil, err
		}
	}
	if int64(out.Start.Index) >= int64(len(first.Messages)) {
		return nil, NoRow(out.Start.Seq)
	}
	out.StartedAt = first.Messages[out.Start.Index].SentAt(first.FirstPut)
	return out, nil
}
