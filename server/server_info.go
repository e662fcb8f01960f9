package server

import (
	"context"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/compact"
	"github.com/transcriptd/transcriptd/server/internal/loops"
	"github.com/transcriptd/transcriptd/server/internal/search"
	"github.com/transcriptd/transcriptd/server/internal/transport"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// ServerInfo tells what the server is and can do.
func (t *transcripts) ServerInfo(ctx context.Context, _ *transcriptv1.ServerInfoRequest) (*transcriptv1.ServerInfoResponse, error) {
	info := t.store.Info()
	key, err := t.receipts.PublicKey(ctx)
	if err != nil {
		t.log.WarnContext(ctx, "the key that receipts are signed with cannot be had", "cause", err.Error()) // no reason to tell nothing else
	}
	return &transcriptv1.ServerInfoResponse{
		ServerVersion: t.version, StoreId: info.ID.String(), StoreFormat: int32(info.Format), Engine: info.Engine,
		Features: features(), Limits: limits(), ReceiptPublicKey: key,
	}, nil
}

// features are what a request may hold beyond the first contract, in order. Part of the contract: docs/api.md says what each is, and none
// goes.
func features() []string {
	return []string{
		"alias_deletes", "alias_order", "alias_revisions", "archived_nodes", "backup", "collection", "delete_aliases", "delete_namespace", "erase", "get_nodes", "last_messages", "namespaces", "note_costs", "opaque_parts", "presets", "retention", "verify_cursor",
	}
}

// limits are what requests and replies are held to.
func limits() *transcriptv1.ServerLimits {
	return &transcriptv1.ServerLimits{
		RequestBytes: receive.MaxRequest, HeadBytes: transport.MaxHead, CallsPerConnection: transport.MaxStreams,
		ReplyBytes: wire.MaxReply, FrameBytes: receive.MaxRequest,
		NamespaceBytes: wire.MaxNamespace, NodesPerRequest: wire.MaxNodes, MessagesPerRequest: wire.MaxMessages, CallsPerRequest: wire.MaxCalls,
		AliasesPerRequest: wire.MaxAliases, ItemsPerRequest: receive.MaxNested,
		MessagesPerNode: canonical.MaxMessages, PayloadBytes: canonical.MaxPayloadBytes, MessageBytes: canonical.MaxMessageBytes,
		CallsPerMessage: canonical.MaxCalls, OpenCalls: runloop.MaxGroupCalls, OpenCallBytes: runloop.MaxGroupBytes,
		CallIdBytes: canonical.MaxCallIDBytes, NameBytes: canonical.MaxNameBytes,
		OpaqueTypeBytes: canonical.MaxOpaqueTypeBytes, OpaqueBytes: canonical.MaxOpaqueBytes, ExtrasDepth: canonical.MaxJSONDepth,
		NoteBytes: wire.MaxNoteBytes, NotesBytes: wire.MaxDetailBytes, NoteAttributes: wire.MaxAttributes,
		AttributeKeyBytes: wire.MaxAttributeKeyBytes, AttributeValueBytes: wire.MaxAttributeValueBytes,
		SaltBytes: canonical.MaxSaltBytes, MetadataEntries: canonical.MaxMetadataEntries, MetadataKeyBytes: canonical.MaxMetadataKeyBytes,
		MetadataValueBytes: canonical.MaxMetadataValueBytes,
		AliasBytes:         wire.MaxAliasBytes, Labels: wire.MaxLabels, LabelKeyBytes: wire.MaxLabelKeyBytes, LabelValueBytes: wire.MaxLabelValueBytes,
		NodeIds: wire.MaxNodes, LastMessages: chainview.MaxLast, FactKeys: wire.MaxFactKeys, EtagBytes: chainview.MaxEtag,
		PageSize: wire.MaxPage, RunLoops: loops.MaxPage, SearchHits: search.MaxHits, PatternBytes: search.MaxPattern,
		ToolNames: wire.MaxToolNames, SummaryBytes: compact.MaxSummary,
	}
}
