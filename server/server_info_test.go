package server

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func infoOf(t *testing.T) (*transcriptv1.ServerInfoResponse, *memstore.Store) {
	t.Helper()
	store := memstore.New(memstore.Options{})
	rpcs := &transcripts{store: store, version: "v1.2.3"}
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

// limitRows are what the table of limits in docs/api.md says, with the limits in it, by their names in ServerLimits, spelled as there.
var limitRows = []string{
	"| request | {request_bytes} |",
	"| reply of Assemble | {reply_bytes}; StreamAssemble has no limit, its frames {frame_bytes} |",
	"| the end of a view | {last_messages} messages and",
	"| GetNodes | {node_ids} ids, each once; a reply of {reply_bytes}:",
	"| reply of GetNode | {frame_bytes};",
	"| message, encoded | {message_bytes} |",
	"| messages of a node | 1 to {messages_per_node}, or none where there is metadata; together {payload_bytes} encoded |",
	"{note_bytes} a message, {notes_bytes} a node, encoded; {note_attributes} attributes, keys 1 to {attribute_key_bytes}, values {attribute_value_bytes} |",
	"| tool calls | {calls_per_message} a message; {open_calls} in the open group, with {open_call_bytes} of ids and names |",
	"| call ids, names of tools and speakers | {call_id_bytes} |",
	"| call ids, names of tools and speakers | {name_bytes} |",
	"| opaque part | type 1 to {opaque_type_bytes}, data {opaque_bytes} |",
	"| PutNodes | {nodes_per_request} nodes |",
	"| a request in all | {messages_per_request} messages; {calls_per_request} tool calls and results; {aliases_per_request} aliases; {items_per_request} messages, parts,",
	"| alias | 1 to {alias_bytes} |",
	"| labels of an alias | {labels}; keys 1 to {label_key_bytes}, values {label_value_bytes} |",
	"| metadata in a view, `node_facts` | {fact_keys} keys;",
	"| metadata of a node | {metadata_entries} entries; keys 1 to {metadata_key_bytes}, values {metadata_value_bytes};",
	"| salt | 0, or 16 to {salt_bytes} |",
	"| extras | a JSON object nested at most {extras_depth} deep |",
	"| page | 100 entries if not asked, at most {page_size}; of ListRunLoops 20 and {run_loops}, of Search 20 and {search_hits};",
	"| summary of a compaction | {summary_bytes};",
	"| pattern of Search | {pattern_bytes} |",
	"| `tool_names` of Search and ReplayTools | {tool_names}, of",
	"| `if_none_match` | {etag_bytes} |",
	"| head of a call: metadata, as HTTP/2 counts it | {head_bytes} |",
	"| calls of a connection under way at once | {calls_per_connection};",
	"**Namespaces** are 1 to {namespace_bytes} of",
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
