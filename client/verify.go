package client

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// verifier follows the nodes of a reply from its base, or from a root, to the head, and recomputes the id of each from
// the bytes received.
type verifier struct {
	before, last string // the parent of the last node, and the last node; empty before a root
	head         string
	view         transcriptv1.View
	based        bool // the reply adds to a base
	off          bool // the caller holds the content: nothing came to verify
	// compaction is the node that stands for the first part of an effective view; nil before it came. What follows it
	// leads from the node that it covers to its parent, and, once joined, on from the node itself.
	compaction *transcriptv1.NodeInfo
	joined     bool
	// doubts are the nodes that were repaired and not settled yet, in order. The last may go on in the next frame.
	doubts []*doubt
}

// doubt is a node that came repaired: what is shown of it, stubs aside, in place of the messages that its id is a hash of.
type doubt struct {
	parent, id string
	shown      []byte
	// preamble says that the preamble ends in the node: a compaction stands for the rest of it.
	preamble bool
}

// frame verifies the nodes of a frame, which share out its messages.
func (v *verifier) frame(nodes []*transcriptv1.NodeInfo, payload []byte) error {
	for _, info := range nodes {
		own, rest, err := cut(payload, int(info.MessageCount))
		if err != nil {
			return err
		}
		if err := v.node(info, own); err != nil {
			return err
		}
		payload = rest
	}
	if len(payload) > 0 {
		return fmt.Errorf("%w: messages of no node", ErrVerification)
	}
	return nil
}

// node verifies the next node, or a further part of a node whose repair made it too large for a frame.
func (v *verifier) node(info *transcriptv1.NodeInfo, payload []byte) error {
	if err := verifyInfo(info, payload); err != nil {
		return err
	}
	if v.view == transcriptv1.View_VIEW_CONVERSATION {
		return nil // its nodes are not next to each other, and what was cut is the server's
	}
	hidden := info.Envelope.CoversThrough != "" && info.MessageCount == 0
	if v.view == transcriptv1.View_VIEW_FULL && !info.Verbatim && !hidden {
		return mismatch(info.NodeId, "a full view has its messages not as they were put")
	}
	part := info.Envelope.ParentId == v.before && info.NodeId == v.last && !info.Verbatim
	if !part {
		if err := v.link(info); err != nil {
			return err
		}
	}
	if info.Verbatim || hidden {
		return nil
	}
	return v.doubt(info, payload, part)
}

// link verifies that the node follows the one before.
func (v *verifier) link(info *transcriptv1.NodeInfo) error {
	parent := info.Envelope.ParentId
	c := v.compaction
	switch {
	case c != nil && !v.joined && parent == c.NodeId && v.last == c.Envelope.ParentId:
		v.joined = true
	case parent == v.last && !v.stands(info):
	case v.stands(info):
		return v.compacted(info)
	default:
		return mismatch(info.NodeId, "the parent is not the node before")
	}
	v.before, v.last = parent, info.NodeId
	return nil
}

// stands tells whether the node stands for what lies between the preamble and what it covers.
func (v *verifier) stands(info *transcriptv1.NodeInfo) bool {
	return info.Envelope.CoversThrough != "" && v.view != transcriptv1.View_VIEW_FULL && !v.based && v.compaction == nil
}

// compacted goes on behind what the node covers.
func (v *verifier) compacted(info *transcriptv1.NodeInfo) error {
	if !info.Verbatim {
		return mismatch(info.NodeId, "a compaction has its messages not as they were put")
	}
	if n := len(v.doubts); n > 0 && v.doubts[n-1].id == v.last {
		v.doubts[n-1].preamble = true
	}
	v.compaction = info
	v.before, v.last = "", info.Envelope.CoversThrough
	return nil
}

// doubt notes a node that came repaired, or a further part of one.
func (v *verifier) doubt(info *transcriptv1.NodeInfo, payload []byte, part bool) error {
	own, err := withoutStubs(payload)
	if err != nil {
		return mismatch(info.NodeId, err.Error())
	}
	n := len(v.doubts)
	switch {
	case !part:
		v.doubts = append(v.doubts, &doubt{parent: v.before, id: info.NodeId})
	case n == 0 || v.doubts[n-1].id != info.NodeId:
		return mismatch(info.NodeId, "it came twice")
	}
	d := v.doubts[len(v.doubts)-1]
	d.shown = append(d.shown, own...)
	return nil
}

// settled takes the doubts that no further part can belong to; all of them at the end.
func (v *verifier) settled(end bool) []*doubt {
	n := len(v.doubts)
	if !end && n > 0 && v.doubts[n-1].id == v.last {
		n--
	}
	settled := v.doubts[:n]
	v.doubts = v.doubts[n:]
	return settled
}

// settle verifies that what is shown of a node is what was put in it, but for results that may be left out. put is that,
// verified.
func (d *doubt) settle(put []byte) error {
	for shown := d.shown; len(put) > 0 || len(shown) > 0; {
		one, rest, err := cut(put, 1)
		if err != nil {
			return mismatch(d.id, "it shows what was not put")
		}
		if put = rest; bytes.HasPrefix(shown, one) {
			shown = shown[len(one):]
			continue
		}
		messages, err := decodeMessages(one)
		if err != nil {
			return err
		}
		switch role := messages[0].Role; {
		case role == transcriptv1.Role_ROLE_TOOL:
		case d.preamble && len(shown) == 0 && role != transcriptv1.Role_ROLE_SYSTEM && role != transcriptv1.Role_ROLE_DEVELOPER:
			return nil
		default:
			return mismatch(d.id, "it leaves out what is no result")
		}
	}
	return nil
}

// withoutStubs copies the payload less the stubs that the server added, each of which has to be just that: a result that
// says that there is none.
func withoutStubs(payload []byte) (own []byte, err error) {
	for len(payload) > 0 {
		one, rest, err := cut(payload, 1)
		if err != nil {
			return nil, err
		}
		messages, err := decodeMessages(one)
		if err != nil {
			return nil, err
		}
		payload = rest
		switch m := messages[0]; m.Origin {
		case transcriptv1.Origin_ORIGIN_STUB:
			stub := textMessage(transcriptv1.Role_ROLE_TOOL, runloop.StubText)
			stub.ToolCallId, stub.Name, stub.Origin = m.ToolCallId, m.Name, m.Origin
			if !bytes.Equal(one, canonical.AppendMessage(nil, stub)) {
				return nil, errors.New("a stub says more than it may")
			}
		default:
			own = append(own, one...)
		}
	}
	return own, nil
}

// end judges whether the nodes led to the head.
func (v *verifier) end() error {
	last := v.last
	if c := v.compaction; c != nil && !v.joined && last == c.Envelope.ParentId {
		last = c.NodeId
	}
	if !v.off && v.view != transcriptv1.View_VIEW_CONVERSATION && last != v.head {
		return fmt.Errorf("%w: the nodes do not lead to the head", ErrVerification)
	}
	return nil
}

// verifyInfo recomputes a node's id: of a verbatim node from its messages, else from the digest that the envelope gives.
func verifyInfo(info *transcriptv1.NodeInfo, payload []byte) error {
	given := info.Envelope
	if given == nil {
		return mismatch(info.NodeId, "no envelope came")
	}
	var e canonical.Envelope
	if info.Verbatim {
		e.PayloadDigest = canonical.PayloadDigest(given.Salt, payload)
	} else if digest, ok := parseID(given.PayloadDigest); ok && digest != nil {
		e.PayloadDigest = *digest
	} else {
		return mismatch(info.NodeId, "no digest of its messages came")
	}
	var parent, metadata, covers bool
	e.Parent, parent = parseID(given.ParentId)
	e.MetadataDigest, metadata = parseID(given.MetadataDigest)
	e.CoversThrough, covers = parseID(given.CoversThrough)
	from, err := canonical.ParseSpawnedFrom(given.SpawnedFrom)
	if !parent || !metadata || !covers || err != nil {
		return mismatch(info.NodeId, "its envelope is malformed")
	}
	e.SpawnedFrom = from
	if encodeID(canonical.NodeID(e)) != info.NodeId {
		return mismatch(info.NodeId, "it hashes to another id")
	}
	return nil
}

// verifyNode verifies a reply of GetNode: that it is the node asked for, and that envelope, metadata and, unless they
// were left out, messages hash to its id.
func verifyNode(req *transcriptv1.GetNodeRequest, res *transcriptv1.GetNodeResponse, payload []byte) error {
	info := res.Info
	if info.GetEnvelope() == nil {
		return mismatch(info.GetNodeId(), "no envelope came")
	}
	if asked, ok := req.Node.GetRef().(*transcriptv1.NodeRef_NodeId); ok && !strings.HasPrefix(info.NodeId, asked.NodeId) {
		return mismatch(info.NodeId, "it is not the one asked for")
	}
	salt := info.Envelope.Salt
	var metadata string
	if entries := res.Metadata.GetEntries(); len(entries) > 0 {
		metadata = encodeID(canonical.MetadataDigest(salt, canonical.AppendMetadata(nil, entries)))
	}
	if metadata != info.Envelope.MetadataDigest {
		return mismatch(info.NodeId, "its metadata has another digest")
	}
	if !req.OmitMessages && encodeID(canonical.PayloadDigest(salt, payload)) != info.Envelope.PayloadDigest {
		return mismatch(info.NodeId, "its messages have another digest")
	}
	byDigest := &transcriptv1.NodeInfo{NodeId: info.NodeId, Envelope: info.Envelope}
	return verifyInfo(byDigest, nil)
}

// verifyPut recomputes the ids of nodes that were put. Below a parent named by an alias it cannot know them.
func verifyPut(nodes []*transcriptv1.NewNode, results []*transcriptv1.PutNodeResponse) error {
	for i, n := range nodes {
		parentID := n.Parent.GetNodeId()
		if n.Previous && i > 0 {
			parentID = results[i-1].NodeId
		}
		id, ok := identify(n, parentID)
		switch {
		case !ok:
			return mismatch(results[i].NodeId, "its envelope is malformed")
		case n.Parent.GetAlias() != "":
		case id != results[i].NodeId:
			return mismatch(results[i].NodeId, "what was put hashes to another id")
		}
	}
	return nil
}

// identify computes the id of a node that the server has judged, below a parent: 64 hex digits, empty for a root.
func identify(n *transcriptv1.NewNode, parentID string) (id string, ok bool) {
	parent, ok := parseID(parentID)
	from, err := canonical.ParseSpawnedFrom(n.SpawnedFrom)
	if !ok || err != nil {
		return "", false
	}
	own := canonical.NewNode(n.Messages, n.Metadata, n.Salt)
	return encodeID(canonical.NodeID(own.Envelope(parent, from))), true
}

// mismatch is an ErrVerification about a node.
func mismatch(id, what string) error {
	return fmt.Errorf("%w: node %.64q: %s", ErrVerification, id, what)
}

// parseID reads 64 hex digits; empty gives nil.
func parseID(digits string) (id *[32]byte, ok bool) {
	if digits == "" {
		return nil, true
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 32 {
		return nil, false
	}
	return (*[32]byte)(b), true
}

func encodeID(id [32]byte) string { return hex.EncodeToString(id[:]) }
