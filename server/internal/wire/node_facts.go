package wire

import (
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Limits of node facts, so that a frame with the largest node and what is told of it stays within 4 MiB.
const (
	MaxFactKeys = 16
	// maxFactValue is the bytes of a value that is told, maxFactBytes those of the keys and values of a node.
	maxFactValue = 1 << 10
	maxFactBytes = 16 << 10
)

// NodeFacts are what a request wants to know of nodes beside ids and sizes; nil for nothing.
type NodeFacts struct {
	// keys are those of metadata, sorted.
	keys []string
}

// ParseNodeFacts reads what a request wants; nil where it says nothing.
func ParseNodeFacts(field string, m *transcriptv1.NodeFacts) (*NodeFacts, error) {
	if m == nil {
		return nil, nil
	}
	field += ".metadata_keys"
	if len(m.MetadataKeys) > MaxFactKeys {
		return nil, OverLimit(field, "must be at most %d", MaxFactKeys)
	}
	for i, key := range m.MetadataKeys {
		switch {
		case key == "":
			return nil, InvalidField(Indexed(field, i), "must not be empty")
		case len(key) > canonical.MaxMetadataKeyBytes:
			return nil, OverLimit(Indexed(field, i), "must be at most %d bytes", canonical.MaxMetadataKeyBytes)
		case slices.Contains(m.MetadataKeys[:i], key):
			return nil, InvalidField(Indexed(field, i), "must not repeat a key")
		}
	}
	return &NodeFacts{keys: slices.Sorted(slices.Values(m.MetadataKeys))}, nil
}

// AppendKey appends what is wanted, in a form that is nobody else's; nothing for nil.
func (f *NodeFacts) AppendKey(b []byte) []byte {
	if f == nil {
		return b
	}
	return fmt.Appendf(b, "facts%q", f.keys)
}

// Tell adds what is wanted of a node to what is told of it. metadata is the node's, as stored.
func (f *NodeFacts) Tell(info *transcriptv1.NodeInfo, h *chainstore.Header, metadata []byte) error {
	if f == nil {
		return nil
	}
	info.FirstPutAt = Timestamp(h.FirstPut)
	if len(f.keys) == 0 || len(metadata) == 0 {
		return nil
	}
	entries, err := canonical.DecodeMetadata(metadata)
	if err != nil {
		return fmt.Errorf("%w: %w", chainstore.ErrCorrupt, err)
	}
	left := maxFactBytes
	for _, e := range entries {
		if _, wanted := slices.BinarySearch(f.keys, e.Key); !wanted {
			continue
		}
		size := len(e.Key) + len(e.Value)
		if len(e.Value) > maxFactValue || size > left {
			info.HasMoreMetadata = true
			continue
		}
		left -= size
		info.Metadata = append(info.Metadata, e)
	}
	return nil
}
