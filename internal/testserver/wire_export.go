package testserver

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Point is not on the wire.
func (w *wire) Point(context.Context) (chainstore.Point, error) { return 0, errNotOnWire }

// NoteEras is not on the wire.
func (w *wire) NoteEras(context.Context) error { return errNotOnWire }

// Era is not on the wire.
func (w *wire) Era(context.Context, chainstore.Point) (era chainstore.Era, err error) {
	return era, errNotOnWire
}

// ExportNamespaces is not on the wire.
func (w *wire) ExportNamespaces(context.Context, func(string) bool) ([]chainstore.NumberedNamespace, int64, error) {
	return nil, 0, errNotOnWire
}

// ExportNodes is not on the wire.
func (w *wire) ExportNodes(context.Context, string, chainstore.ExportSpan, []byte, int) ([]chainstore.ExportedNode, []byte, error) {
	return nil, nil, errNotOnWire
}

// ExportReceipts is not on the wire.
func (w *wire) ExportReceipts(context.Context, string, chainstore.ExportSpan, []byte, int) ([]chainstore.KeptReceipt, []byte, error) {
	return nil, nil, errNotOnWire
}

// ExportAliases is not on the wire.
func (w *wire) ExportAliases(context.Context, chainstore.Point, func(string) bool, chainstore.ExportYield) (chainstore.Point, error) {
	return 0, errNotOnWire
}

// Space is not on the wire as a store has it.
func (w *wire) Space(context.Context) (space chainstore.Space, err error) { return space, errNotOnWire }

// Reclaim is not on the wire as a store has it.
func (w *wire) Reclaim(context.Context) error { return errNotOnWire }

// Erase is not on the wire.
func (w *wire) Erase(context.Context, string, []chainstore.ErasedNode) (int, error) {
	return 0, errNotOnWire
}

// Receipt is not on the wire.
func (w *wire) Receipt(context.Context, string, chainstore.ID) (r chainstore.Receipt, err error) {
	return r, errNotOnWire
}

// Purging is not on the wire as a store has it.
func (w *wire) Purging(context.Context) (p chainstore.Purging, err error) { return p, errNotOnWire }

// SigningKey is never on the wire.
func (w *wire) SigningKey(context.Context) (seed chainstore.Secret, err error) {
	return seed, errNotOnWire
}

// Descendants is not on the wire.
func (w *wire) Descendants(context.Context, string, chainstore.ID, func(*chainstore.Header) error) error {
	return errNotOnWire
}

// EraseLabels is not on the wire by itself.
func (w *wire) EraseLabels(context.Context, string, []string) (int, error) { return 0, errNotOnWire }

// Erasures is not on the wire.
func (w *wire) Erasures(context.Context, string) (uint64, error) { return 0, errNotOnWire }

// DeletedAliases is not on the wire.
func (w *wire) DeletedAliases(context.Context, string, string, string, int) ([]chainstore.DeletedAlias, string, error) {
	return nil, "", errNotOnWire
}
