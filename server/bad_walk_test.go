package server_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// bad is a call that must be refused, or with codes.OK one that just must not.
type bad struct {
	name   string
	call   func(*rig) error
	code   codes.Code
	reason string
	field  string
}

const (
	invalid, notFound, unfit = codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition

	absent     = "0000000000000000000000000000000000000000000000000000000000000000"
	badField   = "INVALID_FIELD"
	overLimit  = "LIMIT_EXCEEDED"
	forged     = "INVALID_PAGE_TOKEN"
	noNode     = "NODE_NOT_FOUND"
	noAlias    = "ALIAS_NOT_FOUND"
	noToolCall = "TOOL_CALL_NOT_FOUND"
)

// asked is a call of an rpc.
func asked[Req, Res any](rpc func(*rig, context.Context, Req, ...grpc.CallOption) (Res, error), req Req) func(*rig) error {
	return func(r *rig) error {
		_, err := rpc(r, r.ctx(), req)
		return err
	}
}

// planted is what the store of the walk holds.
type planted struct {
	// chat, under that alias, is two system messages, two run loops with a call each, a question and an open call;
	// elsewhere branches off behind its third node. Under the alias "compacted" a compaction covers its first loop, and under
	// "paged" every paged call has more than a page.
	chat      []string
	elsewhere string
	paged     string
	// results is a node with a call 1 whose result has text and JSON, a call 2 without result, and a result 9 that answers
	// nothing; two is a node with two calls in one message.
	results, two string
	// preamble and open are roots: a system message, and a call without result.
	preamble, open string
	// large, under that alias, has two run loops whose questions are more than a node or a reply takes.
	large string
}

func (r *rig) plant() *planted {
	r.Helper()
	w := &planted{
		chat: r.chain("chat", concat([]*Message{system("s"), system("t")}, work("1"), work("2"), []*Message{user("3"), calling("x", "o")})...),
	}
	w.elsewhere = r.put(w.chat[2], user("a branch"))
	r.point("compacted", w.chat[9])
	r.compact(&Compact{Head: byAlias("compacted"), ThroughId: w.chat[5]})
	w.paged = r.paged("paged", "")
	m := result("1", "a\u4e2db"+strings.Repeat("x", 1000))
	m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: "[1]"}})
	w.results = r.put("", user("q"), calling("f", "1"), m, calling("f", "2"), result("9", "orphan"))
	w.two = r.put("", calling("f", "1", "2"))
	w.preamble, w.open = r.put("", system("nothing else")), r.put("", calling("x", "1"))
	for _, question := range []string{"x", "y"} {
		w.large = r.put(w.large, user(strings.Repeat(question, 2<<20+2<<17)))
		for _, m := range work(question)[1:] {
			w.large = r.put(w.large, m)
		}
	}
	r.point("large", w.large)
	for _, twin := range []string{"3533", "4984"} { // the ids of these begin with the same six digits
		r.put("", user(twin))
	}
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: "second", Messages: []*Message{user("x")}}))
	return w
}

// twins is what the ids of two nodes of the walk begin with.
const twins = "d4e106"

// holds is what can be seen of a namespace as a whole: a call that was refused leaves it the same.
func (r *rig) holds() string {
	r.Helper()
	stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
	aliases := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{}))
	return fmt.Sprint(stats, aliases)
}

// refuses makes calls that are refused as they say, and change nothing; or are just not.
func (r *rig) refuses(cases []bad) {
	for _, c := range cases {
		r.Run(c.name, func(t *testing.T) {
			in := *r
			in.T = t
			if c.code == codes.OK {
				if err := c.call(&in); err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			before := in.holds()
			f := in.fails(c.call(&in), c.code, c.reason, c.field)
			if c.code == invalid && c.field != "" && f.rule == "" {
				t.Error("no rule is named")
			}
			if after := in.holds(); after != before {
				t.Errorf("the call has changed\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestBadInput walks what a client can get wrong; every refusal says which code, reason and field, none UNKNOWN or
// INTERNAL, and changes nothing. Between them the calls have every reason that a client's input can bring about.
func TestBadInput(t *testing.T) {
	r := newRig(t)
	w := r.plant()
	cases := slices.Concat(badPuts(), badBatches(), badAliases(), badReads(), badViews(w), badCompactions(w), badLoops(w),
		badRecalls(w), badSearches(), badReplays(w), badDescriptions(w), badTokens(w))
	r.refuses(cases)
	if strings.Contains(r.logs.String(), `"level":"ERROR"`) {
		t.Errorf("bad input is logged as a fault: %s", r.logs.String())
	}
	produced := map[string]bool{}
	for _, c := range cases {
		produced[c.reason] = true
	}
	checkReasons(t, produced)
}

// otherwise are the reasons that no bad input brings about, with the tests that do.
var otherwise = map[string]string{
	"DISK_FULL": "TestStoresThatFail", "TOO_MANY_FILES": "TestStoresThatFail", "OVERLOADED": "TestStoresThatFail", "STORE_FAILED": "TestStoresThatFail",
	"DRAINING": "TestStoresThatFail", "NODE_CORRUPT": "TestStoresThatFail", "INTERNAL": "TestStoresThatFail",
	"CANCELLED": "TestStatuses", "DEADLINE_EXCEEDED": "TestStatuses",
	"MALFORMED_REQUEST": "TestUnknownFieldsAndUTF8",
	"UNAUTHENTICATED":   "TestStatuses", "IDENTITY_UNAVAILABLE": "TestStatuses", "PERMISSION_DENIED": "TestStatuses",
	"RATE_LIMITED":   "TestRates",
	"QUOTA_EXCEEDED": "TestQuotas", "SETTINGS_CHANGED": "TestSettingsChanged",
	"AUDIT_UNAVAILABLE": "TestStatuses",
	"PAYLOAD_ERASED":    "TestPayloadErased", "ERASED_MEANWHILE": "TestErasedMeanwhile", "SHARED_ROOT": "TestEraseSharedRoot", "LEGAL_HOLD": "TestLegalHold",
}

// checkReasons holds that each declared reason was produced by the walk, or else is by the test that is named for it.
func checkReasons(t *testing.T, produced map[string]bool) {
	t.Helper()
	say := testsSay(t)
	for number, name := range transcriptv1.ErrorReason_name {
		reason := strings.TrimPrefix(name, "ERROR_REASON_")
		switch test := otherwise[reason]; {
		case number == 0:
		case produced[reason] == (test != ""):
			t.Errorf("%s: produced by the walk: %t; by another test: %q", reason, produced[reason], test)
		case test != "" && !say[test][`"`+reason+`"`]:
			t.Errorf("%s does not speak of %s", test, reason)
		}
	}
}

// testsSay are the strings in each test function of this folder.
func testsSay(t *testing.T) map[string]map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	say := map[string]map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			test, ok := d.(*ast.FuncDecl)
			if !ok || test.Recv != nil {
				continue
			}
			said := map[string]bool{}
			ast.Inspect(test, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok {
					said[s.Value] = true
				}
				return true
			})
			say[test.Name.Name] = said
		}
	}
	return say
}

// with is a copy of a request, changed.
func with[Req proto.Message](req Req, change func(Req)) Req {
	c := proto.CloneOf(req)
	change(c)
	return c
}
