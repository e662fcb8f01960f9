// Command openapi is a plugin of protoc that describes the service over HTTP in OpenAPI 3.1: as protoc-gen-connect-openapi does, but for
// streams, which it describes as Connect has them, and which are asked for and given as JSON too. Its parameter is the path of a document to
// begin with.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sudorandom/protoc-gen-connect-openapi/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var req pluginpb.CodeGeneratorRequest
	if err := proto.Unmarshal(b, &req); err != nil {
		return err
	}
	document, err := describe(&req)
	if err != nil {
		return err
	}
	b, err = proto.Marshal(&pluginpb.CodeGeneratorResponse{
		SupportedFeatures: proto.Uint64(uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)),
		File:              []*pluginpb.CodeGeneratorResponse_File{{Name: proto.String("openapi.json"), Content: proto.String(document)}},
	})
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

func describe(req *pluginpb.CodeGeneratorRequest) (string, error) {
	base, err := os.ReadFile(req.GetParameter())
	if err != nil {
		return "", err
	}
	files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: req.GetProtoFile()})
	if err != nil {
		return "", err
	}
	text, err := converter.GenerateSingle(converter.WithFiles(files), converter.WithFormat("json"), converter.WithBaseOpenAPI(base),
		converter.WithStreaming(true), converter.WithContentTypes("json", "proto"))
	if err != nil {
		return "", err
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return "", err
	}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		if err := mend(item); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	if tags, ok := document["tags"].([]any); ok { // the converter has them in an order that changes
		slices.SortFunc(tags, func(a, b any) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	}
	text, err = json.MarshalIndent(document, "", " ")
	return string(text) + "\n", err
}

// nameOf is the name of a tag.
func nameOf(tag any) string {
	named, _ := tag.(map[string]any)
	name, _ := named["name"].(string)
	return name
}

// mend says of a call how it is asked for and answered: of a stream, as lines of JSON and events too. No header of Connect is needed.
func mend(item any) error {
	post := at(item, "post")
	asked, answered := at(post, "requestBody", "content"), at(post, "responses", "200", "content")
	failed := at(post, "responses", "default", "content")
	if asked == nil || answered == nil || failed == nil {
		return fmt.Errorf("it is not a call")
	}
	if parameters, ok := post["parameters"].([]any); ok {
		for _, p := range parameters {
			if p, ok := p.(map[string]any); ok && p["name"] == "Connect-Protocol-Version" {
				p["required"] = false
			}
		}
	}
	stream := answered["application/connect+json"]
	for _, content := range []map[string]any{asked, answered, failed} {
		for form := range content {
			switch form {
			case "application/json", "application/proto", "application/connect+json", "application/connect+proto":
			default:
				delete(content, form)
			}
		}
	}
	failure := failed["application/json"]
	if stream != nil {
		asked["application/json"] = asked["application/connect+json"]
		answered["application/x-ndjson"], answered["text/event-stream"] = stream, stream
		failure = failed["application/connect+json"]
	}
	for form := range failed {
		delete(failed, form)
	}
	failed["application/json"] = failure
	if stream != nil {
		failed["application/x-ndjson"], failed["text/event-stream"] = failure, failure
	}
	return nil
}

// at is the object at a place within another; nil where there is none.
func at(in any, path ...string) map[string]any {
	for _, name := range path {
		m, ok := in.(map[string]any)
		if !ok {
			return nil
		}
		in = m[name]
	}
	m, _ := in.(map[string]any)
	return m
}
