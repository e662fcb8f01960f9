package mcpserver

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	scheme    = "transcript://"
	plainText = "text/plain"
	// resourceChars is what a resource takes in a list besides its names.
	resourceChars = 120
)

// addResources offers each conversation as a resource, too. The SDK lists what was registered; conversations come and go, so a list of
// them asks transcriptd.
func (s *Server) addResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "conversation", Title: "A conversation", MIMEType: plainText, URITemplate: s.base() + "{+name}",
		Description: "The last messages of a conversation, as read_conversation shows them.",
	}, s.readResource)
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if params, ok := req.GetParams().(*mcp.ListResourcesParams); ok && method == "resources/list" {
				cursor := ""
				if params != nil {
					cursor = params.Cursor
				}
				return s.listResources(ctx, cursor)
			}
			return next(ctx, method, req)
		}
	})
}

func (s *Server) base() string { return scheme + s.cfg.Namespace + "/" }

// uri is the address of a conversation. Programs shorten "a/../b", so a name with such a part is written as one part.
func (s *Server) uri(name string) string {
	parts := strings.Split(name, "/")
	if slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return s.base() + url.PathEscape(name)
	}
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return s.base() + strings.Join(parts, "/")
}

// only is the name of the one conversation of a server of one chain.
func (s *Server) only() string {
	if chain := s.cfg.Binding.Chain; chain.GetAlias() != "" {
		return chain.GetAlias()
	}
	return "node:" + s.cfg.Binding.Chain.GetNodeId()
}

func (s *Server) resource(name string) *mcp.Resource {
	return &mcp.Resource{Name: name, MIMEType: plainText, URI: s.uri(name)}
}

// listResources is a page of conversations. A name that holds a secret is left out: it could not be read by what would be shown of it.
func (s *Server) listResources(ctx context.Context, cursor string) (*mcp.ListResourcesResult, error) {
	result := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, Cacheable: mcp.Cacheable{CacheScope: "private"}}
	if s.cfg.Binding.bound() {
		if cursor != "" {
			return nil, s.wireError(errCursor())
		}
		result.Resources = append(result.Resources, s.resource(s.only()))
		return result, nil
	}
	reply, _, err := fitted(listPage, func(size int) (*transcriptv1.ListAliasesResponse, error) {
		return s.aliases(ctx, s.cfg.Binding.Prefix, cursor, size)
	}, func(r *transcriptv1.ListAliasesResponse) []string {
		lines := make([]string, len(r.GetAliases()))
		for i, alias := range r.GetAliases() {
			lines[i] = alias.GetName() + s.uri(alias.GetName()) + strings.Repeat(" ", resourceChars)
		}
		return lines
	}, MaxReplyChars-headRoom-maxCursor/4)
	if err != nil {
		return nil, s.wireError(err)
	}
	for _, alias := range reply.GetAliases() {
		if name := alias.GetName(); s.clean(name) == name {
			result.Resources = append(result.Resources, s.resource(name))
		}
	}
	result.NextCursor = reply.GetNextPageToken()
	return result, nil
}

func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	escaped, here := strings.CutPrefix(req.Params.URI, s.base())
	name, err := url.PathUnescape(escaped)
	if !here || err != nil || name == "" || s.cfg.Binding.bound() && name != s.only() {
		return nil, mcp.ResourceNotFoundError(clip(req.Params.URI, headRoom))
	}
	a := &arguments{Conversation: name}
	if s.cfg.Binding.bound() {
		a.Conversation = ""
	}
	text, err := s.read(ctx, a)
	if err != nil {
		return nil, s.wireError(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: plainText, Text: strings.ToValidUTF8(text, "\uFFFD")}}}, nil
}

// maxCompletions is what the protocol allows.
const maxCompletions = 100

// complete gives names of conversations that begin with what is typed for the template.
func (s *Server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	result := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	ref, typed := req.Params.Ref, req.Params.Argument.Value
	if ref == nil || ref.Type != "ref/resource" || ref.URI != s.base()+"{+name}" || req.Params.Argument.Name != "name" || s.cfg.Binding.bound() {
		return result, nil
	}
	prefix := typed
	switch own := s.cfg.Binding.Prefix; {
	case strings.HasPrefix(own, typed):
		prefix = own
	case !strings.HasPrefix(typed, own):
		return result, nil
	}
	asked, cancel := s.call(ctx)
	defer cancel()
	reply, err := s.cfg.Client.ListAliases(asked, &transcriptv1.ListAliasesRequest{
		Namespace: s.cfg.Namespace, Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: prefix}, PageSize: maxCompletions,
	})
	if err != nil {
		return nil, s.wireError(err)
	}
	done := &result.Completion
	done.HasMore = reply.GetNextPageToken() != ""
	room := MaxReplyChars - headRoom
	for _, alias := range reply.GetAliases() {
		name := alias.GetName()
		if room -= chars(name) + len(`"",`); room < 0 {
			done.HasMore = true
			break
		}
		if s.clean(name) == name {
			done.Values = append(done.Values, name)
		}
	}
	return result, nil
}

// wireError is an error of what is no tool: it has a code, and the same words.
func (s *Server) wireError(err error) error {
	var own *refusal
	var remote *client.Error
	code := int64(jsonrpc.CodeInternalError)
	if errors.As(err, &own) || errors.As(client.Typed(err), &remote) && (remote.Code == codes.InvalidArgument || remote.Code == codes.NotFound) {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: s.told(err)}
}
