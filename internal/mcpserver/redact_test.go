package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestRedactionEverywhere: a secret in each field that can be stored is in no tool, resource, completion, error or line of the log.
func TestRedactionEverywhere(t *testing.T) {
	b := newBench(t)
	const password = "hunter2hunter2"
	name := "chat/" + secret
	part := func(p *transcriptv1.Part) *transcriptv1.Message {
		return &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{p}}
	}
	user, call := client.User("needle "+secret), client.Call("id "+secret, "tool "+secret, `{"password":"`+password+`"}`)
	spoken := "ann " + secret
	user.Name = &spoken
	b.put(name, client.System("needle password: "+password), user,
		part(&transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "needle " + secret, Signature: secret}}}),
		part(&transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: `{"needle":1,"api_key":"` + password + `"}`}}),
		part(&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "x/" + secret, Source: &transcriptv1.Media_Uri{Uri: "https://u:" + password + "@h.example/?token=" + secret}}}}),
		part(&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{Source: &transcriptv1.Media_Inline{Inline: []byte(secret)}}}}),
		part(&transcriptv1.Part{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "x", Data: []byte(secret)}}}),
		client.Assistant("needle", call), client.Result(call, "needle\nDB_PASSWORD="+password+"\n"+secret), client.User("open "+secret), client.Assistant("", call))
	got, err := b.client.PutNode(t.Context(), &transcriptv1.PutNodeRequest{
		Parent: byAlias(name), Metadata: []*transcriptv1.MetadataEntry{{Key: "note", Value: secret}, {Key: "var/password", Value: password}, {Key: "var/x", Value: secret}},
		Aliases: []*transcriptv1.AliasUpdate{{Name: name, Labels: &transcriptv1.Labels{Entries: map[string]string{"password": password, "x": secret, "key " + secret: "v"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, binding := range []Binding{{}, {Prefix: "chat/"}, {Chain: byAlias(name)}, {Chain: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: got.GetNodeId()}}}} {
		s := b.serve(Config{Binding: binding, Write: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
		shown := map[string]string{}
		bound := binding.Chain != nil
		of := func(args map[string]any) map[string]any {
			if !bound {
				args["conversation"] = name
			}
			return args
		}
		for tool, args := range everyCall("", "id "+secret) {
			shown[tool], _ = s.call(tool, of(args))
		}
		for i, args := range []map[string]any{
			{"query": "needle"}, {"query": "hunter", "regexp": true}, {"query": "sk-proj.*", "regexp": true}, {"query": secret}, {"query": secret, "cursor": secret}, {"query": "(" + secret, "regexp": true},
			{"query": "needle", "tool": "tool " + secret}, {"query": "needle", "since": secret}, {"query": "needle", "role": secret},
		} {
			text, _ := s.call("search_history", args)
			if args["query"] != "hunter" && strings.Contains(text, "nothing found") {
				continue
			}
			shown[fmt.Sprint("search ", i)] = text
		}
		for i := range 11 {
			place := fmt.Sprintf("%s.%d", b.heads[name][:12], i)
			shown["message "+place] = s.must("read_conversation", of(map[string]any{"message": place}))
			shown["place "+place], _ = s.call("recall_tool_call", of(map[string]any{"place": place}))
		}
		if !bound {
			shown["list"] = s.must("list_conversations", nil)
		}
		shown["error"], _ = s.call("read_conversation", map[string]any{"conversation": secret + "?"})
		resources, err := s.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(resources); !bound && err == nil { // a server of one chain was started with its name
			shown["resources"] = string(b)
		}
		completed, err := s.Complete(t.Context(), &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "transcript://default/{+name}"}, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "chat/"},
		})
		if err != nil {
			t.Fatal(err)
		}
		shown["completion"] = strings.Join(completed.Completion.Values, " ")
		if text, err := s.resource("transcript://default/" + name); err == nil {
			shown["resource"] = text
		} else if !bound {
			t.Error(err)
		}
		for what, text := range shown {
			if strings.Contains(text, secret) || strings.Contains(text, password) {
				t.Errorf("%+v, %s shows a secret: %.2000s", binding.Prefix, what, text)
			}
		}
	}
	if log.Len() == 0 || strings.Contains(log.String(), "sk-proj") || strings.Contains(log.String(), password) || strings.Contains(log.String(), "needle") {
		t.Errorf("the log: %.2000s", log.String())
	}
}
