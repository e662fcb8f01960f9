package bench

import (
	"bytes"
	"compress/flate"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
)

func TestSmallPayloads(t *testing.T) {
	var all []byte
	for seed := range uint64(1000) {
		payload := canonical.NewNode(small(seed), nil, nil).Payload
		if len(payload) != smallPayload {
			t.Fatalf("payload %d has %d bytes", seed, len(payload))
		}
		if !bytes.Equal(payload, canonical.NewNode(small(seed), nil, nil).Payload) {
			t.Fatalf("payload %d is another the second time", seed)
		}
		all = append(all, payload...)
	}
	if n := deflated(t, all); float64(n) < 0.88*float64(len(all)) {
		t.Errorf("%d bytes of payloads compress to %d", len(all), n)
	}
}

func TestMessageAliases(t *testing.T) {
	var names []string
	for seed := range uint64(1000) {
		name := messageAlias(seed)
		if len(name) != 24 {
			t.Fatalf("alias %q has %d bytes", name, len(name))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != 1000 {
		t.Errorf("of 1000 names %d differ", n)
	}
}

func TestTextOf(t *testing.T) {
	want := textBytes(turn(7)) + textBytes(turn(8))
	if got := textOf(7, 2); got != want {
		t.Errorf("two turns have %d bytes, are said to have %d", want, got)
	}
}

func deflated(t *testing.T, b []byte) int {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
