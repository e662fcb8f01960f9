package chainstore_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
)

func drawDetail(t *rapid.T) (d chainstore.Detail) {
	text := rapid.SampledFrom([]string{"", "", "m", "stop", strings.Repeat("é", 100)})
	d.Model, d.FinishReason = text.Draw(t, "model"), text.Draw(t, "finish reason")
	for _, n := range []**int32{&d.Input, &d.Output, &d.Cached} {
		if rapid.Bool().Draw(t, "counted") {
			tokens := rapid.Int32Min(0).Draw(t, "tokens")
			*n = &tokens
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "attributes") {
		d.Attributes = append(d.Attributes, chainstore.Attribute{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")})
	}
	return d
}

// TestDetailsComeBack: what is encoded is decoded, and nothing where nothing is known.
func TestDetailsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) chainstore.Detail {
			if rapid.Bool().Draw(t, "none") {
				return chainstore.Detail{}
			}
			return drawDetail(t)
		}), 0, 6).Draw(t, "details")
		b := chainstore.EncodeDetails(want)
		got, err := chainstore.DecodeDetails(b, len(want))
		if err != nil {
			t.Fatal(err)
		}
		none := true
		for i := range want {
			none = none && want[i].Empty()
		}
		if none != (b == nil) || none != (got == nil) || !none && !reflect.DeepEqual(got, want) {
			t.Fatalf("%x is read as\n%+v, want\n%+v", b, got, want)
		}
	})
}

func goldenDetails() []chainstore.Detail {
	input, output, cached := int32(math.MaxInt32), int32(0), int32(300)
	return []chainstore.Detail{
		{}, {},
		{
			Model: "m-1", FinishReason: "stop", Input: &input, Output: &output, Cached: &cached,
			Attributes: []chainstore.Attribute{{Key: "a", Value: ""}, {Key: "b", Value: "é"}},
		},
		{FinishReason: "length"}, {}, {Output: &cached}, {},
	}
}

// TestDetailsGolden: the bytes are part of the storage format and must not change.
func TestDetailsGolden(t *testing.T) {
	const want = "021b" + "3f036d2d310473746f70ffffffff0700ac02" + "0201610001" + "6202c3a9" + "0008" + "02066c656e677468" + "0103" + "08ac02" + "463b5edc"
	if got := hex.EncodeToString(chainstore.EncodeDetails(goldenDetails())); got != want {
		t.Errorf("they are written as %s, must be %s", got, want)
	}
}

// TestDamagedDetails: every byte that is changed, and every one that is missing, is found.
func TestDamagedDetails(t *testing.T) {
	whole := chainstore.EncodeDetails(goldenDetails())
	refused := func(what string, b []byte, messages int) {
		t.Helper()
		if _, err := chainstore.DecodeDetails(b, messages); !errors.Is(err, chainstore.ErrCorrupt) {
			t.Errorf("%s: error is %v, want %v", what, err, chainstore.ErrCorrupt)
		}
	}
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			refused("a bit changed", b, 7)
		}
		if i > 0 {
			refused("cut short", whole[:i], 7)
		}
	}
	refused("a byte more", append(bytes.Clone(whole), 0), 7)
	refused("fewer messages", whole, 5)
	refused("no message", whole, 0)
}

// TestLaterDetails: what a later version adds to a detail is passed over.
func TestLaterDetails(t *testing.T) {
	// Bits 1 and 64, a model, and what bit 64 stands for.
	got, err := chainstore.DecodeDetails(summed(t, "0005"+"41016d"+"beef"), 1)
	if err != nil || !reflect.DeepEqual(got, []chainstore.Detail{{Model: "m"}}) {
		t.Errorf("read as %+v, %v", got, err)
	}
}

// summed is bytes in hex with the checksum behind them that details have.
func summed(tb testing.TB, digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		tb.Fatal(err)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// FuzzDetails: any bytes either are refused as corrupt or are details that are written and read again as themselves.
func FuzzDetails(f *testing.F) {
	whole := chainstore.EncodeDetails(goldenDetails())
	f.Add(whole[:len(whole)-4], 7)
	f.Add([]byte("\x00\x05\x41\x01m\xbe\xef"), 1)
	f.Fuzz(func(t *testing.T, body []byte, messages int) {
		messages = max(0, min(messages, 1000))
		details, err := chainstore.DecodeDetails(summed(t, hex.EncodeToString(body)), messages)
		if err != nil {
			if !errors.Is(err, chainstore.ErrCorrupt) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		once := chainstore.EncodeDetails(details)
		again, err := chainstore.DecodeDetails(once, messages)
		if err != nil || once != nil && !bytes.Equal(chainstore.EncodeDetails(again), once) {
			t.Fatalf("%x is written as %x, which is read as %+v, %v", body, once, again, err)
		}
	})
}
