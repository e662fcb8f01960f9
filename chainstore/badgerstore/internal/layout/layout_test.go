package layout

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// goldenID is 01 02 … 20.
func goldenID() (id chainstore.ID) {
	for i := range id {
		id[i] = byte(i + 1)
	}
	return id
}

// goldenTokenKeys are keys of which the second has a secret of zeros.
var goldenTokenKeys = chainstore.TokenKeys{
	Current:  chainstore.TokenKey{Version: 2, MadeAt: 300},
	Previous: chainstore.TokenKey{Version: 1, MadeAt: 200, Secret: chainstore.Secret(goldenID())},
}

// What keys look like is part of the storage format: these must not change.
func TestGoldenKeys(t *testing.T) {
	at, id := chainstore.Place{Segment: 0x0102030405060708, Seq: 0x0a0b0c0d}, goldenID()
	hash := derive.KeyOf(runloop.Some("call_1"))
	for name, c := range map[string]struct {
		key  []byte
		want string
	}{
		"format":     {TableKey(OwnNamespace, TableFormat), "0000000046"},
		"header":     {TableKey(OwnNamespace, TableHeader), "0000000044"},
		"token keys": {TokenKeysKey(), "0000000059"},
		"name":       {NameKey("default"), "000000004e64656661756c74"},
		"numbers":    {TableKey(OwnNamespace, TableNumbers), "000000005a"},
		"node":       {PlaceKey(7, TableNodes, at), "000000075301020304050607080a0b0c0d"},
		"chunk":      {ChunkKey(7, at, 258), "000000075301020304050607080a0b0c0d0102"},
		"segment":    {SegmentKey(7, at.Segment), "00000007530102030405060708"},
		"id":         {IDKey(7, id), "00000007490102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"},
		"alias":      {AliasKey(7, "chat/é"), "0000000741636861742fc3a9"},
		"history":    {HistoryKey(7, "chat/x", 203), "0000000748636861742f780003"},
		"moved":      {MovedKey(7, "a/b", "a/b/c", 0x0102), "0000000754612f6200fffffffffffffefd2f63"},
		"unfoldered": {MovedKey(7, "", "c", 0), "000000075400ffffffffffffffff63"},
		"head":       {HeadKey(7, at, "chat/x"), "000000075001020304050607080a0b0c0d636861742f78"},
		"fork":       {ForkKey(7, at, 9), "000000074b01020304050607080a0b0c0d0000000000000009"},
		"spawned":    {SpawnedKey(7, id, 5), "00000007570102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f200000000000000005"},
		"spawned at": {SpawnedAtKey(7, at, 5), "00000007580102030405060708f5f4f3f20000000000000005"},
		"recall":     {RecallKey(7, at, hash), "00000007520102030405060708" + hex.EncodeToString(hash[:]) + "f5f4f3f2"},
		"tools":      {PlaceKey(7, TableTools, at), "000000075501020304050607080a0b0c0d"},
		"variables":  {PlaceKey(7, TableVariables, at), "000000075601020304050607080a0b0c0d"},
		"last put":   {PlaceKey(7, TableLastPut, at), "000000074c01020304050607080a0b0c0d"},
		"counters":   {CountersKey(7), "0000000743"},
		"settings":   {SettingsKey(7), "0000000747"},
	} {
		if got := hex.EncodeToString(c.key); got != c.want {
			t.Errorf("%s: %s, must be %s", name, got, c.want)
		}
	}
}

func TestGoldenCallHashes(t *testing.T) {
	for want, id := range map[string]runloop.Optional{
		"6e340b9cffb37a989ca544e6bb780a2c": {},
		"4bf5122f344554c53bde2ebb8cd2b7e3": runloop.Some(""),
		"2a5f695524596db55aaa36eac55e85fe": runloop.Some("call_1"),
	} {
		hash := derive.KeyOf(id)
		if got := hex.EncodeToString(hash[:]); got != want {
			t.Errorf("%v: %s, must be %s", id, got, want)
		}
	}
}

var goldenSettings = Settings{SettingsNow: chainstore.SettingsNow{
	Settings: chainstore.Settings{MaxNodes: 300, MaxMessageBytes: 200, MaxAliases: 2}, Revision: 3,
}}

// What values look like is part of the storage format: these must not change.
func TestGoldenValues(t *testing.T) {
	at := chainstore.Place{Segment: 300, Seq: 2}
	full := Row{
		Forks: []chainstore.Place{at, {Segment: 1, Seq: 0}}, Header: []byte("head"), Metadata: []byte("meta"), Payload: []byte("pay"),
	}
	header := StoreHeader{ID: chainstore.StoreID(bytes.Repeat([]byte{7}, 16)), Required: []string{"receipts", "a"}, Optional: []string{"feeds"}}
	retained := goldenSettings
	retained.Retention = "ab"
	tools := &chainstore.Tables{OtherCalls: 1, Tools: []chainstore.ToolCount{{Name: runloop.Some("sh"), Calls: 2}, {Calls: 1}}}
	for name, c := range map[string]struct {
		value []byte
		want  string
	}{
		"header of the store": {AppendStoreHeader(nil, &header), "07070707070707070707070707070707" + "02087265636569707473" + "0161" + "01056665656473"},
		"header of a new one": {AppendStoreHeader(nil, &StoreHeader{ID: header.ID}), "070707070707070707070707070707070000"},

		"row":          {AppendRow(nil, &Row{Header: []byte("head"), Payload: []byte("pay")}), "010468656164706179"},
		"full row":     {AppendRow(nil, &full), "0702ac020201000404686561646d657461706179"},
		"chunked row":  {AppendRow(nil, &Row{Header: []byte("head"), Payload: []byte("pay"), Chunks: 2}), "09040268656164"},
		"detailed row": {AppendRow(nil, &Row{Header: []byte("head"), Payload: []byte("pay"), Details: []byte("by"), DetailsLength: 2}), "11040268656164" + "7061796279"},
		"all of it": {
			AppendRow(nil, &Row{Forks: full.Forks, Header: []byte("head"), Metadata: []byte("meta"), Chunks: 3, DetailsLength: 2}),
			"1f02ac02020100040403026865616" + "46d657461",
		},
		"alias": {AppendAlias(nil, &AliasRow{
			At: at, MovedAt: 200, States: 3, Revision: 260, Began: 259, Principal: 7, Labels: map[string]string{"k": "v", "a": ""},
		}), "1202c80103ac02028402010702" + "01610001" + "6b0176"},
		"deleted alias": {AppendAlias(nil, &AliasRow{Deleted: true, MovedAt: 1, States: 2, Revision: 2, Began: 2}), "120101020000020000"},
		"past state":    {AppendPastState(nil, &PastState{Number: 5, Began: 200, At: at, Revision: 260, Principal: 7}), "120005c801ac0202840207"},
		"past deletion": {AppendPastState(nil, &PastState{Deleted: true, Number: 5, Began: 200, Revision: 5}), "120105c80100000500"},
		"recall": {AppendRecall(nil, &derive.Recall{Called: true, Messages: []chainstore.CallMessage{
			{Index: 0}, {Index: 70, Result: true, LeftOut: true},
		}}), "01009b02"},
		"tools":              {AppendTools(tableVersion(&chainstore.Header{}), tools), "000201010273680200" + "01"},
		"tools of version 1": {AppendTools(tableVersion(&chainstore.Header{Version1: true}), tools), "01010273680200" + "01"},
		"variables":          {appendVariables(tableVersion(&chainstore.Header{}), []chainstore.Variable{{Name: "x", Seq: 200}}), "00020178c801"},
		"no variable":        {appendVariables(tableVersion(&chainstore.Header{}), nil), "0002"},
		"variables of version 1": {
			appendVariables(tableVersion(&chainstore.Header{Version1: true}), []chainstore.Variable{{Name: "x", Seq: 200}}), "0178c801",
		},
		"place":                         {AppendPlaceValue(nil, at), "ac0202"},
		"number":                        {NumberValue(300), "ac02"},
		"counters":                      {AppendCounters(nil, &Counters{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, ""}), "010203040506070809"},
		"floor":                         {AppendCounters(nil, &Counters{1, 2, 3, 4, 5, 6, 7, 8, 9, 300, 0, 0, ""}), "010203040506070809ac02"},
		"swept":                         {AppendCounters(nil, &Counters{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 300, 0, ""}), "01020304050607080900ac02"},
		"erasures":                      {AppendCounters(nil, &Counters{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 300, ""}), "0102030405060708090000ac02"},
		"later counters":                {AppendCounters(nil, &Counters{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, "later"}), "010203040506070809000000" + "6c61746572"},
		"settings":                      {AppendSettings(nil, &goldenSettings), "03ac02c80102"},
		"later settings":                {AppendSettings(nil, &Settings{SettingsNow: goldenSettings.SettingsNow, Rest: "later"}), "03ac02c80102" + "006c61746572"},
		"retention":                     {AppendSettings(nil, &retained), "03ac02c80102" + "026162"},
		"later settings with retention": {AppendSettings(nil, &Settings{SettingsNow: retained.SettingsNow, Rest: "later"}), "03ac02c80102" + "026162" + "6c61746572"},
		"first token key": {
			AppendTokenKeys(nil, &TokenKeys{TokenKeys: chainstore.TokenKeys{Current: goldenTokenKeys.Previous}}), "0101c801" + goldenID().String(),
		},
		"token keys": {AppendTokenKeys(nil, &TokenKeys{TokenKeys: goldenTokenKeys}), "0202ac02" + strings.Repeat("00", 32) + "01c801" + goldenID().String()},
	} {
		if got := hex.EncodeToString(c.value); got != c.want {
			t.Errorf("%s: %s, must be %s", name, got, c.want)
		}
	}
}

// Every parser reads what was built, and refuses what was cut short or has something behind it.
func TestValuesParse(t *testing.T) {
	for name, c := range map[string]struct {
		value []byte
		again func([]byte) ([]byte, error)
		// grows says that a later version may add to the value.
		grows bool
	}{
		"alias": {AppendAlias(nil, &AliasRow{At: chainstore.Place{Segment: 1, Seq: 2}, MovedAt: 9, States: 1, Revision: 5, Began: 3, Labels: map[string]string{"k": "v"}}), func(b []byte) ([]byte, error) {
			a, err := ParseAlias(b)
			return AppendAlias(nil, a), err
		}, true},
		"past state": {AppendPastState(nil, &PastState{Number: 1, Began: 2, Revision: 1, At: chainstore.Place{Segment: 3, Seq: 4}}), func(b []byte) ([]byte, error) {
			s, err := ParsePastState(b)
			return AppendPastState(nil, &s), err
		}, true},
		"header of the store": {AppendStoreHeader(nil, &StoreHeader{ID: chainstore.NewStoreID(), Required: []string{"a"}, Optional: []string{"b", "c"}}), func(b []byte) ([]byte, error) {
			h, err := ParseStoreHeader(b)
			if err != nil {
				return nil, err
			}
			return AppendStoreHeader(nil, h), nil
		}, true},
		"counters": {AppendCounters(nil, &Counters{Nodes: 9}), func(b []byte) ([]byte, error) {
			c, err := ParseCounters(b)
			return AppendCounters(nil, &c), err
		}, false},
		"settings": {AppendSettings(nil, &goldenSettings), func(b []byte) ([]byte, error) {
			s, err := ParseSettings(b)
			return AppendSettings(nil, &s), err
		}, true},
		"token keys": {AppendTokenKeys(nil, &TokenKeys{TokenKeys: goldenTokenKeys}), func(b []byte) ([]byte, error) {
			k, err := ParseTokenKeys(b)
			return AppendTokenKeys(nil, &k), err
		}, true},
		"counters with a floor": {AppendCounters(nil, &Counters{Nodes: 9, Floor: 300}), func(b []byte) ([]byte, error) {
			c, err := ParseCounters(b)
			return AppendCounters(nil, &c), err
		}, false},
		"counters of nodes that were swept": {AppendCounters(nil, &Counters{Nodes: 9, Swept: 300}), func(b []byte) ([]byte, error) {
			c, err := ParseCounters(b)
			return AppendCounters(nil, &c), err
		}, false},
		"counters of nodes that were erased": {AppendCounters(nil, &Counters{Nodes: 9, Erasures: 300}), func(b []byte) ([]byte, error) {
			c, err := ParseCounters(b)
			return AppendCounters(nil, &c), err
		}, true},
		"place": {AppendPlaceValue(nil, chainstore.Place{Segment: 1, Seq: 2}), func(b []byte) ([]byte, error) {
			p, err := ParsePlaceValue(b, TableIDs)
			return AppendPlaceValue(nil, p), err
		}, false},
		"number": {NumberValue(300), func(b []byte) ([]byte, error) {
			n, err := ParseNumber(b, TableLastPut)
			return NumberValue(n), err
		}, false},
	} {
		if again, err := c.again(c.value); err != nil || !bytes.Equal(again, c.value) {
			t.Errorf("%s: %x, %v", name, again, err)
		}
		if _, err := c.again(c.value[:len(c.value)-1]); !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s cut short: %v", name, err)
		}
		if _, err := c.again(append(bytes.Clone(c.value), 0)); errors.Is(err, chainstore.ErrCorrupt) == c.grows {
			t.Errorf("%s with something behind it: %v", name, err)
		}
	}
}

// TestAliasesOfOtherVersions: the revision of a row of version 1 is the number of its states, and what a later version adds to a row is
// kept where that is written again.
func TestAliasesOfOtherVersions(t *testing.T) {
	hexed := func(digits string) []byte {
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	at := chainstore.Place{Segment: 300, Seq: 2}
	a, err := ParseAlias(hexed("02c80103ac02020201610001" + "6b0176"))
	if err != nil || a.At != at || a.MovedAt != 200 || a.States != 3 || a.Revision != 3 || a.Began != 3 || a.Labels["k"] != "v" || len(a.Labels) != 2 {
		t.Errorf("an alias of version 1: %+v, %v", a, err)
	}
	if a, err = ParseAlias(hexed("0101020000")); err != nil || !a.Deleted || a.States != 2 || a.Revision != 2 {
		t.Errorf("a deleted alias of version 1: %+v, %v", a, err)
	}
	if s, err := ParsePastState(hexed("0005c801ac0202")); err != nil || s != (PastState{Number: 5, Began: 200, At: at, Revision: 5}) {
		t.Errorf("a past state of version 1: %+v, %v", s, err)
	}
	for _, value := range []string{"00c80103ac020200", "0005c801ac020200", "03c80103ac0202"} { // with something behind, unknown bits
		_, err1 := ParseAlias(hexed(value))
		_, err2 := ParsePastState(hexed(value))
		if !errors.Is(err1, chainstore.ErrCorrupt) || !errors.Is(err2, chainstore.ErrCorrupt) {
			t.Errorf("%s: %v, %v", value, err1, err2)
		}
	}
	for _, labels := range []map[string]string{nil, {"k": "v"}} {
		later := append(AppendAlias(nil, &AliasRow{At: at, States: 1, Revision: 1, Began: 1, Labels: labels}), "later"...)
		if a, err = ParseAlias(later); err != nil || string(a.Rest) != "later" || !bytes.Equal(AppendAlias(nil, a), later) {
			t.Errorf("an alias of a later version: %+v, %v", a, err)
		}
	}
	past := append(AppendPastState(nil, &PastState{Number: 1, Revision: 1, At: at}), "later"...)
	if s, err := ParsePastState(past); err != nil || s != (PastState{Number: 1, Revision: 1, At: at}) {
		t.Errorf("a past state of a later version: %+v, %v", s, err)
	}
}

// TestVersionsToCome: a row of a version that is not known is refused, and the error names it.
func TestVersionsToCome(t *testing.T) {
	alias := AppendAlias(nil, &AliasRow{States: 1, Revision: 1, Began: 1})
	past := AppendPastState(nil, &PastState{Number: 1, Revision: 1})
	for name, c := range map[string]struct {
		value []byte
		parse func([]byte) error
		want  string
	}{
		"alias":      {append([]byte{0x13}, alias[1:]...), func(b []byte) error { _, err := ParseAlias(b); return err }, "table A is of version 3"},
		"past state": {append([]byte{0x17}, past[1:]...), func(b []byte) error { _, err := ParsePastState(b); return err }, "table H is of version 7"},
		"tools":      {[]byte{0, 3, 1}, func(b []byte) error { return ParseTools(b, &chainstore.Tables{}) }, "table U is of version 3"},
		"variables":  {[]byte{0, 4}, func(b []byte) error { _, err := ParseVariables(b); return err }, "table V is of version 4"},
		"node":       {[]byte{33, 1, 'h'}, func(b []byte) error { _, _, err := ParseRow(b); return err }, "table S is of kind 33"},
	} {
		if err := c.parse(c.value); !errors.Is(err, chainstore.ErrCorrupt) || !strings.Contains(err.Error(), c.want+", which this program does not know") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTablesOfVersion1: what U and V rows of format 1 can begin with is never taken for a version.
func TestTablesOfVersion1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &chainstore.Tables{OtherCalls: rapid.Int64Range(0, 300).Draw(t, "other calls")}
		for range rapid.IntRange(0, 3).Draw(t, "names") {
			name, n := rapid.StringN(1, 3, -1).Draw(t, "name"), rapid.Int64Range(0, 300).Draw(t, "number")
			tool := chainstore.ToolCount{Calls: n}
			if rapid.Bool().Draw(t, "named") {
				tool.Name = runloop.Some(name[rapid.SampledFrom([]int{0, len(name)}).Draw(t, "from"):])
			}
			want.Tools = append(want.Tools, tool)
			want.Variables = append(want.Variables, chainstore.Variable{Name: name, Seq: uint32(n)})
		}
		for _, version1 := range []bool{true, false} {
			h, got := &chainstore.Header{Version1: version1}, &chainstore.Tables{}
			err := ParseTools(AppendTools(tableVersion(h), want), got)
			variables, err2 := ParseVariables(appendVariables(tableVersion(h), want.Variables))
			if got.Variables = variables; err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("version 1 %t: %+v, %v, %v, want %+v", version1, got, err, err2, want)
			}
		}
	})
}

// Rows, tables and recalls have no end of their own: what matters is that nothing panics and nothing is invented.
func FuzzValues(f *testing.F) {
	f.Add(AppendRow(nil, &Row{
		Forks: []chainstore.Place{{Segment: 3, Seq: 2}, {Segment: 1, Seq: 0}}, Header: []byte("head"), Metadata: []byte("meta"),
		Payload: []byte("pay"), Details: []byte("by"), DetailsLength: 2,
	}))
	f.Add(AppendTools(nil, &chainstore.Tables{Tools: []chainstore.ToolCount{{Name: runloop.Some("sh"), Calls: 2}}}))
	f.Add(AppendStoreHeader(nil, &StoreHeader{ID: chainstore.StoreID{1}, Required: []string{"a"}, Optional: []string{"b"}, Rest: []byte("later")}))
	f.Add(AppendAlias(nil, &AliasRow{At: chainstore.Place{Segment: 1, Seq: 2}, States: 1, Labels: map[string]string{"k": "v"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, present, err := ParseRow(b); err == nil && present {
			again := AppendRow(nil, &r)
			if len(again) > len(b) {
				t.Errorf("%x became %x", b, again)
			}
		}
		if h, err := ParseStoreHeader(b); err == nil && len(AppendStoreHeader(nil, h)) > len(b) {
			t.Errorf("the header %x grew", b)
		}
		var tools chainstore.Tables
		if err := ParseTools(b, &tools); err == nil && len(AppendTools(nil, &tools)) > len(b) {
			t.Errorf("tools of %x grew", b)
		}
		for _, parse := range []func([]byte) error{
			func(b []byte) error { _, err := ParseStoreHeader(b); return err },
			func(b []byte) error { _, err := ParseAlias(b); return err },
			func(b []byte) error { _, err := ParseRecall(b); return err },
			func(b []byte) error { _, err := ParseVariables(b); return err },
			func(b []byte) error { _, err := ParsePastState(b); return err },
			func(b []byte) error { _, err := ParseCounters(b); return err },
		} {
			if err := parse(b); err != nil && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%x: %v", b, err)
			}
		}
	})
}

func TestKeysParse(t *testing.T) {
	at, hash := chainstore.Place{Segment: 1 << 40, Seq: 1 << 30}, derive.KeyOf(runloop.Some("x"))
	if p, chunk, err := ParseNodeKey(ChunkKey(1, at, 3)); p != at || chunk != 3 || err != nil {
		t.Error(p, chunk, err)
	}
	if p, chunk, err := ParseNodeKey(PlaceKey(1, TableNodes, at)); p != at || chunk != 0 || err != nil {
		t.Error(p, chunk, err)
	}
	if p, child, err := ParseForkKey(ForkKey(1, at, 77)); p != at || child != 77 || err != nil {
		t.Error(p, child, err)
	}
	if id, err := ParseIDKey(IDKey(1, goldenID())); id != goldenID() || err != nil {
		t.Error(id, err)
	}
	if id, n, err := ParseSpawnedKey(SpawnedKey(1, goldenID(), 8)); id != goldenID() || n != 8 || err != nil {
		t.Error(id, n, err)
	}
	if n, err := ParseSpawnedAtKey(SpawnedAtKey(1, at, 8)); n != 8 || err != nil {
		t.Error(n, err)
	}
	if p, h, err := ParseRecallKey(RecallKey(1, at, hash)); p != at || h != hash || err != nil {
		t.Error(p, h, err)
	}
	for _, name := range []string{"a", "/a", "a/b", "a/b/c", "a//"} {
		for folder := range chainstore.Folders(name) {
			in, got, moved, err := ParseMovedKey(MovedKey(1, folder, name, 12345))
			if in != folder || got != name || moved != 12345 || err != nil {
				t.Error(in, got, moved, err)
			}
		}
	}
	for name, key := range map[string][]byte{
		"node": PlaceKey(1, TableNodes, at), "fork": ForkKey(1, at, 7), "id": IDKey(1, goldenID()),
		"recall": RecallKey(1, at, hash), "spawned": SpawnedKey(1, goldenID(), 1), "spawned at": SpawnedAtKey(1, at, 1),
	} {
		short := key[:len(key)-1]
		_, _, err1 := ParseNodeKey(short)
		_, _, err2 := ParseForkKey(short)
		_, err3 := ParseIDKey(short)
		_, _, err4 := ParseRecallKey(short)
		_, _, err5 := ParseSpawnedKey(short)
		_, err6 := ParseSpawnedAtKey(short)
		_, _, _, err7 := ParseMovedKey(FolderKey(1, "a"))
		for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
			if !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%s cut short: %v", name, err)
			}
		}
	}
}
