package badgerstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

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

// What keys look like is part of the storage format: these must not change.
func TestGoldenKeys(t *testing.T) {
	at, id := chainstore.Place{Segment: 0x0102030405060708, Seq: 0x0a0b0c0d}, goldenID()
	hash := derive.KeyOf(runloop.Some("call_1"))
	for name, c := range map[string]struct {
		key  []byte
		want string
	}{
		"format":     {tableKey(ownNamespace, tableFormat), "0000000046"},
		"name":       {nameKey("default"), "000000004e64656661756c74"},
		"numbers":    {tableKey(ownNamespace, tableNumbers), "000000005a"},
		"node":       {placeKey(7, tableNodes, at), "000000075301020304050607080a0b0c0d"},
		"chunk":      {chunkKey(7, at, 258), "000000075301020304050607080a0b0c0d0102"},
		"segment":    {segmentKey(7, at.Segment), "00000007530102030405060708"},
		"id":         {idKey(7, id), "00000007490102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"},
		"alias":      {aliasKey(7, "chat/é"), "0000000741636861742fc3a9"},
		"history":    {historyKey(7, "chat/x", 203), "0000000748636861742f780003"},
		"moved":      {movedKey(7, "a/b/c", 0x0102), "0000000754612f6200fffffffffffffefd2f63"},
		"unfoldered": {movedKey(7, "c", 0), "000000075400ffffffffffffffff63"},
		"head":       {headKey(7, at, "chat/x"), "000000075001020304050607080a0b0c0d636861742f78"},
		"fork":       {forkKey(7, at, 9), "000000074b01020304050607080a0b0c0d0000000000000009"},
		"spawned":    {spawnedKey(7, id, 5), "00000007570102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f200000000000000005"},
		"spawned at": {spawnedAtKey(7, at, 5), "00000007580102030405060708f5f4f3f20000000000000005"},
		"recall":     {recallKey(7, at, hash), "00000007520102030405060708" + hex.EncodeToString(hash[:]) + "f5f4f3f2"},
		"tools":      {placeKey(7, tableTools, at), "000000075501020304050607080a0b0c0d"},
		"variables":  {placeKey(7, tableVariables, at), "000000075601020304050607080a0b0c0d"},
		"last put":   {placeKey(7, tableLastPut, at), "000000074c01020304050607080a0b0c0d"},
		"counters":   {countersKey(7), "0000000743"},
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

// What values look like is part of the storage format: these must not change.
func TestGoldenValues(t *testing.T) {
	at := chainstore.Place{Segment: 300, Seq: 2}
	for name, c := range map[string]struct {
		value []byte
		want  string
	}{
		"row":           {appendRow(nil, nil, []byte("head"), nil, []byte("pay"), 0), "010468656164706179"},
		"full row":      {appendRow(nil, []chainstore.Place{at, {Segment: 1, Seq: 0}}, []byte("head"), []byte("meta"), []byte("pay"), 0), "0702ac020201000404686561646d657461706179"},
		"chunked row":   {appendRow(nil, nil, []byte("head"), nil, []byte("pay"), 2), "09040268656164"},
		"alias":         {appendAlias(nil, &aliasRow{at: at, movedAt: 200, states: 3, labels: map[string]string{"k": "v", "a": ""}}), "02c80103ac02020201610001" + "6b0176"},
		"deleted alias": {appendAlias(nil, &aliasRow{deleted: true, movedAt: 1, states: 2}), "0101020000"},
		"past state":    {appendPastState(nil, &pastState{number: 5, began: 200, at: at}), "0005c801ac0202"},
		"past deletion": {appendPastState(nil, &pastState{deleted: true, number: 5, began: 200}), "0105c8010000"},
		"recall": {appendRecall(nil, &derive.Recall{Called: true, Messages: []chainstore.CallMessage{
			{Index: 0}, {Index: 70, Result: true, LeftOut: true},
		}}), "01009b02"},
		"tools": {appendTools(nil, &chainstore.Tables{OtherCalls: 1, Tools: []chainstore.ToolCount{
			{Name: runloop.Some("sh"), Calls: 2}, {Calls: 1},
		}}), "01010273680200" + "01"},
		"variables": {appendVariables([]byte{}, []chainstore.Variable{{Name: "x", Seq: 200}}), "0178c801"},
		"place":     {appendPlaceValue(nil, at), "ac0202"},
		"number":    {numberValue(300), "ac02"},
		"counters":  {appendCounters(nil, &counters{1, 2, 3, 4, 5, 6, 7, 8, 9}), "010203040506070809"},
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
	}{
		"alias": {appendAlias(nil, &aliasRow{at: chainstore.Place{Segment: 1, Seq: 2}, movedAt: 9, states: 1, labels: map[string]string{"k": "v"}}), func(b []byte) ([]byte, error) {
			a, err := parseAlias(b)
			return appendAlias(nil, a), err
		}},
		"past state": {appendPastState(nil, &pastState{number: 1, began: 2, at: chainstore.Place{Segment: 3, Seq: 4}}), func(b []byte) ([]byte, error) {
			s, err := parsePastState(b)
			return appendPastState(nil, &s), err
		}},
		"counters": {appendCounters(nil, &counters{nodes: 9}), func(b []byte) ([]byte, error) {
			c, err := parseCounters(b)
			return appendCounters(nil, &c), err
		}},
		"place": {appendPlaceValue(nil, chainstore.Place{Segment: 1, Seq: 2}), func(b []byte) ([]byte, error) {
			p, err := parsePlaceValue(b, tableIDs)
			return appendPlaceValue(nil, p), err
		}},
		"number": {numberValue(300), func(b []byte) ([]byte, error) {
			n, err := parseNumber(b, tableLastPut)
			return numberValue(n), err
		}},
	} {
		if again, err := c.again(c.value); err != nil || !bytes.Equal(again, c.value) {
			t.Errorf("%s: %x, %v", name, again, err)
		}
		if _, err := c.again(c.value[:len(c.value)-1]); !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s cut short: %v", name, err)
		}
		if _, err := c.again(append(bytes.Clone(c.value), 0)); !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s with something behind it: %v", name, err)
		}
	}
}

// Rows, tables and recalls have no end of their own: what matters is that nothing panics and nothing is invented.
func FuzzValues(f *testing.F) {
	f.Add(appendRow(nil, []chainstore.Place{{Segment: 3, Seq: 2}, {Segment: 1, Seq: 0}}, []byte("head"), []byte("meta"), []byte("pay"), 0))
	f.Add(appendTools(nil, &chainstore.Tables{Tools: []chainstore.ToolCount{{Name: runloop.Some("sh"), Calls: 2}}}))
	f.Add(appendAlias(nil, &aliasRow{at: chainstore.Place{Segment: 1, Seq: 2}, states: 1, labels: map[string]string{"k": "v"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, present, err := parseRow(b); err == nil && present {
			again := appendRow(nil, r.forks, r.header, r.metadata, r.payload, r.chunks)
			if len(again) > len(b) {
				t.Errorf("%x became %x", b, again)
			}
		}
		var tools chainstore.Tables
		if err := parseTools(b, &tools); err == nil && len(appendTools(nil, &tools)) > len(b) {
			t.Errorf("tools of %x grew", b)
		}
		for _, parse := range []func([]byte) error{
			func(b []byte) error { _, err := parseAlias(b); return err },
			func(b []byte) error { _, err := parseRecall(b); return err },
			func(b []byte) error { _, err := parseVariables(b); return err },
			func(b []byte) error { _, err := parsePastState(b); return err },
			func(b []byte) error { _, err := parseCounters(b); return err },
		} {
			if err := parse(b); err != nil && !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%x: %v", b, err)
			}
		}
	})
}

func TestKeysParse(t *testing.T) {
	at, hash := chainstore.Place{Segment: 1 << 40, Seq: 1 << 30}, derive.KeyOf(runloop.Some("x"))
	if p, chunk, err := parseNodeKey(chunkKey(1, at, 3)); p != at || chunk != 3 || err != nil {
		t.Error(p, chunk, err)
	}
	if p, chunk, err := parseNodeKey(placeKey(1, tableNodes, at)); p != at || chunk != 0 || err != nil {
		t.Error(p, chunk, err)
	}
	if p, child, err := parseForkKey(forkKey(1, at, 77)); p != at || child != 77 || err != nil {
		t.Error(p, child, err)
	}
	if id, err := parseIDKey(idKey(1, goldenID())); id != goldenID() || err != nil {
		t.Error(id, err)
	}
	if id, n, err := parseSpawnedKey(spawnedKey(1, goldenID(), 8)); id != goldenID() || n != 8 || err != nil {
		t.Error(id, n, err)
	}
	if n, err := parseSpawnedAtKey(spawnedAtKey(1, at, 8)); n != 8 || err != nil {
		t.Error(n, err)
	}
	if p, h, err := parseRecallKey(recallKey(1, at, hash)); p != at || h != hash || err != nil {
		t.Error(p, h, err)
	}
	for _, name := range []string{"a", "/a", "a/b", "a/b/c", "a//", ""} {
		got, moved, err := parseMovedKey(movedKey(1, name, 12345), chainstore.Folder(name))
		if got != name || moved != 12345 || err != nil {
			t.Error(name, got, moved, err)
		}
	}
	for name, key := range map[string][]byte{
		"node": placeKey(1, tableNodes, at), "fork": forkKey(1, at, 7), "id": idKey(1, goldenID()),
		"recall": recallKey(1, at, hash), "spawned": spawnedKey(1, goldenID(), 1), "spawned at": spawnedAtKey(1, at, 1),
	} {
		short := key[:len(key)-1]
		_, _, err1 := parseNodeKey(short)
		_, _, err2 := parseForkKey(short)
		_, err3 := parseIDKey(short)
		_, _, err4 := parseRecallKey(short)
		_, _, err5 := parseSpawnedKey(short)
		_, err6 := parseSpawnedAtKey(short)
		for _, err := range []error{err1, err2, err3, err4, err5, err6} {
			if !errors.Is(err, chainstore.ErrCorrupt) {
				t.Errorf("%s cut short: %v", name, err)
			}
		}
	}
}
