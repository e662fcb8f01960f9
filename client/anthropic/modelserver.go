package anthropic

import (
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
)

// serverCall is the type of a server tool's call.
const serverCall = "server_tool_use"

// serverAnswer is the type of the results of a server tool; "" of one that needs a beta header, or that is unknown.
func serverAnswer(tool string) string {
	switch tool {
	case "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution":
		return tool + "_tool_result"
	case "tool_search_tool_regex", "tool_search_tool_bm25":
		return "tool_search_tool_result"
	}
	return ""
}

// serverBlock tells of a server tool's call its id, which it takes, and the type of its result; of such a result the id of
// the call that it answers. id is "" where the API does not take the block, or has the id already.
func (m *model) serverBlock(v *providerjson.Value, kind string) (id, answer string) {
	switch kind {
	case serverCall:
		id, answer = serverID(v, "id"), serverAnswer(memberText(v, "name"))
		input := v.Member("input")
		if answer == "" || input == nil || input.Kind != providerjson.Object || !hasOnly(v, "id", "name", "input") || !m.ids.Take(id) {
			return "", ""
		}
		return id, answer
	case "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
		"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result":
		if v.Member("content") != nil && hasOnly(v, "tool_use_id", "content") {
			return serverID(v, "tool_use_id"), ""
		}
	}
	return "", ""
}

// serverID is the id of a server tool's call, or "" where the member has another form.
func serverID(v *providerjson.Value, member string) string {
	id := memberText(v, member)
	if own, ok := strings.CutPrefix(id, "srvtoolu_"); !ok || own == "" || strings.Contains(own, "-") {
		return ""
	}
	return id
}

// memberText is the text of a member that is a string, or "".
func memberText(v *providerjson.Value, member string) string {
	if found := v.Member(member); found != nil {
		return found.Text
	}
	return ""
}

// hasOnly tells whether a block has no members but these, those of every block, and who called.
func hasOnly(v *providerjson.Value, names ...string) bool {
	names = append(names, "type", "cache_control", "caller")
	return !slices.ContainsFunc(v.Members, func(m providerjson.Member) bool { return !slices.Contains(names, m.Name) })
}

// paired leaves out the calls of server tools without a result in the same message, and the results without a call
// before them.
func (m *model) paired(items []item) []item {
	open := map[string]int{} // by id: where the call stands
	keep := make([]bool, len(items))
	for i, it := range items {
		keep[i] = it.server == ""
		switch {
		case it.server == "":
		case it.kind == serverCall:
			open[it.server] = i
		default:
			if call, ok := open[it.server]; ok && items[call].answer == it.kind {
				keep[call], keep[i] = true, true
				delete(open, it.server)
			}
		}
	}
	var out []item
	for i, it := range items {
		if keep[i] {
			out = append(out, it)
		} else {
			m.change(it.path, LeftOut, "a server tool's call and result come in pairs")
		}
	}
	return out
}
