package client

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// verifier follows the nodes of a reply from its base, or from a root, to the head, and recomputes the id of each from
// the bytes received. The effective view of a compacted chain has two runs of nodes that are not next to each other:
//
//	root .. P   C   after T .. parent of C   after C .. head        C covers through T; P ends the preamble
//
// C's id and the last two runs are bound to the head by parents; P is not bound to T.
type verifier struct {
	head  string
	view  transcriptv1.View
	based bool // the reply adds to a base
	off   bool // the caller holds the content: nothing came to verify
	part  bool // the reply is the end of a view, or of what it has before a message
	inner bool // it is that of what the view has before a message, so that it does not lead to the head
	over  bool // a node came in part that is not the first: it is the last
	// came is the node that came last; next is the parent that the one behind it has to have, empty for a root.
	came, next string
	// spoken tells that a message came that is no preamble. Not kept up once compaction is known.
	spoken bool
	// compaction is C; nil before it came. joined tells that a node behind it came.
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
		return fault(ErrVerification, "messages of no node")
	}
	return nil
}

// node verifies the next node, or a further part of a node whose repair made it too large for a frame.
func (v *verifier) node(info *transcriptv1.NodeInfo, payload []byte) error {
	if err := verifyInfo(info, payload); err != nil {
		return err
	}
	if v.view != transcriptv1.View_VIEW_CONVERSATION {
		if err := verifyMarkers(info, payload); err != nil {
			return err
		}
	}
	if v.part && v.view == transcriptv1.View_VIEW_FULL {
		return v.follow(info)
	}
	if v.part || v.view == transcriptv1.View_VIEW_CONVERSATION {
		return nil // its nodes are not next to each other, and what was cut is the server's
	}
	part := !verbatim(info) && (v.doubted() || erased(info)) && info.NodeId == v.came
	if !part {
		if err := v.link(info); err != nil {
			return err
		}
	}
	if err := v.listen(payload); err != nil {
		return err
	}
	hidden := info.Envelope.CoversThroughId != "" && info.MessageCount == 0
	switch {
	case verbatim(info), erased(info), hidden:
		return nil
	case v.view == transcriptv1.View_VIEW_FULL:
		return mismatch(info.NodeId, "a full view has its messages not as they were put")
	default:
		return v.doubt(info, payload, part)
	}
}

// follow verifies that a node of a part of the full view follows the one before; what comes before the first is not known. The first
// may come in part, and where the part does not lead to the head the last too.
func (v *verifier) follow(info *transcriptv1.NodeInfo) error {
	compaction := info.Envelope.CoversThroughId != ""
	switch {
	case v.came != "" && info.Envelope.ParentId != v.came:
		return mismatch(info.NodeId, "the parent is not the node before")
	case v.over:
		return mismatch(info.NodeId, "it comes behind a node that came in part")
	case compaction && info.MessageCount != 0:
		return mismatch(info.NodeId, "a full view shows a compaction")
	case !compaction && !verbatim(info) && !erased(info) && v.came != "":
		if v.over = v.inner; !v.over {
			return mismatch(info.NodeId, "it came in part")
		}
	}
	v.came = info.NodeId
	return nil
}

// link verifies that the node follows the one before, and that a compaction node is where one may be.
func (v *verifier) link(info *transcriptv1.NodeInfo) error {
	c, parent := v.compaction, info.Envelope.ParentId
	compaction := info.Envelope.CoversThroughId != ""
	joins := c != nil && !v.joined && v.next == c.Envelope.ParentId && parent == c.NodeId
	switch whole := v.view != transcriptv1.View_VIEW_FULL && compaction; {
	case whole && (v.based || v.joined || joins):
		return mismatch(info.NodeId, "the view does not begin with this compaction")
	case whole && c == nil:
		return v.compacted(info)
	case compaction && info.MessageCount != 0:
		return mismatch(info.NodeId, "the view shows more than one compaction, or is full and shows one")
	case joins:
		v.joined = true
	case parent != v.next:
		return mismatch(info.NodeId, "the parent is not the node before")
	}
	v.came, v.next = info.NodeId, info.NodeId
	return nil
}

// compacted goes on behind what the node covers.
func (v *verifier) compacted(info *transcriptv1.NodeInfo) error {
	switch {
	case !verbatim(info) && !erased(info):
		return mismatch(info.NodeId, "a compaction has its messages not as they were put")
	case v.spoken:
		return mismatch(info.NodeId, "what it covers is shown beside it")
	}
	if v.doubted() {
		v.doubts[len(v.doubts)-1].preamble = true
	}
	v.compaction = info
	v.came, v.next = info.NodeId, info.Envelope.CoversThroughId
	return nil
}

// listen notes whether messages other than the preamble's came.
func (v *verifier) listen(payload []byte) error {
	if v.spoken || v.based || v.compaction != nil || v.view == transcriptv1.View_VIEW_FULL {
		return nil
	}
	messages, err := decodeMessages(payload)
	v.spoken = slices.ContainsFunc(messages, func(m *transcriptv1.Message) bool { return !opens(m.Role) })
	return err
}

// opens tells whether a message of the role can be part of a preamble.
func opens(role transcriptv1.Role) bool {
	return role == transcriptv1.Role_ROLE_SYSTEM || role == transcriptv1.Role_ROLE_DEVELOPER
}

// doubted tells whether the node that came last was repaired.
func (v *verifier) doubted() bool {
	n := len(v.doubts)
	return n > 0 && v.doubts[n-1].id == v.came
}

// doubt notes a node that came repaired, or a further part of one.
func (v *verifier) doubt(info *transcriptv1.NodeInfo, payload []byte, part bool) error {
	own, err := withoutStubs(payload)
	if err != nil {
		return mismatch(info.NodeId, err.Error())
	}
	if !part {
		v.doubts = append(v.doubts, &doubt{parent: info.Envelope.ParentId, id: info.NodeId})
	}
	d := v.doubts[len(v.doubts)-1]
	d.shown = append(d.shown, own...)
	return nil
}

// settled takes the doubts that no further part can belong to; all of them at the end.
func (v *verifier) settled(end bool) []*doubt {
	n := len(v.doubts)
	if !end && v.doubted() {
		n--
	}
	settled := v.doubts[:n]
	v.doubts = v.doubts[n:]
	return settled
}

// settle verifies that what is shown of a node is what was put in it, but for results and opaque messages, which may be left out. put is that,
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
		case role == transcriptv1.Role_ROLE_TOOL, canonical.IsOpaque(messages[0]):
		case d.preamble && len(shown) == 0 && !opens(role):
			return nil
		default:
			return mismatch(d.id, "it leaves out what is neither a result nor opaque")
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
	last := v.next
	if v.part {
		if v.view == transcriptv1.View_VIEW_FULL && !v.off && !v.inner && v.came != "" && v.came != v.head {
			return fault(ErrVerification, "the nodes do not lead to the head")
		}
		return nil
	}
	if c := v.compaction; c != nil && !v.joined {
		if last = ""; v.next == c.Envelope.ParentId {
			last = c.NodeId
		}
	}
	if !v.off && v.view != transcriptv1.View_VIEW_CONVERSATION && last != v.head {
		return fault(ErrVerification, "the nodes do not lead to the head")
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
	if verbatim(info) {
		e.PayloadDigest = canonical.PayloadDigest(given.Salt, payload)
	} else if digest, ok := parseID(given.PayloadDigest); ok && digest != nil {
		e.PayloadDigest = *digest
	} else {
		return mismatch(info.NodeId, "no digest of its messages came")
	}
	var parent, metadata, covers bool
	e.Parent, parent = parseID(given.ParentId)
	e.MetadataDigest, metadata = parseID(given.MetadataDigest)
	e.CoversThrough, covers = parseID(given.CoversThroughId)
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

// verifyMarkers verifies that a node that was erased shows markers alone, stubs of the view aside. Of a compaction node nobody can tell which
// messages were.
func verifyMarkers(info *transcriptv1.NodeInfo, payload []byte) error {
	if !erased(info) || info.Envelope.CoversThroughId != "" {
		return nil
	}
	own, err := withoutStubs(payload)
	if err != nil {
		return mismatch(info.NodeId, err.Error())
	}
	messages, err := decodeMessages(own)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if !proto.Equal(m, canonical.ErasedMessage(m)) {
			return mismatch(info.NodeId, "it is erased, and shows more than a marker")
		}
	}
	return nil
}

// verifyNode verifies a reply of GetNode: that it is the node asked for, and that envelope, metadata and, unless they
// were left out, messages hash to its id. Of a node that was erased the digests tell that.
func verifyNode(req *transcriptv1.GetNodeRequest, res *transcriptv1.GetNodeResponse, payload []byte) error {
	info := res.Info
	if info.GetEnvelope() == nil {
		return mismatch(info.GetNodeId(), "no envelope came")
	}
	if asked, ok := req.Node.GetRef().(*transcriptv1.NodeRef_NodeId); ok && !strings.HasPrefix(info.NodeId, asked.NodeId) {
		return mismatch(info.NodeId, "it is not the one asked for")
	}
	byDigest := &transcriptv1.NodeInfo{NodeId: info.NodeId, Envelope: info.Envelope, Content: transcriptv1.NodeContent_NODE_CONTENT_MADE}
	if erased(info) {
		if len(res.Metadata.GetEntries()) > 0 {
			return mismatch(info.NodeId, "it is erased, and has metadata")
		}
		if err := verifyMarkers(info, payload); err != nil {
			return err
		}
		return verifyInfo(byDigest, nil)
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
	return fault(ErrVerification, fmt.Sprintf("node %.64q: %s", id, what))
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

// verbatim tells whether a reply has a node's messages as they are hashed. Of any other content, also one that a later version may tell,
// the envelope has the digest.
func verbatim(info *transcriptv1.NodeInfo) bool {
	return info.Content == transcriptv1.NodeContent_NODE_CONTENT_VERBATIM
}

// erased tells whether the node was erased.
func erased(info *transcriptv1.NodeInfo) bool {
	return info.Content == transcriptv1.NodeContent_NODE_CONTENT_ERASED
}
