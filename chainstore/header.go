package chainstore

import "github.com/transcriptd/transcriptd/compaction/runloop"

// Link is the position of a node on a chain, if there is one.
type Link struct {
	Present bool
	Seq     uint32
}

// Header is everything about a node but its metadata and messages.
type Header struct {
	ID ID
	// Version1 says that the node has a header of version 1: it is judged by the rules of then, and what such a header does not
	// tell counts as absent.
	Version1 bool
	// Seq is the number of its ancestors.
	Seq uint32
	// FirstPut is when it was first put, in milliseconds since the epoch.
	FirstPut int64
	// Forks is the number of forks on its path: ancestors, itself included, that are not their parent's first child.
	Forks       uint32
	Salt        []byte
	SpawnedFrom *SpawnedFrom
	// PayloadLength, MetadataLength and DetailsLength are the sizes of what is kept beside the header. In version 1 there are no details.
	PayloadLength, MetadataLength, DetailsLength int
	Messages                                     []runloop.Brief
	// Outcome is how the run ended at this node; Stubs are the calls without a result whose group it ended, and whose stubs
	// stand behind the messages.
	Outcome runloop.Outcome
	Stubs   []runloop.Call
	// State is the folds through this node.
	State runloop.State
	// Tools and Variables are the nearest nodes, this one included, that have calls and that set or unset variables.
	Tools, Variables Link
	// Spawned is the nearest node, this one included, that has a SpawnedFrom.
	Spawned Link
	// Compaction is the nearest compaction node, this one included.
	Compaction Link
	// Covers is, on a compaction node, the last node that it stands for, and Provenance where each of its messages was
	// put first (summaries and stubs: none).
	Covers     Link
	Provenance []Provenance
	// Stands is, on a compaction node, the phase of the last run loop of its messages, which begin where their marks say.
	Stands runloop.Phase
	// Erased is what is written down of a node that was erased; nil: it was not.
	Erased *Erased
	// Extension is what a later program keeps of the node, field by field as RawHeader draws it. In version 1 there is none.
	Extension string
}

// Provenance is where a compaction node's message was put first.
type Provenance struct {
	Present bool
	Place   runloop.Place
}

// Times are those that its messages count with.
func (h *Header) Times() runloop.Times {
	return runloop.Times{FirstPut: h.FirstPut, AsSent: h.Version1 || h.Covers.Present}
}

// Folded is what folds go on from that leave the node out and come behind it.
func (h *Header) Folded() runloop.Folded {
	return runloop.Folded{Seq: h.Seq, Times: h.Times(), Messages: h.Messages, Stubs: h.Stubs, Outcome: h.Outcome}
}

// Repaired tells whether the effective view shows the node's messages otherwise than as they were put: it leaves out opaque
// messages, too.
func (h *Header) Repaired() bool {
	if len(h.Stubs) > 0 {
		return true
	}
	for i := range h.Messages {
		if m := &h.Messages[i]; !m.Shown() || len(m.Mark.Stubs) > 0 {
			return true
		}
	}
	return false
}

// HasFindings tells whether there is anything to report of the node's messages, they are Repaired, or it was erased. A stored header keeps
// the answer, and that of Repaired, as it was when the header was written.
func (h *Header) HasFindings() bool { return h.Erased != nil || h.marked() }

// marked is HasFindings of what was put.
func (h *Header) marked() bool {
	if h.Repaired() {
		return true
	}
	for i := range h.Messages {
		if m := &h.Messages[i].Mark; m.RepeatedIDs > 0 || m.Interrupts || m.LeadIn {
			return true
		}
	}
	return false
}
