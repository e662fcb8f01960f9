package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	grpcmetadata "google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/overhttp"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// comesTo is what a call comes to: its replies, or its error, without what differs from call to call.
func comesTo(t *testing.T, conn grpc.ClientConnInterface, d protoreflect.MethodDescriptor, path string, req proto.Message) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(grpcmetadata.AppendToOutgoingContext(t.Context(), "authorization", "ours"), 20*time.Second)
	defer cancel()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Output().FullName())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(req), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for {
		reply := kind.New().Interface()
		if err := stream.RecvMsg(reply); errors.Is(err, io.EOF) {
			return all.String()
		} else if err != nil {
			s := proto.CloneOf(status.Convert(err).Proto())
			s.Details = slices.DeleteFunc(s.Details, func(d *anypb.Any) bool { return d.MessageIs(&errdetails.RequestInfo{}) })
			return all.String() + "ends in " + prototextOf(t, s)
		}
		m := reply.ProtoReflect()
		if f := m.Descriptor().Fields().ByName("phase"); f != nil && m.Has(f) {
			continue // of progress as much is told as there is time for
		}
		scrub(m)
		all.WriteString(prototextOf(t, reply) + "\n")
	}
}

// prototextOf is a message as a text that is the same each time.
func prototextOf(t *testing.T, m proto.Message) string {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(b), ", ", ","), ": ", ":")
}

// scrub takes out of a reply what differs from store to store: times, tokens, and the store's own id.
func scrub(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp", strings.HasSuffix(string(f.Name()), "token"),
			slices.Contains([]protoreflect.Name{"etag", "store_id", "receipt_public_key", "cursor", "digest", "data"}, f.Name()):
			m.Clear(f)
		case f.IsMap():
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				scrub(v.List().Get(i).Message())
			}
		case f.Message() != nil:
			scrub(v.Message())
		}
		return true
	})
}

// TestHTTPIsAsGRPC calls every method in every form, with requests that are served and requests that are not: replies and errors are those of
// gRPC.
func TestHTTPIsAsGRPC(t *testing.T) {
	answers := func(conn func(s *testserver.Stack) grpc.ClientConnInterface) map[string]string {
		w := newTenants(t)
		to, all := conn(w.ours.Stack), map[string]string{}
		served := overHTTP()
		for _, path := range slices.Sorted(maps.Keys(served)) { // each puts and deletes what the next find
			d := served[path]
			attempts := w.attempts(t, d)
			for _, what := range slices.Sorted(maps.Keys(attempts)) {
				all[path+" "+what] = comesTo(t, to, d, path, attempts[what])
			}
		}
		return all
	}
	want := answers(func(s *testserver.Stack) grpc.ClientConnInterface { return s.Dial(t) })
	if len(want) < 90 {
		t.Fatalf("%d calls were made: the walk is broken", len(want))
	}
	for _, form := range overhttp.Forms() {
		t.Run(string(form), func(t *testing.T) {
			got := answers(func(s *testserver.Stack) grpc.ClientConnInterface {
				return &overhttp.Conn{URL: s.HTTP(t, server.HTTPConfig{}), Form: form, Client: http.DefaultClient}
			})
			for what, answer := range want {
				if got[what] != answer {
					t.Errorf("%s:\n%.600s\nover gRPC:\n%.600s", what, got[what], answer)
				}
			}
		})
	}
}

// attempts are requests of a method: one that is served, an empty one, and some that are not.
func (w *tenants) attempts(t *testing.T, d protoreflect.MethodDescriptor) map[string]proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]proto.Message{"with nothing": kind.New().Interface()}
	about := func(what, namespace string, m proto.Message) {
		if f := d.Input().Fields().ByName("namespace"); f != nil {
			m.ProtoReflect().Set(f, protoreflect.ValueOfString(namespace))
		}
		all[what] = m
	}
	good := w.calls()[string(d.Name())]
	if good == nil {
		good = kind.New().Interface()
	}
	about("that is served", "ours", proto.Clone(good))
	about("of another's", theirNamespace, proto.Clone(good))
	about("of a bad name", "no name", proto.Clone(good))
	for _, field := range []protoreflect.Name{"head", "node", "parent"} {
		f := d.Input().Fields().ByName(field)
		if f == nil || f.Message() == nil {
			continue
		}
		for what, ref := range map[string]*NodeRef{"of an unknown alias": byAlias("nobody"), "of an id that is none": byID("xyz"), "of an unknown id": byID(strings.Repeat("ab", 32))} {
			m := proto.Clone(good)
			m.ProtoReflect().Set(f, protoreflect.ValueOfMessage(ref.ProtoReflect()))
			about(string(field)+" "+what, "ours", m)
		}
	}
	return all
}

// overHTTP are the methods that are served over HTTP, but for those that do not end, by path.
func overHTTP() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	for _, file := range []protoreflect.FileDescriptor{
		transcriptv1.File_transcript_v1_transcript_service_proto, transcriptv1.File_transcript_v1_admin_service_proto, healthv1.File_grpc_health_v1_health_proto,
	} {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for k := range s.Methods().Len() {
				if m := s.Methods().Get(k); m.Name() != "Watch" {
					all[fmt.Sprintf("/%s/%s", s.FullName(), m.Name())] = m
				}
			}
		}
	}
	return all
}

// TestHTTPHealthIsWatched: a stream that does not end by itself.
func TestHTTPHealthIsWatched(t *testing.T) {
	r := newRig(t)
	conn := &overhttp.Conn{URL: r.HTTP(t, server.HTTPConfig{}), Form: overhttp.Curl, Client: http.DefaultClient}
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthv1.HealthCheckResponse_ServingStatus{healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING} {
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Fatalf("health is %v, %v, want %v", got, err, want)
		}
		r.Server.Withdraw()
	}
}

// rawHTTP is a request as it is written, and what comes of it.
type rawHTTP struct {
	method, path, body string
	head               map[string]string
	host               string
}

func (q rawHTTP) ask(t *testing.T, base string) (*http.Response, string) {
	t.Helper()
	if q.method == "" {
		q.method = http.MethodPost
	}
	if q.path == "" {
		q.path = "/transcript.v1.TranscriptService/ServerInfo"
	}
	r, err := http.NewRequestWithContext(t.Context(), q.method, base+q.path, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = q.host
	for k, v := range q.head {
		r.Header.Set(k, v)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	b, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply, string(b)
}

// many are headers of few bytes, for which HTTP/2 counts many.
func many() map[string]string {
	h := map[string]string{"Content-Type": "application/json"}
	for i := range 600 {
		h[fmt.Sprint("X-", i)] = ""
	}
	return h
}

var inJSON = map[string]string{"Content-Type": "application/json"}

// TestHTTPRefuses: what cannot be a call is refused with a status and an error in JSON that says what to do, and changes nothing.
func TestHTTPRefuses(t *testing.T) {
	r := newRig(t)
	base := r.HTTP(t, server.HTTPConfig{Hosts: func(h string) bool { return strings.HasPrefix(h, "127.0.0.1") }})
	with := func(kv ...string) map[string]string {
		h := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(kv); i += 2 {
			h[kv[i]] = kv[i+1]
		}
		return h
	}
	const put = "/transcript.v1.TranscriptService/PutNode"
	for what, c := range map[string]struct {
		rawHTTP
		status int
		says   string
	}{
		"a member that is not known":  {rawHTTP{path: put, body: `{"mesages":[]}`, head: inJSON}, 400, `has no member \"mesages\": its members are namespace, parent, messages`},
		"a member twice":              {rawHTTP{path: put, body: `{"namespace":"a","namespace":"a"}`, head: inJSON}, 400, `the member \"namespace\" twice`},
		"a member of a wrong type":    {rawHTTP{path: put, body: `{"messages":[{"role":"ROLE_USER","parts":[{"text":{"a":"SECRET"}}]}]}`, head: inJSON}, 400, "messages[0].parts[0].text: must be a text"},
		"a value that is none":        {rawHTTP{path: put, body: `{"messages":[{"role":"ROLE_SECRET"}]}`, head: inJSON}, 400, "messages[0].role: must be one of ROLE_SYSTEM"},
		"JSON that is cut off":        {rawHTTP{path: put, body: `{"messages":[{"parts":[{"text":"SECRET`, head: inJSON}, 400, "MALFORMED_REQUEST"},
		"no JSON":                     {rawHTTP{path: put, body: `SECRET`, head: inJSON}, 400, "MALFORMED_REQUEST"},
		"an empty body":               {rawHTTP{path: put, body: ``, head: inJSON}, 400, "MALFORMED_REQUEST"},
		"a list":                      {rawHTTP{path: put, body: `[]`, head: inJSON}, 400, "MALFORMED_REQUEST"},
		"two objects":                 {rawHTTP{path: put, body: `{}{}`, head: inJSON}, 400, "MALFORMED_REQUEST"},
		"deep JSON":                   {rawHTTP{path: put, body: strings.Repeat(`{"messages":[`, 5000), head: inJSON}, 400, "MALFORMED_REQUEST"},
		"too many objects":            {rawHTTP{path: put, body: `{"messages":[` + strings.Repeat(`{},`, 250_000) + `{}]}`, head: inJSON}, 400, "LIMIT_EXCEEDED"},
		"too many values":             {rawHTTP{path: put, body: `{"messages":[{"parts":[` + strings.Repeat(`0,`, 1_100_000) + `0]}]}`, head: inJSON}, 400, "LIMIT_EXCEEDED"},
		"no UTF-8":                    {rawHTTP{path: put, body: "{\"namespace\":\"\xff\"}", head: inJSON}, 400, "MALFORMED_REQUEST"},
		"a large body":                {rawHTTP{path: put, body: `{"namespace":"` + strings.Repeat("a", 8<<20) + `"}`, head: inJSON}, 413, "LIMIT_EXCEEDED"},
		"a large body for health":     {rawHTTP{path: "/grpc.health.v1.Health/Check", body: `{"service":"` + strings.Repeat("a", 2<<10) + `"}`, head: inJSON}, 413, "LIMIT_EXCEEDED"},
		"GET":                         {rawHTTP{method: "GET"}, 405, "POST"},
		"GET of Connect":              {rawHTTP{method: "GET", path: "/transcript.v1.TranscriptService/ServerInfo?connect=v1&encoding=json&message=%7B%7D"}, 405, "POST"},
		"PUT":                         {rawHTTP{method: "PUT", body: "{}", head: inJSON}, 405, "POST"},
		"a form":                      {rawHTTP{body: "{}", head: with("Content-Type", "application/x-www-form-urlencoded")}, 415, "application/json"},
		"text":                        {rawHTTP{body: "{}", head: with("Content-Type", "text/plain")}, 415, "application/json"},
		"no type":                     {rawHTTP{body: "{}"}, 415, "application/json"},
		"another charset":             {rawHTTP{body: "{}", head: with("Content-Type", "application/json; charset=latin1")}, 415, "UTF-8"},
		"gRPC":                        {rawHTTP{body: "\x00\x00\x00\x00\x00", head: with("Content-Type", "application/grpc+proto")}, 415, "--listen"},
		"many headers":                {rawHTTP{body: "{}", head: many()}, 431, "headers"},
		"a compressed body":           {rawHTTP{body: "{}", head: with("Content-Encoding", "gzip")}, 415, "compressed"},
		"a compressed stream":         {rawHTTP{body: "{}", head: with("Connect-Content-Encoding", "gzip")}, 415, "compressed"},
		"a stream for one reply":      {rawHTTP{body: "\x00\x00\x00\x00\x02{}", head: with("Content-Type", "application/connect+json")}, 415, "one reply"},
		"one reply for a stream":      {rawHTTP{path: "/transcript.v1.TranscriptService/StreamAssemble", head: with("Content-Type", "application/proto")}, 415, "a stream"},
		"no method":                   {rawHTTP{path: "/transcript.v1.TranscriptService/Nothing", body: "{}", head: inJSON}, 404, "openapi.json"},
		"another service's method":    {rawHTTP{path: "/transcript.v1.TranscriptService/verify", body: "{}", head: inJSON}, 404, "POST /transcript.v1.AdminService/Verify,"},
		"no path":                     {rawHTTP{path: "/", body: "{}", head: inJSON}, 404, "openapi.json"},
		"reflection":                  {rawHTTP{path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", body: "{}", head: inJSON}, 404, "openapi.json"},
		"another host":                {rawHTTP{body: "{}", head: inJSON, host: "attacker.example"}, 421, "--http-host"},
		"a foreign page":              {rawHTTP{body: "{}", head: with("Origin", "https://attacker.example")}, 403, "--http-origin"},
		"a page of no origin":         {rawHTTP{body: "{}", head: with("Origin", "null")}, 403, "--http-origin"},
		"a foreign page, as browsers": {rawHTTP{body: "{}", head: with("Sec-Fetch-Site", "cross-site")}, 403, "--http-origin"},
		"a page on another port":      {rawHTTP{body: "{}", head: with("Origin", "http://127.0.0.1:1")}, 403, "--http-origin"},
		"a preflight":                 {rawHTTP{method: "OPTIONS", head: map[string]string{"Origin": "https://attacker.example", "Access-Control-Request-Method": "POST"}}, 405, "POST"},
		"a wrong timeout":             {rawHTTP{body: "{}", head: with("Connect-Timeout-Ms", "soon")}, 400, "Connect-Timeout-Ms"},
		"a long timeout":              {rawHTTP{body: "{}", head: with("Connect-Timeout-Ms", "99999999999")}, 400, "Connect-Timeout-Ms"},
		"two messages":                {rawHTTP{path: "/transcript.v1.TranscriptService/StreamAssemble", body: "\x00\x00\x00\x00\x02{}\x00\x00\x00\x00\x02{}", head: with("Content-Type", "application/connect+json")}, 400, "one message"},
		"no message":                  {rawHTTP{path: "/transcript.v1.TranscriptService/StreamAssemble", body: "", head: with("Content-Type", "application/grpc-web+proto")}, 400, "one message"},
		"a message that is cut off":   {rawHTTP{path: "/transcript.v1.TranscriptService/StreamAssemble", body: "\x00\xff\xff\xff\xff{}", head: with("Content-Type", "application/connect+proto")}, 400, "one message"},
		"a compressed message":        {rawHTTP{path: "/transcript.v1.TranscriptService/StreamAssemble", body: "\x01\x00\x00\x00\x02{}", head: with("Content-Type", "application/connect+json")}, 400, "one message"},
	} {
		reply, body := c.ask(t, base)
		if reply.StatusCode != c.status || !strings.Contains(body, c.says) || strings.Contains(body, "SECRET") {
			t.Errorf("%s: %d %.400s; want %d, %q", what, reply.StatusCode, body, c.status, c.says)
		}
		if reply.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"code"`) {
			t.Errorf("%s: the error is %q: %.200s", what, reply.Header.Get("Content-Type"), body)
		}
		if h := reply.Header; h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages are let in: %v", what, h)
		}
	}
	if stats, err := r.admin.NamespaceStats(t.Context(), &transcriptv1.NamespaceStatsRequest{}); err != nil || stats.GetNodes() != 0 {
		t.Errorf("something was put: %v, %v", stats, err)
	}
}

// TestHTTPEndsLines: whatever is answered in JSON ends with the end of a line, and one alone.
func TestHTTPEndsLines(t *testing.T) {
	r := newRig(t)
	base := r.HTTP(t, server.HTTPConfig{})
	const service = "/transcript.v1.TranscriptService/"
	for what, c := range map[string]rawHTTP{
		"a reply":             {path: service + "ServerInfo", body: "{}"},
		"an empty reply":      {path: service + "DeleteAlias", body: `{"name":"a"}`},
		"an error":            {path: service + "ResolveAlias", body: `{"name":"a"}`},
		"a refused body":      {path: service + "ResolveAlias", body: `{"nam":"a"}`},
		"a refused request":   {path: service + "Nothing", body: `{}`},
		"a stream that fails": {path: service + "StreamAssemble", body: `{"head":{"alias":"a"}}`},
		"health":              {path: "/grpc.health.v1.Health/Check", body: "{}"},
	} {
		c.head = inJSON
		reply, body := c.ask(t, base)
		if !strings.HasSuffix(body, "}\n") || strings.Count(body, "\n") != 1 || (reply.ContentLength >= 0 && reply.ContentLength != int64(len(body))) {
			t.Errorf("%s: %q, of %d bytes", what, body, reply.ContentLength)
		}
	}
}

// TestHTTPAsksForAToken: who is not known is told so with what HTTP has for it, in a stream too.
func TestHTTPAsksForAToken(t *testing.T) {
	base := testserver.StartWith(t, memstore.New(memstore.Options{}), server.Config{Authenticator: named{}}).HTTP(t, server.HTTPConfig{})
	for _, method := range []string{"ServerInfo", "StreamAssemble"} {
		reply, body := rawHTTP{path: "/transcript.v1.TranscriptService/" + method, body: "{}", head: inJSON}.ask(t, base)
		if reply.StatusCode != http.StatusUnauthorized || reply.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(body, "Bearer TOKEN") {
			t.Errorf("%s: %d %v %s", method, reply.StatusCode, reply.Header, body)
		}
	}
	known := rawHTTP{path: "/transcript.v1.TranscriptService/ServerInfo", body: "{}", head: map[string]string{"Content-Type": "application/json", "Authorization": "ours"}}
	if reply, body := known.ask(t, base); reply.StatusCode != http.StatusOK || reply.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("known: %d %v %s", reply.StatusCode, reply.Header, body)
	}
}

// TestHTTPNeedsNoHeader: curl --json sends what is needed, and so does a page of the server's own.
func TestHTTPNeedsNoHeader(t *testing.T) {
	r := newRig(t)
	base := r.HTTP(t, server.HTTPConfig{})
	for what, head := range map[string]map[string]string{
		"as curl": inJSON, "with a charset": {"Content-Type": `application/json;charset="UTF-8"`}, "an own page": {"Content-Type": "application/json", "Origin": base},
		"no page": {"Content-Type": "application/json", "Sec-Fetch-Site": "none"}, "with a timeout": {"Content-Type": "application/json", "Connect-Timeout-Ms": "5000"},
		"that takes gzip": {"Content-Type": "application/json", "Accept-Encoding": "gzip"},
	} {
		reply, body := rawHTTP{body: "{}", head: head}.ask(t, base)
		if reply.StatusCode != 200 || !strings.Contains(body, `"storeId"`) || reply.Header.Get("Cache-Control") != "no-store" || reply.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v %.300s", what, reply.StatusCode, reply.Header, body)
		}
	}
	reply, body := rawHTTP{method: "GET", path: "/openapi.json"}.ask(t, base)
	if reply.StatusCode != 200 || !strings.Contains(body, "/transcript.v1.TranscriptService/PutNode") {
		t.Errorf("the description: %d %.300s", reply.StatusCode, body)
	}
}

// TestHTTPOrigins: a page of an origin that is given may call, and read the reply; others may not.
func TestHTTPOrigins(t *testing.T) {
	r := newRig(t)
	base := r.HTTP(t, server.HTTPConfig{Origins: []string{"https://app.example"}})
	for origin, want := range map[string]int{"https://app.example": 200, "https://app.example.attacker.example": 403, "http://app.example": 403} {
		reply, _ := rawHTTP{body: "{}", head: map[string]string{"Content-Type": "application/json", "Origin": origin, "Sec-Fetch-Site": "cross-site"}}.ask(t, base)
		if allowed := reply.Header.Get("Access-Control-Allow-Origin"); reply.StatusCode != want || (allowed == origin) != (want == 200) || reply.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d, lets in %q", origin, reply.StatusCode, allowed)
		}
		reply, _ = rawHTTP{method: "OPTIONS", head: map[string]string{"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,connect-timeout-ms,content-type"}}.ask(t, base)
		if allowed := reply.Header.Get("Access-Control-Allow-Headers"); (allowed != "") != (want == 200) {
			t.Errorf("%s: a preflight allows %q", origin, allowed)
		}
	}
	for _, origin := range []string{"*", "app.example", "https://app.example/x", ""} {
		if _, err := r.Server.HTTP(r.GRPC, server.HTTPConfig{Origins: []string{origin}}); err == nil {
			t.Errorf("%q is taken for an origin", origin)
		}
	}
}

// TestHTTPStreams: a stream is lines, each a message, or events; an error after some is the last one.
func TestHTTPStreams(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", user("one\nline"), assistant("two"))
	base := r.HTTP(t, server.HTTPConfig{})
	q := rawHTTP{path: "/transcript.v1.TranscriptService/StreamAssemble", body: `{"head":{"alias":"chat"}}`, head: inJSON}
	reply, body := q.ask(t, base)
	if lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n"); reply.StatusCode != 200 || reply.Header.Get("Content-Type") != "application/x-ndjson" || !strings.Contains(lines[len(lines)-1], ids[1]) {
		t.Errorf("lines: %d %v %s", reply.StatusCode, reply.Header, body)
	}
	q.head = map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream, */*"}
	reply, body = q.ask(t, base)
	if reply.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "data: {") || !strings.HasSuffix(body, "\n\nevent: end\ndata: {}\n\n") {
		t.Errorf("events: %v %s", reply.Header, body)
	}
	q.body = `{"head":{"alias":"nobody"}}`
	if reply, body = q.ask(t, base); reply.StatusCode != 404 || !strings.HasPrefix(body, "event: error\ndata: {\"error\":{\"code\":\"not_found\"") {
		t.Errorf("an error among events: %d %s", reply.StatusCode, body)
	}
	q.head = inJSON
	if reply, body = q.ask(t, base); reply.StatusCode != 404 || !strings.HasPrefix(body, `{"error":{"code":"not_found"`) || strings.Count(body, "\n") != 1 {
		t.Errorf("an error among lines: %d %s", reply.StatusCode, body)
	}
}

// TestHTTPKnowsWhoCallsByTheConnection: no header says where a call comes from.
func TestHTTPKnowsWhoCallsByTheConnection(t *testing.T) {
	r := newRig(t)
	base := r.HTTP(t, server.HTTPConfig{})
	forged := map[string]string{"Content-Type": "application/json"}
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Peer", "Peer.address", "X-Client-Cert", "X-Forwarded-Client-Cert", "Authority", ":authority", "Grpc-Peer"} {
		if !strings.HasPrefix(name, ":") {
			forged[name] = "192.0.2.66"
		}
	}
	if reply, body := (rawHTTP{body: "{}", head: forged}).ask(t, base); reply.StatusCode != 200 {
		t.Fatalf("%d %s", reply.StatusCode, body)
	}
	host := must[*url.URL](r)(url.Parse(base)).Hostname()
	if logs := r.logs.String(); strings.Contains(logs, "192.0.2.66") || !strings.Contains(logs, fmt.Sprintf(`"peer.address":"%s:`, host)) {
		t.Errorf("the log says: %s", logs)
	}
}

// TestHTTPClientsThatGo: a client that closes its connection ends its calls, and leaves nothing.
func TestHTTPClientsThatGo(t *testing.T) {
	g := newGated()
	r := newRig(t, g)
	base := r.HTTP(t, server.HTTPConfig{})
	for range 3 {
		conn := must[net.Conn](r)(net.Dial("tcp", strings.TrimPrefix(base, "http://")))
		body := `{"name":"a"}`
		fmt.Fprintf(conn, "POST /transcript.v1.TranscriptService/ResolveAlias HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		<-g.entered // the store waits for the context of the call to end
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the calls have ended", func() bool { return strings.Count(r.logs.String(), "Canceled") >= 3 })
}

// TestHTTPDrains: from Drain on calls are refused, those under way end, and Shutdown waits for them.
func TestHTTPDrains(t *testing.T) {
	g := newGated()
	r := newRig(t, g)
	base := r.HTTP(t, server.HTTPConfig{})
	ended := make(chan string, 1)
	go func() {
		reply, err := http.Post(base+"/transcript.v1.TranscriptService/PutNode", "application/json", strings.NewReader(`{"messages":[{"role":"ROLE_USER","parts":[{"text":"x"}]}]}`))
		if err != nil {
			ended <- err.Error()
			return
		}
		defer func() { _ = reply.Body.Close() }()
		ended <- reply.Status
	}()
	<-g.entered
	r.Server.Drain()
	reply, body := rawHTTP{body: "{}", head: inJSON}.ask(t, base)
	if reply.StatusCode != 503 || !strings.Contains(body, "DRAINING") {
		t.Errorf("%d %s", reply.StatusCode, body)
	}
	close(g.open)
	if got := <-ended; got != "200 OK" {
		t.Errorf("a call that ran when draining began: %s", got)
	}
}

// TestHTTPTakesLargeMessages: what gRPC takes, and gives, HTTP does.
func TestHTTPTakesLargeMessages(t *testing.T) {
	r := newRig(t)
	conn := &overhttp.Conn{URL: r.HTTP(t, server.HTTPConfig{}), Form: overhttp.Curl, Client: http.DefaultClient}
	client := transcriptv1.NewTranscriptServiceClient(conn)
	large := strings.Repeat("\"€", 700<<10)
	if _, err := client.PutNode(t.Context(), &PutNode{Messages: []*Message{user(large)}, Aliases: []*Update{{Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	got, err := client.Assemble(t.Context(), &Assemble{Head: byAlias("a")})
	if err != nil {
		t.Fatal(err)
	}
	r.sameMessages("the large one", got.Messages, user(large))
	_, err = client.PutNode(t.Context(), &PutNode{Messages: []*Message{user(strings.Repeat("x", 5<<20))}})
	r.fails(err, codes.InvalidArgument, "LIMIT_EXCEEDED", failureOf(err).field)
}

// TestHTTPConnectionsAreOfManyCallers: over one connection, as a proxy has it, each call is of who its token says, and of nobody else.
func TestHTTPConnectionsAreOfManyCallers(t *testing.T) {
	w := newTenants(t)
	url := w.ours.HTTP(t, server.HTTPConfig{})
	for _, two := range []bool{false, true} {
		by := &http.Transport{Protocols: new(http.Protocols), MaxConnsPerHost: 1}
		by.Protocols.SetHTTP1(!two)
		by.Protocols.SetUnencryptedHTTP2(two)
		t.Cleanup(by.CloseIdleConnections)
		client := transcriptv1.NewTranscriptServiceClient(&overhttp.Conn{URL: url, Form: overhttp.Curl, Client: &http.Client{Transport: by}})
		var calls sync.WaitGroup
		for i := range 90 {
			calls.Go(func() {
				ctx, who := t.Context(), []string{"ours", theirNamespace, ""}[i%3]
				if who != "" {
					ctx = grpcmetadata.AppendToOutgoingContext(ctx, "authorization", who)
				}
				got, err := client.ListNamespaces(ctx, &transcriptv1.ListNamespacesRequest{})
				if (status.Code(err) == codes.Unauthenticated) != (who == "") || err != nil && who != "" {
					t.Errorf("HTTP/2 %v, %q: %v", two, who, err)
				}
				if (len(got.GetNamespaces()) == 1) != (who != "") {
					t.Errorf("HTTP/2 %v: %q reads %v", two, who, got)
				}
				for _, n := range got.GetNamespaces() {
					if n.GetName() != who {
						t.Errorf("HTTP/2 %v: %q reads of %q", two, who, n.GetName())
					}
				}
			})
		}
		calls.Wait()
	}
}
