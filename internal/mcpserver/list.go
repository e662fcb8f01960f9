package mcpserver

import (
	"context"
	"fmt"
	"sort"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	listPage = 100
	// headRoom is kept free in a reply for its first and its last line.
	headRoom = 1000
	// labelChars is how much of an alias's labels a list shows.
	labelChars = 200
)

func (s *caller) listTool() *tool {
	return &tool{
		name: "list_conversations", title: "List conversations",
		says: "Lists conversations, last moved first where the prefix is empty or ends with a slash, else by name: a line each with its name, when it last moved, and its labels.",
		params: []param{
			{name: "prefix", kind: "string", says: "Only conversations whose names begin with this, such as chat/."},
			cursorParam(),
		},
		run: s.list,
	}
}

func (s *caller) list(ctx context.Context, a *arguments) (string, error) {
	prefix, err := s.cfg.Binding.narrowed(a.Prefix)
	if err != nil {
		return "", err
	}
	reply, lines, err := fitted(listPage, func(size int) (*transcriptv1.ListAliasesResponse, error) {
		return s.aliases(ctx, prefix, a.Cursor, size)
	}, func(r *transcriptv1.ListAliasesResponse) []string {
		lines := make([]string, len(r.GetAliases()))
		for i, alias := range r.GetAliases() {
			lines[i] = s.listed(alias)
		}
		return lines
	}, MaxReplyChars-headRoom-maxCursor/4)
	if err != nil {
		return "", err
	}
	if token := reply.GetNextPageToken(); token != "" {
		lines = append(lines, next("list_conversations", token, "for more"))
	} else if len(lines) == 0 {
		lines = append(lines, "no conversations: is it another namespace or prefix? Ask the user")
	}
	return strings.Join(lines, "\n"), nil
}

// aliases asks for a page of names. Only names that begin with the prefix are given back, whatever the cursor says.
func (s *caller) aliases(ctx context.Context, prefix, cursor string, size int) (*transcriptv1.ListAliasesResponse, error) {
	req := &transcriptv1.ListAliasesRequest{Namespace: s.cfg.Namespace, PageToken: cursor, PageSize: int32(min(size, listPage))} // at most listPage
	folder, slash := strings.CutSuffix(prefix, "/")
	if prefix == "" || slash && folder != "" && !strings.HasSuffix(folder, "/") && strings.Count(folder, "/") < 7 {
		req.Scope = &transcriptv1.ListAliasesRequest_Folder{Folder: folder}
	} else {
		req.Scope = &transcriptv1.ListAliasesRequest_Prefix{Prefix: prefix}
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	reply, err := s.cfg.Client.ListAliases(ctx, req)
	if err != nil {
		return nil, err
	}
	kept := reply.Aliases[:0]
	for _, alias := range reply.Aliases {
		if strings.HasPrefix(alias.GetName(), s.cfg.Binding.Prefix) {
			kept = append(kept, alias)
		}
	}
	reply.Aliases = kept
	return reply, nil
}

func (s *caller) listed(alias *transcriptv1.AliasInfo) string {
	line := fmt.Sprintf("%s  moved %s", oneLine(s.clean(alias.GetName())), clock(alias.GetMovedAt()))
	keys := make([]string, 0, len(alias.GetLabels()))
	for key := range alias.GetLabels() {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var labels []string
	for _, key := range keys {
		value := alias.GetLabels()[key]
		if !s.cfg.Plain {
			value = s.hide.Value(key, value)
		}
		labels = append(labels, s.clean(key)+"="+value)
	}
	if len(labels) > 0 {
		line += "  " + inline(strings.Join(labels, " "), labelChars)
	}
	return line
}
