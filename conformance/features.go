package conformance

import (
	"slices"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// needs are the features of docs/api.md without which a server cannot be held to checks whose ids begin so.
var needs = []struct{ id, feature string }{
	{"alias/rename", "alias_deletes"}, {"delete-alias/in-a-put", "alias_deletes"}, {"list-aliases/folder", "alias_order"},
	{"list-aliases/prefix", "alias_order"}, {"revision/", "alias_revisions"}, {"get-nodes/", "get_nodes"}, {"put-archived-nodes/", "archived_nodes"}, {"end-of-view/", "last_messages"},
	{"list-namespaces/", "namespaces"}, {"set-namespace/", "namespaces"},
	{"identity/notes", "note_costs"}, {"limits/notes", "note_costs"}, {"views/opaque", "opaque_parts"}, {"limits/opaque", "opaque_parts"},
	{"views/", "presets"}, {"verify/goes-on", "verify_cursor"}, {"backup/", "backup"}, {"restore/", "backup"}, {"put-archived-nodes/erased", "erase"}, {"collect-garbage/", "collection"}, {"erase/", "erase"}, {"get-receipts/", "erase"},
	{"set-namespace/retention", "retention"}, {"set-namespace/hold", "retention"}, {"set-namespace/hold", "delete_namespace"}, {"set-namespace/hold", "collection"},
	{"delete-namespace/", "delete_namespace"},
	{"delete-alias/forgets", "collection"}, {"delete-aliases/forgets", "collection"},
}

// able ends a check of what the server says that it cannot do.
func (p *probe) able(id string) {
	if p.kit.info == nil {
		return // it does not say
	}
	for _, n := range needs {
		if strings.HasPrefix(id, n.id) && !slices.Contains(p.kit.info.GetFeatures(), n.feature) {
			p.skipf("ServerInfo does not list the feature %s", n.feature)
		}
	}
}

// limitIs ends a check where the server's limit is another than the one of docs/api.md, whose edge the check is about. A limit may be larger;
// server-info/limits holds that it is not smaller.
func (p *probe) limitIs(name string, of func(*transcriptv1.ServerLimits) int32, want int32) {
	if got := of(p.kit.info.GetLimits()); got > want {
		p.skipf("the server's limit %s is larger: %d, not %d", name, got, want)
	}
}
