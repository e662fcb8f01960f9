package backup

import (
	"encoding/binary"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// place is where another archive goes on: what a cursor says beside the store and the scope that it is of.
type place struct {
	// era is that of first in the cursor of an archive that was cut, and else of after.
	era chainstore.Era
	// after is the point that the archive has everything since; of the cursor of a whole archive, the point that it has everything through.
	after chainstore.Point
	// The rest is of the cursor of an archive that was cut. first is the point through which nodes were being read, since the digest of the archive that
	// it goes on from, namespace the one that was being read, and behind where in it.
	cut       bool
	first     chainstore.Point
	since     *archive.Digest
	namespace string
	behind    []byte
}

// The kinds of cursors.
const (
	cursorOfEnd = 1 + iota
	cursorOfPoint
)

// append writes a cursor.
func (p *place) append(store chainstore.StoreID, scope string) []byte {
	b := append(store[:], p.era[:]...)
	if !p.cut {
		return binary.AppendUvarint(appendBytes(append(b, cursorOfEnd), scope), uint64(p.after))
	}
	b = binary.AppendUvarint(appendBytes(append(b, cursorOfPoint), scope), uint64(p.after))
	b = binary.AppendUvarint(b, uint64(p.first))
	var since []byte
	if p.since != nil {
		since = p.since[:]
	}
	return appendBytes(appendBytes(appendBytes(b, string(since)), p.namespace), string(p.behind))
}

func appendBytes(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// parsePlace reads a cursor of a kind, of a store and a scope: a field error.
func parsePlace(field string, cursor []byte, kind byte, store chainstore.StoreID, scope string) (p place, err error) {
	r := cursorReader{rest: cursor}
	id := r.take(uint64(len(store)))
	copy(p.era[:], r.take(uint64(len(p.era))))
	is := r.take(1)
	of := string(r.bytes())
	p.after = chainstore.Point(r.number())
	if kind == cursorOfPoint {
		p.cut, p.first = true, chainstore.Point(r.number())
		if since := r.bytes(); len(since) == len(archive.Digest{}) {
			d := archive.Digest(since)
			p.since = &d
		} else if len(since) != 0 {
			r.failed = true
		}
		p.namespace, p.behind = string(r.bytes()), r.bytes()
	}
	switch {
	case r.failed || len(r.rest) > 0 || is[0] != kind:
		return p, wire.InvalidField(field, "must be that of an archive, as it is there")
	case chainstore.StoreID(id) != store:
		return p, wire.InvalidField(field, "must be of an archive of this store: of another one, make a full backup")
	case of != scope:
		return p, wire.InvalidField(field, "must be of an archive of the same namespaces")
	}
	return p, nil
}

// cursorReader takes a cursor apart.
type cursorReader struct {
	rest   []byte
	failed bool
}

func (r *cursorReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.failed = true
		return make([]byte, min(n, 64))
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *cursorReader) number() uint64 {
	n, length := binary.Uvarint(r.rest)
	if length <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[length:]
	return n
}

func (r *cursorReader) bytes() []byte {
	n := r.number()
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	return r.take(n)
}
