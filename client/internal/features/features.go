// Package features knows which features of a server (docs/api.md) a request needs.
package features

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// featureOf is the feature that a request needs in which a message, or a field that is set, has this name; "": none.
func featureOf(name protoreflect.FullName) string {
	switch strings.TrimPrefix(string(name), "transcript.v1.") {
	case "DeleteAliasesRequest":
		return "delete_aliases"
	case "BackupRequest", "RestoreRequest":
		return "backup"
	case "CollectGarbageRequest", "DeleteAliasRequest.forget_history", "DeleteAliasesRequest.forget_history":
		return "collection"
	case "EraseRequest", "GetReceiptsRequest":
		return "erase"
	case "DeleteNamespaceRequest":
		return "delete_namespace"
	case "NamespaceSettings.retention":
		return "retention"
	case "PutArchivedNodesRequest":
		return "archived_nodes"
	case "GetNodesRequest":
		return "get_nodes"
	case "ListNamespacesRequest", "SetNamespaceRequest":
		return "namespaces"
	case "AliasUpdate.delete", "AliasMove.delete":
		return "alias_deletes"
	case "ListAliasesRequest.order":
		return "alias_order"
	case "AliasPrecondition.revision":
		return "alias_revisions"
	case "StreamAssembleRequest.last_messages", "StreamAssembleRequest.last_bytes", "StreamAssembleRequest.before":
		return "last_messages"
	case "MessageNote.model", "MessageNote.finish_reason", "MessageNote.input_tokens", "MessageNote.output_tokens", "MessageNote.cached_tokens",
		"MessageNote.attributes":
		return "note_costs"
	case "Part.opaque":
		return "opaque_parts"
	case "Policy.preset":
		return "presets"
	case "VerifyRequest.scope", "VerifyRequest.cursor", "VerifyRequest.max_bytes_per_second":
		return "verify_cursor"
	}
	return ""
}

// Needed are the features that a request needs, sorted.
func Needed(request proto.Message) []string {
	found := map[string]bool{}
	add(request.ProtoReflect(), found)
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// add adds the features that a message needs, and those that it holds; "" among them.
func add(m protoreflect.Message, features map[string]bool) {
	features[featureOf(m.Descriptor().FullName())] = true
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		features[featureOf(field.FullName())] = true
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				add(value.List().Get(i).Message(), features)
			}
		default:
			add(value.Message(), features)
		}
		return true
	})
}
