// Package conforms runs the public kit against the server, over both engines, and shows that it fails on a server that breaks
// promises. The kit itself is package conformance, which knows no server.
package conforms

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/conformance"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

func TestMemory(t *testing.T) {
	conn := &watched{ClientConnInterface: testserver.StartMemory(t)}
	results, sum := passes(t, conn, testing.Short())
	everyRPC(t, results)
	for namespace := range conn.namespaces {
		if !slices.Contains(sum.Namespaces, namespace) && !strings.HasPrefix(namespace, sum.Namespaces[1]+"-") {
			t.Errorf("the kit called for the namespace %q, which it did not make", namespace)
		}
	}
	for _, namespace := range sum.Namespaces {
		left, err := transcriptv1.NewTranscriptServiceClient(conn).ListAliases(t.Context(), &transcriptv1.ListAliasesRequest{Namespace: namespace})
		if err != nil || len(left.GetAliases()) > 0 {
			t.Errorf("%d aliases are left in %s (%v)", len(left.GetAliases()), namespace, err)
		}
	}
}

func TestBadger(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	passes(t, testserver.Start(t, store), true)
}

// passes runs the kit and holds that the server passes all of it.
func passes(t *testing.T, conn grpc.ClientConnInterface, withoutLarge bool) (results []conformance.Result, sum conformance.Summary) {
	t.Helper()
	sum, err := conformance.Run(t.Context(), conn, conformance.Options{
		WithoutLarge: withoutLarge, Deadline: time.Minute, Report: func(r conformance.Result) {
			if results = append(results, r); r.Status != conformance.Passed {
				t.Error(r)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Passed != len(results) || sum.Passed < 150 {
		t.Errorf("of %d checks %d passed", len(results), sum.Passed)
	}
	return results, sum
}

// everyRPC holds that each rpc of the contract has checks of its name, and is called by some.
func everyRPC(t *testing.T, results []conformance.Result) {
	t.Helper()
	groups, called := map[string]bool{}, map[string]bool{}
	for _, r := range results {
		group, _, _ := strings.Cut(r.ID, "/")
		groups[group] = true
		for _, m := range r.Methods {
			called[m] = true
		}
	}
	files := []protoreflect.FileDescriptor{transcriptv1.File_transcript_v1_transcript_service_proto, transcriptv1.File_transcript_v1_admin_service_proto}
	for _, file := range files {
		methods := file.Services().Get(0).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			if full := string(m.Parent().FullName()) + "/" + string(m.Name()); !called[full] {
				t.Errorf("no check calls %s", full)
			}
			if !groups[kebab(string(m.Name()))] {
				t.Errorf("no check is named %s/…", kebab(string(m.Name())))
			}
		}
	}
}

// kebab is PutNode as put-node.
func kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// watched notes the namespaces that well-formed requests name.
type watched struct {
	grpc.ClientConnInterface
	mu         sync.Mutex
	namespaces map[string]bool
}

var goodNamespace = regexp.MustCompile(`^[a-z0-9._-]{0,64}$`)

func (w *watched) note(request any) {
	r, ok := request.(interface{ GetNamespace() string })
	if !ok || !goodNamespace.MatchString(r.GetNamespace()) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.namespaces == nil {
		w.namespaces = map[string]bool{}
	}
	w.namespaces[r.GetNamespace()] = true
}

func (w *watched) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	w.note(args)
	return w.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

func (w *watched) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := w.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	return &watchedStream{s, w}, err
}

type watchedStream struct {
	grpc.ClientStream
	w *watched
}

func (s *watchedStream) SendMsg(m any) error {
	s.w.note(m)
	return s.ClientStream.SendMsg(m)
}

// TestChecks: ids are unique and of one form, and each check has a sentence.
func TestChecks(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9-]+$`)
	seen := map[string]bool{}
	for _, c := range conformance.Checks() {
		if seen[c.ID] || !form.MatchString(c.ID) {
			t.Errorf("the id %q stands twice, or is malformed", c.ID)
		}
		seen[c.ID] = true
		if c.Promise == "" || strings.HasSuffix(c.Promise, ".") {
			t.Errorf("%s: the promise is %q", c.ID, c.Promise)
		}
	}
}

// TestUnimplemented: a server without an rpc fails nothing by that; the checks are skipped, with the reason.
func TestUnimplemented(t *testing.T) {
	conn := &broken{conn: testserver.StartMemory(t), breaks: breaks{call: func(c *call) error {
		if c.method == "Search" {
			return status.Error(codes.Unimplemented, "no such rpc")
		}
		return c.pass()
	}}}
	for _, r := range run(t, conn, "^search/any-case$") {
		if r.Status != conformance.Skipped || !strings.Contains(r.Reason, "does not have this rpc") {
			t.Error(r)
		}
	}
}

// TestSaysThatItCannot: what a server says that it cannot do, or does beyond the first contract, fails nothing.
func TestSaysThatItCannot(t *testing.T) {
	conn := &broken{conn: testserver.StartMemory(t), breaks: breaks{call: func(c *call) error {
		err := c.pass()
		if info, ok := c.reply.(*transcriptv1.ServerInfoResponse); ok {
			info.Features = slices.DeleteFunc(info.GetFeatures(), func(name string) bool { return name == "opaque_parts" })
			info.Limits.Labels = 65
		}
		return err
	}}}
	for _, r := range run(t, conn, "^(views/opaque|limits/labels|limits/metadata)$") {
		want := map[string]string{"views/opaque": "the feature opaque_parts", "limits/labels": "limit labels is larger: 65, not 64"}[r.ID]
		if (r.Status == conformance.Skipped) != (want != "") || !strings.Contains(r.Reason, want) {
			t.Error(r)
		}
	}
}

// TestNobodyThere: a server that cannot be asked is one error, and no failed checks.
func TestNobodyThere(t *testing.T) {
	conn := &broken{conn: testserver.StartMemory(t), breaks: breaks{call: func(*call) error { return status.Error(codes.Unavailable, "gone") }}}
	_, err := conformance.Run(t.Context(), conn, conformance.Options{Report: func(r conformance.Result) { t.Error(r) }})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the error is %v", err)
	}
}

// run runs some checks.
func run(t *testing.T, conn grpc.ClientConnInterface, pattern string) (results []conformance.Result) {
	t.Helper()
	_, err := conformance.Run(t.Context(), conn, conformance.Options{
		Select: regexp.MustCompile(pattern), Deadline: time.Minute, Report: func(r conformance.Result) { results = append(results, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Fatalf("no check matches %s", pattern)
	}
	return results
}
