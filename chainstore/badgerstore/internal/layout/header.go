package layout

import (
	"encoding/binary"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// FeatureSettings is that namespaces have settings, the rows of table G. A store where none was ever set does not have it.
const FeatureSettings = "namespace_settings"

// FeatureForgetting is that nodes were deleted, or aliases with their histories: A rows say so with a bit, H rows are not there, an empty S row
// stands where the end of a segment went, and a fork may be an only child. It is required.
const FeatureForgetting = "forgetting"

// FeatureTurns is that a log was ended before it was full, the row of table O: since the first time that space was given back.
const FeatureTurns = "turns"

// FeatureErasure is that nodes were erased: their S rows have headers that say so, and they have receipts, the rows of table Q. It is required.
const FeatureErasure = "erasure"

// FeatureRetention is that settings may say what is to become of aliases, such as that they must not be deleted. It is required.
const FeatureRetention = "retention"

// FeatureGone is that namespaces were deleted: the rows of table M say which numbers have no name. It is required.
const FeatureGone = "deleted_namespaces"

// features are those of a store that this program knows. A feature is what rows a later program adds, such as those of a
// table that is yet to come; whoever adds the first row of it names it in the store's header, in the same commit.
var features = []string{FeatureSettings, FeatureEras, FeatureForgetting, FeatureTurns, FeatureErasure, FeatureSigning, FeaturePurges, FeatureRetention, FeatureGone}

// StoreHeader is the D row: which store this is, and what it takes to read it. The number in the F row is the version of this row, too.
type StoreHeader struct {
	ID chainstore.StoreID
	// Required features must be known by who opens the store. Who does not know an Optional one passes over the rows of it and keeps
	// them: nothing that it reads or writes is wrong for that.
	Required, Optional []string
	// Rest is what a later program has behind, kept where the row is written again.
	Rest []byte
}

// Features are all that the store has.
func (h *StoreHeader) Features() []string { return slices.Concat(h.Required, h.Optional) }

// Has tells whether the store has a feature.
func (h *StoreHeader) Has(feature string) bool {
	return slices.Contains(h.Optional, feature) || slices.Contains(h.Required, feature)
}

// Name adds a feature, which it does not have.
func (h *StoreHeader) Name(feature string) {
	switch feature {
	case FeatureForgetting, FeatureErasure, FeatureRetention, FeatureGone:
		h.Required = append(h.Required, feature)
	default:
		h.Optional = append(h.Optional, feature)
	}
}

// Tables are those that a namespace may have.
func (h *StoreHeader) Tables(ns uint32) string {
	tables, of := NamespaceTables, map[string]byte{FeatureSettings: TableSettings, FeatureErasure: TableReceipts}
	if ns == OwnNamespace {
		tables, of = OwnTables, map[string]byte{FeatureEras: TableEras, FeatureTurns: TableTurns, FeatureSigning: TableSigning, FeaturePurges: TablePurges, FeatureGone: TableGone}
	}
	for feature, table := range of {
		if h.Has(feature) {
			tables += string(table)
		}
	}
	return tables
}

// Unknown are the required features that this program does not know.
func (h *StoreHeader) Unknown() []string { return unknown(h.Required) }

// Extended tells whether the store may have tables that this program does not know.
func (h *StoreHeader) Extended() bool { return len(unknown(h.Optional)) > 0 }

func unknown(named []string) []string {
	return slices.DeleteFunc(slices.Clone(named), func(name string) bool { return slices.Contains(features, name) })
}

func AppendStoreHeader(b []byte, h *StoreHeader) []byte {
	b = append(b, h.ID[:]...)
	for _, names := range [...][]string{h.Required, h.Optional} {
		b = binary.AppendUvarint(b, uint64(len(names)))
		for _, name := range names {
			b = appendText(b, name)
		}
	}
	return append(b, h.Rest...)
}

// ParseStoreHeader reads a D row.
func ParseStoreHeader(value []byte) (*StoreHeader, error) {
	d := reader{rest: slices.Clone(value)}
	h := &StoreHeader{}
	copy(h.ID[:], d.bytes(len(h.ID)))
	h.Required, h.Optional = d.names(), d.names()
	if h.ID == (chainstore.StoreID{}) {
		d.fail()
	}
	h.Rest, d.rest = d.rest, nil
	return h, d.end(TableHeader)
}

// names reads names, none of which is empty; nil for none.
func (d *reader) names() (names []string) {
	for range d.count() {
		names = append(names, string(d.bytes(int(d.atLeast(1, uint64(len(d.rest)))))))
	}
	return names
}
