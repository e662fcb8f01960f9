package chainstore

// FoundNode is a node that was found by its id.
type FoundNode struct {
	// Row is borrowed: it and its slices are spoilt when yield returns. Its Shared is nil.
	Row
	// Header is the row's; Parent is the id of its parent, nil for a root, Covers that of the last node that it covers, nil but for a
	// compaction node. The caller must not change them.
	Header         *Header
	Parent, Covers *ID
}

// LinkSpans are the rows of a node's path that have the ids of those that it names: what it covers, and its parent.
func (h *Header) LinkSpans() (spans []Span) {
	if h.Covers.Present {
		spans = append(spans, Span{From: h.Covers.Seq, Through: h.Covers.Seq, HeadersOnly: true})
	}
	if h.Seq > 0 && (!h.Covers.Present || h.Covers.Seq+1 != h.Seq) {
		spans = append(spans, Span{From: h.Seq - 1, Through: h.Seq - 1, HeadersOnly: true})
	}
	return spans
}

// Link adds what a row of the node's path tells of the ids that the node names.
func (n *FoundNode) Link(row *Row) {
	id := row.Raw.ID()
	if row.Seq+1 == n.Header.Seq {
		n.Parent = &id
	}
	if n.Header.Covers.Present && row.Seq == n.Header.Covers.Seq {
		n.Covers = &id
	}
}
