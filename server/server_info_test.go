package server

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/erasure"
)

func infoOf(t *testing.T) (*transcriptv1.ServerInfoResponse, *memstore.Store) {
	t.Helper()
	store := memstore.New(memstore.Options{})
	rpcs := &transcripts{store: store, version: "v1.2.3", receipts: erasure.NewReceipts(store, time.Now)}
	info, err := rpcs.ServerInfo(t.Context(), &transcriptv1.ServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return info, store
}

func TestServerInfo(t *testing.T) {
	info, store := infoOf(t)
	id := store.Info().ID.String()
	if info.ServerVersion != "v1.2.3" || info.Engine != "memory" || info.StoreFormat != 1 || info.StoreId != id || len(id) != 32 {
		t.Errorf("got %v, of store %s", info, id)
	}
	if !slices.IsSorted(info.Features) || len(slices.Compact(slices.Clone(info.Features))) != len(info.Features) {
		t.Errorf("the features are %q", info.Features)
	}
}

// docOf is docs/api.md.
func docOf(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every feature has a row in docs/api.md, and the other way round.
func TestFeaturesAreDocumented(t *testing.T) {
	_, table, _ := strings.Cut(docOf(t), "| feature | what it is |")
	table, _, _ = strings.Cut(table, "\n\n")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(table, -1) {
		told = append(told, row[1])
	}
	if info, _ := infoOf(t); !slices.Equal(told, info.Features) {
		t.Errorf("docs/api.md tells %q, the server %q", told, info.Features)
	}
}

// limitRows are what the tables of limits in docs/api.md say, with the limits in them, by their names in ServerLimits, spelled as there.
var limitRows = []string{
	"| request | {request_bytes} |",
	"| request headers, as HTTP/2 counts them | {head_bytes} |",
	"| calls of one connection in progress | {calls_per_connection}.",
	"| PutNodes, PutArchivedNodes | {nodes_per_request} nodes |",
	"| all nodes of a call | {messages_per_request} messages; {calls_per_request} tool calls and results; {aliases_per_request} aliases |",
	"| protobuf messages, parts and strings of repeated fields | {items_per_request} in all |",
	"| GetNodes | {node_ids} ids, each once |",
	"| `if_none_match` | {etag_bytes} |",
	"| `last_messages`, `last_bytes` | {last_messages} messages;",
	"| `node_facts` | {fact_keys} keys |",
	"| summary of Compact | {summary_bytes} |",
	"| pattern of Search | {pattern_bytes} |",
	"| `tool_names` of Search and ReplayTools | {tool_names}, of",
	"| messages | 1 to {messages_per_node}, or none if there is metadata; together {payload_bytes} encoded |",
	"| message | {message_bytes} encoded |",
	"| tool calls | {calls_per_message} a message; {open_calls} in the open group, with {open_call_bytes} of ids and names |",
	"| ids of calls, names of tools and speakers | {call_id_bytes} |",
	"| ids of calls, names of tools and speakers | {name_bytes} |",
	"| opaque part | type 1 to {opaque_type_bytes}, data {opaque_bytes} |",
	"| `extras` | a JSON object, nested at most {extras_depth} deep |",
	"{note_bytes} a message and {notes_bytes} a node, encoded; {note_attributes} attributes, keys 1 to {attribute_key_bytes}, values {attribute_value_bytes} |",
	"| metadata | {metadata_entries} entries; keys 1 to {metadata_key_bytes}, values {metadata_value_bytes}.",
	"| salt | 0, or 16 to {salt_bytes} |",
	"| name | 1 to {alias_bytes} |",
	"| labels | {labels}; keys 1 to {label_key_bytes}, values {label_value_bytes} |",
	"| Assemble, GetNodes | {reply_bytes}.",
	"| StreamAssemble | none; a frame {frame_bytes} |",
	"| a page | 100 entries by default, at most {page_size}; of ListRunLoops and Search 20 by default, at most {run_loops}.",
	"| a page | 100 entries by default, at most {page_size}; of ListRunLoops and Search 20 by default, at most {search_hits}.",
	"A **namespace** is 1 to {namespace_bytes} characters",
}

// What ServerInfo tells of limits is what docs/api.md says, every one of it.
func TestLimitsAreDocumented(t *testing.T) {
	info, _ := infoOf(t)
	m := info.Limits.ProtoReflect()
	docs, told := docOf(t), map[string]bool{}
	for _, row := range limitRows {
		text := regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(row, func(name string) string {
			name = strings.Trim(name, "{}")
			told[name] = true
			return spelled(name, m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name))).Int())
		})
		if !strings.Contains(docs, text) {
			t.Errorf("docs/api.md does not say %q", text)
		}
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); !told[name] {
			t.Errorf("no row tells %s", name)
		} else if m.Get(fields.Get(i)).Int() <= 0 {
			t.Errorf("%s is not set", name)
		}
	}
}

// spelled is a limit as docs/api.md spells it.
func spelled(name string, n int64) string {
	bytes := strings.HasSuffix(name, "_bytes") && name != "namespace_bytes"
	switch {
	case bytes && n >= 4<<20-128<<10 && n < 4<<20:
		return fmt.Sprintf("4 MiB − %d KiB", (4<<20-n)>>10)
	case bytes && n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case bytes && n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	case bytes:
		return fmt.Sprintf("%d bytes", n)
	case n >= 1000:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	default:
		return fmt.Sprint(n)
	}
}
