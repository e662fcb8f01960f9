package conformance

import (
	"encoding/json"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badRequest is a case of requests.json: a whole request that is refused.
type badRequest struct {
	Name    string         `json:"name"`
	Method  string         `json:"method"`
	Request map[string]any `json:"request"`
	Fill    []struct {
		Path  []any  `json:"path"`
		Unit  string `json:"unit"`
		Times int    `json:"times"`
	} `json:"fill"`
	Reason string   `json:"reason"`
	Fields []string `json:"fields"`
}

// refusedRequests sends the cases, to the namespace of the kit where they name none, and to a node that is there.
func refusedRequests(p *probe) {
	root := p.node("", p.user())
	for _, c := range p.kit.requests {
		p.refusedCase(c.Name, p.send(&c, root), c.Reason, c.Fields)
	}
	is(p, "children of the node that refused requests name", len(p.children(root)), 0)
	p.gone("refused/x")
}

// send sends a case by its method's name.
func (p *probe) send(c *badRequest, head string) error {
	for _, f := range c.Fill {
		set(c.Request, f.Path, strings.Repeat(f.Unit, f.Times))
	}
	method := transcriptv1.File_transcript_v1_transcript_service_proto.Services().Get(0).Methods().ByName(protoreflect.Name(c.Method))
	if c.Request["namespace"] == nil && method.Input().Fields().ByName("namespace") != nil {
		c.Request["namespace"] = p.namespace
	}
	form, err := json.Marshal(c.Request)
	if err != nil {
		p.failf("the kit's own cases do not encode: %v", err)
	}
	request, reply := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := protojson.Unmarshal([]byte(strings.ReplaceAll(string(form), `"HEAD"`, `"`+head+`"`)), request); err != nil {
		p.failf("\"%s\" is no request of %s: %v", c.Name, c.Method, err)
	}
	return p.unary(method, request, reply)
}

// unary calls a method with any message.
func (p *probe) unary(method protoreflect.MethodDescriptor, request, reply proto.Message) error {
	b, err := (proto.MarshalOptions{Deterministic: true}).Marshal(request)
	if err != nil {
		p.failf("the kit cannot encode its request: %v", err)
	}
	return p.calls.Invoke(p.ctx, "/"+string(method.Parent().FullName())+"/"+string(method.Name()), b, reply, grpc.ForceCodec(rawCodec{}))
}

// set sets a member deep inside a JSON value.
func set(value any, path []any, to string) {
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case float64:
			value = value.([]any)[int(step)]
		}
	}
	value.(map[string]any)[path[len(path)-1].(string)] = to
}
