package client

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// featureOf is the feature of a server (docs/api.md) that a request needs in which a message, or a field that is set, has this name; "": none.
func featureOf(name protoreflect.FullName) string {
	switch strings.TrimPrefix(string(name), "transcript.v1.") {
	case "DeleteAliasesRequest":
		return "delete_aliases"
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

// needed adds the features that a message needs, and those that it holds.
func needed(m protoreflect.Message, features map[string]bool) {
	features[featureOf(m.Descriptor().FullName())] = true
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		features[featureOf(field.FullName())] = true
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				needed(value.List().Get(i).Message(), features)
			}
		default:
			needed(value.Message(), features)
		}
		return true
	})
	delete(features, "")
}

// explained is the error of a call, and ErrUnsupported where it is that of a server that lacks a feature which the request needs.
func (c *Client) explained(ctx context.Context, err error, req any) error {
	var refused *Error
	message, ok := req.(proto.Message)
	if !ok || !errors.As(err, &refused) || refused.Code != codes.Unimplemented && refused.Reason != ErrMalformedRequest {
		return err
	}
	features := map[string]bool{}
	if needed(message.ProtoReflect(), features); len(features) == 0 {
		return err
	}
	info, infoErr := c.ServerInfo(ctx)
	if infoErr != nil {
		return err
	}
	var missing []string
	for feature := range features {
		if !slices.Contains(info.Features, feature) {
			missing = append(missing, feature)
		}
	}
	if len(missing) == 0 {
		return err
	}
	slices.Sort(missing)
	unsupported := &Error{
		Code: codes.Unimplemented, Reason: ErrUnsupported, Message: ErrUnsupported.own().text + ": " + strings.Join(missing, ", "),
		RequestID: refused.RequestID, Retried: refused.Retried,
	}
	return unsupported
}
