package snapshot

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// TablesOf reads the tables that a header of a chain links to; nil where it links to none.
func (v *Snapshot) TablesOf(h *chainstore.Header, l *chainstore.Lineage) (*chainstore.Tables, error) {
	if !h.Tools.Present && !h.Variables.Present {
		return nil, nil
	}
	t := &chainstore.Tables{}
	if h.Tools.Present {
		err := v.table(layout.TableTools, l.Locate(h.Tools.Seq), func(value []byte) error { return layout.ParseTools(value, t) })
		if err != nil {
			return nil, err
		}
	}
	if h.Variables.Present {
		err := v.table(layout.TableVariables, l.Locate(h.Variables.Seq), func(value []byte) (err error) {
			t.Variables, err = layout.ParseVariables(value)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// table runs f on the row of a table for a place, which is there.
func (v *Snapshot) table(table byte, at chainstore.Place, f func([]byte) error) error {
	found, err := v.Borrow(layout.PlaceKey(v.Namespace, table, at), f)
	if err == nil && !found {
		err = layout.Dangling(table)
	}
	return err
}
