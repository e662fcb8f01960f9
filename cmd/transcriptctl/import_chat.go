package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// conversation is a line that is to be stored.
type conversation struct {
	place string // FILE:LINE
	order int64  // that of the lines that were read
	id    string
	alias string
	form  *form
	// members are those of the line that the form reads.
	members map[string]json.RawMessage
	bytes   int
	// unkept are the members of the line that are not stored.
	unkept []string
	// bad is what is wrong with the line; then it has no id.
	bad error
}

// file is the name of the file that the line is of.
func (c *conversation) file() string { return c.place[:strings.LastIndexByte(c.place, ':')] }

// line is the number of the line.
func (c *conversation) line() int {
	n, _ := strconv.Atoi(c.place[strings.LastIndexByte(c.place, ':')+1:]) // place ends in a number
	return n
}

// room is what the conversation counts of maxInFlight.
func (c *conversation) room() int64 { return min(int64(c.bytes), maxInFlight) }

// conversations yields the lines of a file, malformed ones too, until yield fails.
func (s *session) conversations(ctx context.Context, file string, form *form, yield func(*conversation) error) (err error) {
	r, place, err := s.openInput(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	l, err := newLines(r, place)
	if err != nil {
		return err
	}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return err
		}
		c := &conversation{place: l.at(), form: form, bad: err}
		if err == nil {
			c = readConversation(l.at(), form, line)
		}
		if err := yield(c); err != nil {
			return err
		}
	}
}

// readConversation takes a line apart.
func readConversation(place string, form *form, line []byte) *conversation {
	c := &conversation{place: place, form: form, bytes: len(line) + 1}
	c.bad = c.read(line)
	return c
}

func (c *conversation) read(line []byte) error {
	members, err := topMembers(line)
	if err != nil {
		return err
	}
	if c.id, err = text("id", members["id"]); err != nil {
		return err
	}
	if c.alias, err = chatAlias(c.id); err != nil {
		return err
	}
	if members[c.form.list] == nil {
		return c.form.missing(members)
	}
	c.members = members
	for name := range members {
		if !c.form.has(name) {
			c.unkept = append(c.unkept, name)
			delete(members, name)
		}
	}
	return nil
}

// parse reads the messages.
func (c *conversation) parse() ([]*transcriptv1.Message, openai.Report, error) {
	messages, report, err := c.form.parse(c.members)
	if err == nil && len(messages) == 0 {
		err = fmt.Errorf("%w: %s is an empty list", errNotJSON, c.form.list)
	}
	return messages, report, err
}

// chain is the nodes that a conversation becomes, root first, with their ids and sizes.
type chain struct {
	nodes [][]*transcriptv1.Message
	ids   []string
	sizes []int
	// notes has one for each message of all nodes; nil: none has anything to note.
	notes []*transcriptv1.MessageNote
	// begins has, for each node, the index of its first message.
	begins []int
	// compacted is the first node whose path holds a compaction node; len(nodes): there is none.
	compacted int
	// joint is the node whose parent is parentID instead of the node before; it has no meaning where that is empty.
	joint    int
	parentID string
	// salt is that of all nodes but a prompt, which conversations share; empty: none has any.
	salt []byte
}

// saltOf is the salt of a node.
func (c *chain) saltOf(n int) []byte {
	if n == 0 && isPrompt(c.nodes[n]) {
		return nil
	}
	return c.salt
}

// isPrompt tells whether all messages are system and developer messages.
func isPrompt(messages []*transcriptv1.Message) bool {
	return !slices.ContainsFunc(messages, func(m *transcriptv1.Message) bool {
		return m.GetRole() != transcriptv1.Role_ROLE_SYSTEM && m.GetRole() != transcriptv1.Role_ROLE_DEVELOPER
	})
}

// apart is the salt of a conversation that is kept apart from others. Part of the import's promise: with another, an import would not
// find what it stored before.
func (c *conversation) apart() []byte {
	sum := sha256.Sum256([]byte("transcriptctl.import.apart\x00" + c.id))
	return sum[:16]
}

// head is the id of the last node.
func (c *chain) head() string { return c.ids[len(c.ids)-1] }

// newChain makes a node of each message, and one of consecutive tool messages as far as a node holds them, with a salt or without.
func newChain(messages []*transcriptv1.Message, salt []byte) *chain {
	c := &chain{nodes: nodesOf(messages), salt: salt}
	var parent *[32]byte
	begin := 0
	for i, node := range c.nodes {
		n := canonical.NewNode(node, nil, c.saltOf(i))
		id := canonical.NodeID(n.Envelope(parent, nil))
		c.ids = append(c.ids, hex.EncodeToString(id[:]))
		c.sizes = append(c.sizes, len(n.Payload))
		c.begins = append(c.begins, begin)
		begin += len(node)
		parent = &id
	}
	c.compacted = len(c.nodes)
	return c
}

// below gives the nodes from the one with that index on the ids that they have below another parent.
func (c *chain) below(from int, parentID string) error {
	parent, err := hex.DecodeString(parentID)
	if err != nil || len(parent) != len([32]byte{}) {
		return errBadReply
	}
	above := [32]byte(parent)
	for n := from; n < len(c.nodes); n++ {
		above = canonical.NodeID(canonical.NewNode(c.nodes[n], nil, c.saltOf(n)).Envelope(&above, nil))
		c.ids[n] = hex.EncodeToString(above[:])
	}
	c.joint, c.parentID = from, parentID
	return nil
}

// nodesOf cuts messages into those of nodes. Part of the import's promise: cut otherwise, an import would not find what
// it stored before.
func nodesOf(messages []*transcriptv1.Message) (nodes [][]*transcriptv1.Message) {
	begin, size := 0, 0
	for i, m := range messages {
		bytes := 1 + protowire.SizeBytes(proto.Size(m))
		tools := i > begin && m.GetRole() == transcriptv1.Role_ROLE_TOOL && messages[i-1].GetRole() == transcriptv1.Role_ROLE_TOOL
		if i > begin && !(tools && i-begin < canonical.MaxMessages && size+bytes <= canonical.MaxPayloadBytes) {
			nodes = append(nodes, messages[begin:i])
			begin, size = i, 0
		}
		size += bytes
	}
	return append(nodes, messages[begin:])
}

var errDiverged = errors.New("this conversation is stored with other messages, or in other nodes")

// attempts is how often a conversation is decided anew whose alias moved meanwhile.
const attempts = 5

// store stores a conversation, or finds that it is stored. Errors about the line itself are a *badLine.
func (i *importer) store(ctx context.Context, c *conversation) error {
	if c.bad != nil {
		return &badLine{c.place, c.bad}
	}
	messages, report, err := c.parse()
	if err != nil {
		return &badLine{c.place, err}
	}
	var salt []byte
	if i.apart {
		salt = c.apart()
	}
	chain := newChain(messages, salt)
	var unread []unreadTime
	chain.notes, unread = i.times.notes(messages)
	chain.notes = withUsage(chain.notes, messages)
	created := 0
	for n := 1; ; n++ {
		fate, more, err := i.settle(ctx, c, chain)
		created += more
		moved := errors.Is(err, client.ErrAliasMoved) || errors.Is(err, client.ErrAliasExists)
		if moved && n < attempts {
			continue
		}
		if err != nil {
			return err
		}
		i.tally.stored(fate, created, len(chain.nodes)-created)
		i.tally.converted(c, report)
		i.tally.times(c.file(), chain.notes, unread)
		if i.checks {
			return i.check(ctx, c, chain)
		}
		return nil
	}
}

// settle looks at what is stored under the conversation's alias and stores what is missing.
func (i *importer) settle(ctx context.Context, c *conversation, chain *chain) (fate fate, created int, err error) {
	stored, err := i.Resolve(ctx, c.alias)
	if errors.Is(err, client.ErrAliasNotFound) {
		created, err = i.put(ctx, c, chain, 0, client.MustNotExist())
		return fateNew, created, err
	}
	if err != nil {
		return "", 0, err
	}
	head := stored.GetAlias().GetNodeId()
	if head == chain.head() {
		return fateSame, 0, nil
	}
	if at := slices.Index(chain.ids, head); at >= 0 {
		created, err = i.put(ctx, c, chain, at+1, client.HeadIs(head))
		return fateGrown, created, err
	}
	longer, err := i.reaches(ctx, head, chain.head())
	switch {
	case err != nil:
		return "", 0, err
	case longer:
		return fateBehind, 0, nil
	}
	fate, from, err := i.locate(ctx, head, chain)
	switch {
	case err != nil || fate == fateSame || fate == fateBehind:
		return fate, 0, err
	case fate == fateGrown:
		created, err = i.put(ctx, c, chain, from, client.HeadIs(head))
		return fateGrown, created, err
	case !i.move:
		return "", 0, &badLine{c.place, errDiverged}
	}
	created, err = i.put(ctx, c, chain, 0, client.HeadIs(head))
	return fateMoved, created, err
}

// locate finds the conversation in a chain that holds its nodes, and between them compaction nodes and nodes without
// messages. There the ids of nodes are others; the chain learns them. from is the first node that is not stored. No fate: it is another conversation.
func (i *importer) locate(ctx context.Context, head string, chain *chain) (fate fate, from int, err error) {
	stored, err := i.storedNodes(ctx, head)
	if err != nil {
		return "", 0, err
	}
	var ids []string
	compacted, last := len(chain.nodes), ""
	for _, n := range stored {
		switch at := len(ids); {
		case n.compaction:
			compacted = min(compacted, at)
		case len(n.payload) == 0: // it has metadata alone
		case at < len(chain.nodes) && !bytes.Equal(n.payload, canonical.NewNode(chain.nodes[at], nil, nil).Payload):
			return "", 0, nil
		case at < len(chain.nodes):
			ids = append(ids, n.id)
		default:
			fate = fateBehind
		}
		last = n.id
	}
	copy(chain.ids, ids)
	chain.compacted = compacted
	switch {
	case fate == fateBehind:
		return fate, 0, nil
	case len(ids) == len(chain.nodes):
		return fateSame, 0, nil
	}
	return fateGrown, len(ids), chain.below(len(ids), last)
}

// storedNode is a node of a chain that is stored.
type storedNode struct {
	id         string
	payload    []byte
	compaction bool
}

// storedNodes are the nodes of a chain, root first.
func (i *importer) storedNodes(ctx context.Context, head string) (nodes []storedNode, err error) {
	query := client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES}
	for frame, err := range i.Frames(ctx, client.ByID(head), query) {
		if err != nil {
			return nil, err
		}
		messages, err := frame.Encoded()
		if err != nil {
			return nil, err
		}
		for _, info := range frame.Nodes {
			n := ownMessages(info, len(messages))
			nodes = append(nodes, storedNode{
				id: info.GetNodeId(), payload: bytes.Join(messages[:n], nil), compaction: info.GetEnvelope().GetCoversThroughId() != "",
			})
			messages = messages[n:]
		}
	}
	return nodes, nil
}

// reaches tells whether a node is an ancestor of head.
func (i *importer) reaches(ctx context.Context, head, ancestor string) (bool, error) {
	query := client.Query{View: transcriptv1.View_VIEW_FULL, After: ancestor}
	for frame, err := range i.Frames(ctx, client.ByID(head), query) {
		if errors.Is(err, client.ErrNotAnAncestor) || errors.Is(err, client.ErrNodeNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return frame.BaseID == ancestor, nil
	}
	return false, errBadReply
}

// The bounds of one PutAll. The contract allows 1,000 nodes, 10,000 messages, 10,000 calls and results, and 4 MiB;
// smaller batches let conversations of other workers into the commits between.
const (
	batchNodes    = 250
	batchMessages = 5000
	batchCalls    = 5000
	batchBytes    = 1 << 20
)

// put puts the nodes of a chain from the one with that index on, batch by batch, and sets the alias with the last.
// Nodes of batches that were put before a failure stay; putting them again writes nothing.
func (i *importer) put(ctx context.Context, c *conversation, chain *chain, from int, condition client.Condition) (created int, err error) {
	for from < len(chain.nodes) {
		end := chain.batch(from)
		batch := chain.request(from, end)
		if end == len(chain.nodes) {
			batch[len(batch)-1].Aliases = []client.AliasUpdate{{Name: c.alias, If: condition}}
		}
		results, err := i.PutAll(ctx, batch...)
		if err != nil {
			return created, refused(c.place, err)
		}
		for _, r := range results {
			if r.GetCreated() {
				created++
			}
		}
		from = end
	}
	return created, nil
}

// refused makes a refusal of what a line says a *badLine.
func refused(place string, err error) error {
	var remote *client.Error
	if errors.As(err, &remote) && remote.Code == codes.InvalidArgument {
		return &badLine{place, err}
	}
	return err
}

// batch is where the batch ends that begins at from; it holds one node at least.
func (c *chain) batch(from int) (end int) {
	bytes, messages, calls := 0, 0, 0
	for end = from; end < len(c.nodes) && end-from < batchNodes; end++ {
		bytes, messages, calls = bytes+c.sizes[end], messages+len(c.nodes[end]), calls+callsIn(c.nodes[end])
		if end > from && (bytes > batchBytes || messages > batchMessages || calls > batchCalls) {
			break
		}
	}
	return end
}

// callsIn counts the calls and results of messages.
func callsIn(messages []*transcriptv1.Message) (n int) {
	for _, m := range messages {
		if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
			n++
		}
		for _, p := range m.GetParts() {
			if p.GetToolCall() != nil {
				n++
			}
		}
	}
	return n
}

// request is the nodes of a batch, each the child of the one before.
func (c *chain) request(from, end int) []client.Node {
	batch := make([]client.Node, 0, end-from)
	for n := from; n < end; n++ {
		node := client.Node{Messages: c.nodes[n], Previous: n > from, Salt: c.saltOf(n)}
		if c.notes != nil {
			node.Notes = c.notes[c.begins[n]:][:len(c.nodes[n])]
		}
		batch = append(batch, node)
	}
	switch {
	case from == c.joint && c.parentID != "":
		batch[0].Parent = client.ByID(c.parentID)
	case from > 0:
		batch[0].Parent = client.ByID(c.ids[from-1])
	}
	return batch
}
