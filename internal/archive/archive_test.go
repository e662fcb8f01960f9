package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
)

type record = transcriptv1.ArchiveRecord

func namespace(name string) *record {
	return &record{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: &transcriptv1.ArchiveNamespace{Name: name}}}
}

// node is a node of one message, and its id.
func node(parent *[32]byte, text string) (*record, [32]byte) {
	messages := []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}}
	salt := []byte("0123456789abcdef")
	form := canonical.NewNode(messages, nil, salt)
	envelope := form.Envelope(parent, nil)
	return &record{Record: &transcriptv1.ArchiveRecord_Node{Node: &transcriptv1.ArchivedNode{
		Envelope: canonical.AppendEnvelope(nil, envelope), Payload: form.Payload, Salt: salt, FirstPutAt: timestamppb.New(timestamppb.Now().AsTime()),
	}}}, canonical.NodeID(envelope)
}

func alias(name string, revision int64, ids ...[32]byte) *record {
	a := &transcriptv1.ArchiveAlias{Name: name, Revision: revision + int64(len(ids))}
	for i, id := range ids {
		a.States = append(a.States, &transcriptv1.ArchiveAliasState{Node: id[:], Revision: revision + int64(i)})
	}
	return &record{Record: &transcriptv1.ArchiveRecord_Alias{Alias: a}}
}

// write makes an archive, with a point behind each record that is nil.
func write(tb testing.TB, header *transcriptv1.ArchiveHeader, records ...*record) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, header)
	for _, r := range records {
		if err == nil && r == nil {
			err = w.Point([]byte("here"))
		} else if err == nil {
			err = w.Write(r)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := w.End([]byte("point")); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// read reads an archive to its end.
func read(file []byte, keys ...age.Identity) (records []*record, err error) {
	r, err := archive.Open(bytes.NewReader(file), keys...)
	if err != nil {
		return nil, err
	}
	for {
		one, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, one)
	}
}

func bundle() *transcriptv1.ArchiveHeader {
	return &transcriptv1.ArchiveHeader{Kind: transcriptv1.ArchiveKind_ARCHIVE_KIND_BUNDLE, MadeBy: "test"}
}

// small is an archive of a few blocks.
func small(tb testing.TB) ([]byte, []*record) {
	tb.Helper()
	first, id := node(nil, "one")
	second, next := node(&id, "two")
	records := []*record{namespace("a"), first, nil, second, nil, alias("chat", 1, id, next)}
	return write(tb, bundle(), records...), records
}

// TestRoundTrip: what is written is read, in any sizes of records, and zstd alone reads it too.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := []*record{namespace("a")}
		var parent *[32]byte
		for range rapid.IntRange(0, 6).Draw(t, "nodes") {
			n, id := node(parent, strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 100, 100_000, 1 << 20, 3 << 20}).Draw(t, "size")))
			records, parent = append(records, n), &id
			if rapid.Bool().Draw(t, "point") {
				records = append(records, nil)
			}
		}
		var out bytes.Buffer
		w, err := archive.NewWriter(&out, bundle())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r == nil {
				err = w.Point([]byte("here"))
			} else {
				err = w.Write(r)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		digest, counts, err := w.End(nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := archive.NewReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range records {
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = &record{Record: &transcriptv1.ArchiveRecord_Point{Point: &transcriptv1.ArchivePoint{Cursor: []byte("here")}}}
			}
			if !proto.Equal(got, want) {
				t.Fatal("a record is not what was written")
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) || r.Digest() != digest || r.Counts() != counts || r.Ended() == nil {
			t.Fatalf("at the end: %v, %v, %v; want %v, %v", err, r.Digest(), r.Counts(), digest, counts)
		}
		plain, err := zstd.NewReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		if _, err := io.Copy(io.Discard, plain); err != nil {
			t.Fatalf("zstd does not read it: %v", err)
		}
	})
}

// TestCuts: an archive that was cut anywhere is told, and everything before the block that was cut is given.
func TestCuts(t *testing.T) {
	file, _ := small(t)
	for n := range file {
		records, err := read(file[:n])
		if !errors.Is(err, archive.ErrCut) {
			t.Fatalf("cut at %d of %d: %d records, %v", n, len(file), len(records), err)
		}
	}
}

// TestFlips: each bit that is not what was written is told, and no record of its block is given.
func TestFlips(t *testing.T) {
	file, _ := small(t)
	whole, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range file {
		for bit := range 8 {
			flipped := bytes.Clone(file)
			flipped[i] ^= 1 << bit
			records, err := read(flipped)
			if err == nil {
				t.Fatalf("bit %d of byte %d is not missed", bit, i)
			}
			for j, r := range records {
				if !proto.Equal(r, whole[j]) {
					t.Fatalf("bit %d of byte %d changes what is read", bit, i)
				}
			}
		}
	}
	if _, err := read(append(bytes.Clone(file), 0)); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("a byte behind the end: %v", err)
	}
	twice := append(bytes.Clone(file), file...)
	if _, err := read(twice); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("an archive behind the end: %v", err)
	}
}

// TestRandomDamage: blocks that were left out, changed places or came twice are told.
func TestRandomDamage(t *testing.T) {
	file, _ := small(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from := random.IntN(len(file))
		through := from + 1 + random.IntN(len(file)-from)
		to := random.IntN(len(file) - (through - from) + 1)
		rest := append(bytes.Clone(file[:from]), file[through:]...)
		moved := append(append(bytes.Clone(rest[:to]), file[from:through]...), rest[to:]...)
		twice := append(append(bytes.Clone(file[:through]), file[from:through]...), file[through:]...)
		for what, damaged := range map[string][]byte{"left out": rest, "moved": moved, "doubled": twice} {
			if bytes.Equal(damaged, file) {
				continue
			}
			if _, err := read(damaged); err == nil {
				t.Fatalf("%s: %d to %d (to %d)", what, from, through, to)
			}
		}
	}
}

// TestSealed: an encrypted archive is read with a key of one of its recipients, and by nobody else; its cuts and flips are told too.
func TestSealed(t *testing.T) {
	file, records := small(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := archive.Seal(&out, key.Recipient())
	if err == nil {
		_, err = w.Write(file)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := read(out.Bytes(), other, key)
	if err != nil || len(got) != len(records) {
		t.Fatalf("%d records, %v", len(got), err)
	}
	if _, err := read(out.Bytes()); !errors.Is(err, archive.ErrEncrypted) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := read(out.Bytes(), other); !errors.Is(err, archive.ErrEncrypted) {
		t.Errorf("with another key: %v", err)
	}
	for n := range out.Len() {
		if _, err := read(out.Bytes()[:n], key); err == nil {
			t.Fatalf("cut at %d of %d, and nothing is told", n, out.Len())
		}
		flipped := bytes.Clone(out.Bytes())
		flipped[n] ^= 0x10
		if _, err := read(flipped, key); err == nil {
			t.Fatalf("byte %d of %d, and nothing is told", n, out.Len())
		}
	}
}

// reseal is an archive of blocks with what is given, whose digests are right.
func reseal(blocks ...[]byte) []byte { return archive.ForTests(blocks...) }

// TestHostileArchives: archives whose digests are right, and that break the rules, are refused and take little memory.
func TestHostileArchives(t *testing.T) {
	marshal := func(records ...*record) (b []byte) {
		for _, r := range records {
			one, err := proto.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
		}
		return b
	}
	header := &record{Record: &transcriptv1.ArchiveRecord_Header{Header: bundle()}}
	later := &record{Record: &transcriptv1.ArchiveRecord_Header{Header: &transcriptv1.ArchiveHeader{RequiredFeatures: []string{"moons"}}}}
	begun, err := archive.NewReader(bytes.NewReader(reseal(marshal(header))))
	if err != nil {
		t.Fatal(err)
	}
	digest := begun.Digest()
	end := func(nodes int64, digest []byte) *record {
		return &record{Record: &transcriptv1.ArchiveRecord_End{End: &transcriptv1.ArchiveEnd{Nodes: nodes, Digest: digest}}}
	}
	for what, c := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":                    {nil, archive.ErrCut},
		"text":                       {[]byte("a text that is long enough to be looked at"), archive.ErrNotAnArchive},
		"a later format":             {bytes.Replace(reseal(), []byte("archive 1"), []byte("archive 2"), 1), archive.ErrVersion},
		"no block":                   {reseal(), archive.ErrCut},
		"no header":                  {reseal(marshal(namespace("a"))), archive.ErrBroken},
		"a feature that is required": {reseal(marshal(later)), archive.ErrVersion},
		"two headers":                {reseal(marshal(header, header)), archive.ErrBroken},
		"a record of another kind":   {reseal(marshal(header), []byte{3, 0xa2, 0x06, 0}), archive.ErrVersion},
		"an empty record":            {reseal(marshal(header), []byte{0}), archive.ErrVersion},
		"a record over its block":    {reseal(marshal(header), []byte{9, 1}), archive.ErrBroken},
		"a length without an end":    {reseal(marshal(header), bytes.Repeat([]byte{0xff}, 20)), archive.ErrBroken},
		"a record that is none":      {reseal(marshal(header), []byte{2, 0x0a, 0x05}), archive.ErrBroken},
		"an empty block":             {reseal(marshal(header), nil), archive.ErrBroken},
		"wrong counts":               {reseal(marshal(header), marshal(end(1, digest[:]))), archive.ErrBroken},
		"another digest":             {reseal(marshal(header), marshal(end(0, nil))), archive.ErrBroken},
		"records behind the end":     {reseal(marshal(header), marshal(end(0, digest[:]), header)), archive.ErrBroken},
		"a block that unpacks to a lot": {
			reseal(marshal(header), make([]byte, 64<<20)), archive.ErrBroken,
		},
	} {
		if _, err := read(c.file); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if _, err := read(reseal(marshal(header), marshal(end(0, digest[:])))); err != nil {
		t.Errorf("one that is right: %v", err)
	}
}

// TestChecker: what breaks the rules between records is told.
func TestChecker(t *testing.T) {
	root, id := node(nil, "one")
	child, childID := node(&id, "two")
	changed := proto.CloneOf(child)
	changed.GetNode().Payload = root.GetNode().GetPayload()
	unsalted := proto.CloneOf(root)
	unsalted.GetNode().Salt = nil
	noted := proto.CloneOf(root)
	noted.GetNode().Notes = make([]*transcriptv1.MessageNote, 2)
	provenance := proto.CloneOf(root)
	provenance.GetNode().Copies = &transcriptv1.CompactionCopies{}
	with := func(heads, known [][]byte, since []byte) *transcriptv1.ArchiveHeader {
		h := bundle()
		h.Heads, h.Known, h.Since = heads, known, since
		return h
	}
	whole := func() *transcriptv1.ArchiveHeader {
		h := bundle()
		h.Kind = transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP
		return h
	}
	receipt := &record{Record: &transcriptv1.ArchiveRecord_Receipt{Receipt: testreceipt.Of(t, id, "")}}
	text := &record{Record: &transcriptv1.ArchiveRecord_Receipt{Receipt: []byte("receipt")}}
	left, err := canonical.EraseArchived(root.GetNode(), testreceipt.Of(t, childID, ""))
	if err != nil {
		t.Fatal(err)
	}
	stranger := &record{Record: &transcriptv1.ArchiveRecord_Node{Node: left}}
	numbered := func(number int64) *record {
		r := namespace("a")
		r.GetNamespace().Number = number
		return r
	}
	for what, c := range map[string]struct {
		header  *transcriptv1.ArchiveHeader
		records []*record
		want    string
	}{
		"a namespace with its number again": {whole(), []*record{namespace("a"), root, numbered(7), namespace("a"), numbered(7), child}, ""},
		"a namespace with two numbers":      {whole(), []*record{numbered(7), numbered(8)}, "two numbers"},
		"a chain":                           {with([][]byte{childID[:]}, nil, nil), []*record{namespace("a"), root, child, alias("x", 1, id, childID)}, ""},
		"a thin one":                        {with([][]byte{childID[:]}, [][]byte{id[:]}, nil), []*record{namespace("a"), child}, ""},
		"one that goes on":                  {with(nil, nil, []byte("x")), []*record{namespace("a"), child, alias("x", 5, id)}, ""},
		"a namespace again":                 {whole(), []*record{namespace("a"), root, namespace("b"), namespace("a"), child}, ""},
		"a receipt":                         {whole(), []*record{namespace("a"), receipt}, ""},
		"a receipt in a bundle":             {bundle(), []*record{namespace("a"), receipt}, "in a bundle"},
		"a receipt without a namespace":     {whole(), []*record{receipt}, "without a namespace"},
		"a receipt that is none":            {whole(), []*record{namespace("a"), text}, "must be a SignedReceipt"},
		"an erased node, another's receipt": {whole(), []*record{namespace("a"), stranger}, "erasure.receipt: must be of this node"},
		"a node without a namespace":        {bundle(), []*record{root}, "without a namespace"},
		"an alias without a namespace":      {bundle(), []*record{alias("x", 1, id)}, "without a namespace"},
		"a child before its parent":         {bundle(), []*record{namespace("a"), child, root}, "does not stand before it"},
		"a parent in another namespace":     {whole(), []*record{namespace("a"), root, namespace("b"), child}, "does not stand before it"},
		"an alias of a node elsewhere":      {whole(), []*record{namespace("a"), root, namespace("b"), alias("x", 1, id)}, "points to"},
		"a bundle of two namespaces":        {bundle(), []*record{namespace("a"), root, namespace("b")}, "more than one namespace"},
		"an alias twice":                    {bundle(), []*record{namespace("a"), root, alias("x", 1, id), alias("x", 1, id)}, "twice"},
		"an alias without states":           {bundle(), []*record{namespace("a"), root, alias("x", 1)}, "without a state"},
		"revisions that do not grow":        {bundle(), []*record{namespace("a"), root, alias("x", 0, id)}, "do not grow"},
		"other messages":                    {bundle(), []*record{namespace("a"), root, changed}, "must have the digest of the envelope"},
		"without its salt":                  {bundle(), []*record{namespace("a"), unsalted}, "must have the digest of the envelope"},
		"too many notes":                    {bundle(), []*record{namespace("a"), noted}, "notes"},
		"provenance of a plain node":        {bundle(), []*record{namespace("a"), provenance}, "only the messages of a compaction node"},
		"a head that is not there":          {with([][]byte{childID[:]}, nil, nil), []*record{namespace("a"), root}, "is not in it"},
		"a head that is no id":              {with([][]byte{{1}}, nil, nil), []*record{namespace("a"), root}, "32 bytes"},
		"something known that is no id":     {with(nil, [][]byte{{1}}, nil), nil, "32 bytes"},
		"an alias that points to no id":     {bundle(), []*record{namespace("a"), {Record: &transcriptv1.ArchiveRecord_Alias{Alias: &transcriptv1.ArchiveAlias{Name: "x", States: []*transcriptv1.ArchiveAliasState{{Node: []byte{1}, Revision: 1}}, Revision: 1}}}}, "32 bytes"},
		"an envelope that is not canonical": {bundle(), []*record{namespace("a"), {Record: &transcriptv1.ArchiveRecord_Node{Node: &transcriptv1.ArchivedNode{Envelope: []byte{1, 2}}}}}, "envelope"},
	} {
		err := check(c.header, c.records)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.want != "" && (!errors.Is(err, archive.ErrBroken) || !strings.Contains(fmt.Sprint(err), c.want)):
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

func check(header *transcriptv1.ArchiveHeader, records []*record) error {
	c, err := archive.NewChecker(header)
	for _, r := range records {
		if err == nil {
			_, err = c.Check(r)
		}
	}
	if err == nil {
		err = c.Finish()
	}
	return err
}

// FuzzReader: of whatever blocks, with digests that are right or not, the reader makes records or an error of its own.
func FuzzReader(f *testing.F) {
	file, _ := small(f)
	f.Add(file, true)
	f.Add([]byte{2, 0x0a, 0}, false)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if !whole {
			b = reseal(b, b)
		}
		records, err := read(b)
		if err == nil {
			return
		}
		for _, known := range []error{archive.ErrNotAnArchive, archive.ErrVersion, archive.ErrCut, archive.ErrDamaged, archive.ErrBroken, archive.ErrEncrypted} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Errorf("%d records, %v", len(records), err)
	})
}
