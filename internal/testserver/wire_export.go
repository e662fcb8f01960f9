package testserver

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Point is not on the wire.
func (w *wire) Point(context.Context) (chainstore.Point, error) { return 0, errNotOnWire }

// ExportNodes is not on the wire.
func (w *wire) ExportNodes(context.Context, string, chainstore.ExportSpan, []byte, int) ([]chainstore.ExportedNode, []byte, error) {
	return nil, nil, errNotOnWire
}

// ExportAliases is not on the wire.
func (w *wire) ExportAliases(context.Context, chainstore.Point, func(string) bool, chainstore.ExportYield) (chainstore.Point, error) {
	return 0, errNotOnWire
}
