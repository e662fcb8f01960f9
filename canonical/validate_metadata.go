package canonical

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func judgeMetadata(entries []*transcriptv1.MetadataEntry) *FieldError {
	if len(entries) > MaxMetadataEntries {
		return overLimit("metadata", fmt.Sprintf("must have at most %d entries", MaxMetadataEntries))
	}
	for i, e := range entries {
		err := judgeEntry(e)
		if err == nil && slices.ContainsFunc(entries[:i], func(o *transcriptv1.MetadataEntry) bool { return o.Key == e.Key }) {
			err = invalid("key", "must not stand twice")
		}
		if err != nil {
			return err.Under(fmt.Sprintf("metadata[%d]", i))
		}
	}
	return nil
}

func judgeEntry(e *transcriptv1.MetadataEntry) *FieldError {
	if e == nil {
		return invalid("", "must not be null")
	}
	if e.Key == "" {
		return first(judgeKnown(e), func() *FieldError { return invalid("key", "must not be empty") })
	}
	return first(
		judgeKnown(e),
		func() *FieldError { return judgeShort("key", &e.Key, MaxMetadataKeyBytes) },
		func() *FieldError { return judgeShort("value", &e.Value, MaxMetadataValueBytes) },
	)
}

func judgeSalt(salt []byte) *FieldError {
	if n := len(salt); n != 0 && (n < MinSaltBytes || n > MaxSaltBytes) {
		return invalid("salt", fmt.Sprintf("must be empty or %d to %d bytes", MinSaltBytes, MaxSaltBytes))
	}
	return nil
}

// ParseSpawnedFrom judges and reads the link that a client gives; nil gives nil. The error is a *FieldError whose path
// begins with spawned_from.
func ParseSpawnedFrom(ref *transcriptv1.SpawnedFromRef) (*SpawnedFrom, error) {
	if ref == nil {
		return nil, nil
	}
	from := &SpawnedFrom{CallID: optional(ref.ToolCallId)}
	err := first(
		judgeKnown(ref),
		func() *FieldError { return parseID("node_id", ref.NodeId, &from.Node) },
		func() *FieldError { return judgeShort("tool_call_id", ref.ToolCallId, MaxCallIDBytes) },
	)
	if err != nil {
		return nil, err.Under("spawned_from")
	}
	return from, nil
}

// parseID reads 64 lower-case hex digits into id.
func parseID(field, digits string, id *[32]byte) *FieldError {
	const rule = "must be 64 lower-case hex digits"
	if len(digits) != hex.EncodedLen(len(id)) {
		return invalid(field, rule)
	}
	for _, c := range []byte(digits) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return invalid(field, rule)
		}
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return invalid(field, rule)
	}
	return nil
}

// reservedKeys begin the keys of metadata that the service gives a meaning, now or later.
var reservedKeys = []string{"run/", VariableKey, VariableInfoKey, "spawn/", "transcriptd/"}

// judgeReserved refuses reserved keys that have no meaning.
func judgeReserved(entries []*transcriptv1.MetadataEntry) *FieldError {
	for i, e := range entries {
		_, _, variable := variableOf(e.Key)
		reserved := slices.ContainsFunc(reservedKeys, func(prefix string) bool { return strings.HasPrefix(e.Key, prefix) })
		if reserved && !variable && e.Key != OutcomeKey && e.Key != InheritsKey {
			rule := "must not begin with " + strings.Join(reservedKeys, ", ") + ", unless it is run/end, var/NAME, varinfo/NAME or spawn/inherits"
			return invalid("key", rule).Under(fmt.Sprintf("metadata[%d]", i))
		}
	}
	return nil
}

// OutcomeKey is the key of the metadata that tells how a run ended; its value is one of outcomes.
const OutcomeKey = "run/end"

var outcomes = map[string]runloop.Outcome{
	"replied": runloop.Replied, "stopped": runloop.Stopped, "failed": runloop.Failed, "cancelled": runloop.Cancelled,
}

// Outcome is the outcome that metadata tells; NoOutcome for none, and for another value, which nodes have that were put before
// there were outcomes.
func Outcome(metadata []*transcriptv1.MetadataEntry) runloop.Outcome {
	return wordOf(metadata, OutcomeKey, outcomes)
}

// judgeOutcome refuses an outcome that is none.
func judgeOutcome(entries []*transcriptv1.MetadataEntry) *FieldError {
	return judgeWord(entries, OutcomeKey, outcomes, "must be replied, stopped, failed or cancelled")
}

// InheritsKey is the key of the metadata, on a spawned chain's first node, by which its spawner says what it inherits; its value is one of
// inheritances.
const InheritsKey = "spawn/inherits"

var inheritances = map[string]transcriptv1.Inheritance{
	"none": transcriptv1.Inheritance_INHERITANCE_NONE, "arguments": transcriptv1.Inheritance_INHERITANCE_ARGUMENTS,
	"prefix": transcriptv1.Inheritance_INHERITANCE_PREFIX,
}

// Inherits is what metadata says of what a spawned chain inherits; unspecified where it says nothing, or another value, which nodes have
// that were put before it was said so.
func Inherits(metadata []*transcriptv1.MetadataEntry) transcriptv1.Inheritance {
	return wordOf(metadata, InheritsKey, inheritances)
}

// judgeInherits refuses an inheritance that is none of those.
func judgeInherits(entries []*transcriptv1.MetadataEntry) *FieldError {
	return judgeWord(entries, InheritsKey, inheritances, "must be none, arguments or prefix")
}

// wordOf is what the word that a metadata key has stands for; zero without one, and for a word that stands for nothing.
func wordOf[V any](metadata []*transcriptv1.MetadataEntry, key string, words map[string]V) (v V) {
	for _, e := range metadata {
		if e.Key == key {
			return words[e.Value]
		}
	}
	return v
}

// judgeWord refuses a word of a metadata key that stands for nothing.
func judgeWord[V any](entries []*transcriptv1.MetadataEntry, key string, words map[string]V, rule string) *FieldError {
	for i, e := range entries {
		if _, known := words[e.Value]; e.Key == key && !known {
			return invalid("value", "of "+key+" "+rule).Under(fmt.Sprintf("metadata[%d]", i))
		}
	}
	return nil
}
