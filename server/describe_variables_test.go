package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type (
	VariableInfo  = transcriptv1.VariableInfo
	VariableNames = transcriptv1.VariableNames
)

// namesOf are the names of variables, in their order.
func namesOf(list []*VariableInfo) string {
	var names []string
	for _, v := range list {
		names = append(names, v.Name)
	}
	return strings.Join(names, " ")
}

// TestDescribeVariables: values and declarations of one variable, and what unsets it.
func TestDescribeVariables(t *testing.T) {
	const info = `{"type":"list[str]","size":200000,"preview":"[\"It was the best\"","iteration":7}`
	value := func(name, value string) []*transcriptv1.MetadataEntry { return variables(name, value) }
	declared := &VariableInfo{Name: "x", Type: "list[str]", SizeBytes: 200_000, Preview: `["It was the best"`, Iteration: proto.Int64(7)}
	valued := &VariableInfo{Name: "x", Type: "number", SizeBytes: 2, Preview: "42"}
	for _, test := range []struct {
		name string
		puts [][]*transcriptv1.MetadataEntry
		by   int // the node that set it last
		want *VariableInfo
	}{
		{"a value", [][]*transcriptv1.MetadataEntry{value("x", "42")}, 0, valued},
		{"a declaration", [][]*transcriptv1.MetadataEntry{declares("x", info)}, 0, declared},
		{"a declaration after a value", [][]*transcriptv1.MetadataEntry{value("x", "1"), declares("x", info)}, 1, declared},
		{"a value after a declaration", [][]*transcriptv1.MetadataEntry{declares("x", info), value("x", "42")}, 1, valued},
		{"both in one node", [][]*transcriptv1.MetadataEntry{slices.Concat(declares("x", info), value("x", "42"))}, 0, valued},
		{"another variable after it", [][]*transcriptv1.MetadataEntry{declares("x", info), value("y", "")}, 0, declared},
		{"set again", [][]*transcriptv1.MetadataEntry{value("x", ""), declares("x", info), value("y", "")}, 1, declared},
		{"a value and an empty declaration", [][]*transcriptv1.MetadataEntry{slices.Concat(declares("x", ""), value("x", "42"))}, 0, valued},

		{"an empty value", [][]*transcriptv1.MetadataEntry{value("x", "42"), value("x", "")}, 0, nil},
		{"an empty value after a declaration", [][]*transcriptv1.MetadataEntry{declares("x", info), value("x", "")}, 0, nil},
		{"an empty declaration after a value", [][]*transcriptv1.MetadataEntry{value("x", "42"), declares("x", "")}, 0, nil},
		{"a declaration and an empty value", [][]*transcriptv1.MetadataEntry{slices.Concat(declares("x", info), value("x", ""))}, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, c, _ := newClocked(t)
			var ids []string
			head := ""
			for _, metadata := range test.puts {
				c.pass(time.Minute)
				head = r.putWith(head, &PutNode{Metadata: metadata})
				ids = append(ids, head)
			}
			got := r.describe(&Describe{Head: byID(head), Mode: modePreview})
			if test.want == nil {
				equal(r, "the variables", namesOf(got.Variables), "")
				return
			}
			want := proto.Clone(test.want).(*VariableInfo)
			want.SetBy = &transcriptv1.PathNode{NodeId: ids[test.by], Ancestors: int32(test.by)}
			want.SetAt = timestamppb.New(begun.Add(time.Duration(test.by+1) * time.Minute))
			equal(r, "the variables", namesOf(got.Variables), "x")
			r.sameReply("the variable", got.Variables[0], want)
		})
	}
}

// TestDescribeNames: each of 256 variables can be asked for by its name, and those of a prefix.
func TestDescribeNames(t *testing.T) {
	r := newRig(t)
	head := ""
	for i := range 4 {
		var pairs []string
		for k := range 64 {
			pairs = append(pairs, fmt.Sprintf("group%d/%02d", i, k), fmt.Sprint(k))
		}
		head = r.putWith(head, &PutNode{Metadata: variables(pairs...)})
	}
	told := func(items int32, names *VariableNames) (string, int) {
		got := r.describe(&Describe{Head: byID(head), MaxItems: items, VariableNames: names})
		return namesOf(got.Variables), int(got.MoreVariables)
	}
	prefix := func(p string) *VariableNames { return &VariableNames{Prefix: &p} }
	for i := range 4 {
		for k := range 64 {
			name := fmt.Sprintf("group%d/%02d", i, k)
			got, more := told(1, &VariableNames{Exact: []string{name}})
			equal(r, name, fmt.Sprintf("%s and %d more", got, more), name+" and 0 more")
		}
	}
	for _, test := range []struct {
		what  string
		items int32
		names *VariableNames
		want  string
		more  int
	}{
		{"the latest", 2, nil, "group3/00 group3/01", 254},
		{"a prefix of all", 2, prefix(""), "group3/00 group3/01", 254},
		{"a prefix", 3, prefix("group1/"), "group1/00 group1/01 group1/02", 61},
		{"a prefix of ten", 16, prefix("group0/5"), "group0/50 group0/51 group0/52 group0/53 group0/54 group0/55 group0/56 group0/57 group0/58 group0/59", 0},
		{"a prefix of none", 0, prefix("group4"), "", 0},
		{"a name that is a prefix", 0, prefix("group2/07"), "group2/07", 0},
		{"names in any order", 0, &VariableNames{Exact: []string{"group0/01", "group2/00", "group0/00"}}, "group2/00 group0/00 group0/01", 0},
		{"a name that is not set", 0, &VariableNames{Exact: []string{"group9", "group0/01", "group"}}, "group0/01", 0},
		{"a name twice", 2, &VariableNames{Exact: []string{"group0/01", "group0/01"}}, "group0/01", 0},
		{"names before a prefix", 3, &VariableNames{Exact: []string{"group0/09", "group1/00"}, Prefix: proto.String("group3/1")}, "group3/10 group1/00 group0/09", 9},
		{"names of the prefix", 2, &VariableNames{Exact: []string{"group3/63", "group3/10"}, Prefix: proto.String("group3")}, "group3/10 group3/63", 62},
	} {
		got, more := told(test.items, test.names)
		equal(r, test.what, got, test.want)
		equal(r, test.what+": more", more, test.more)
	}
}

// TestVariablesOfAnotherFormAreRefused: at both rpcs, with field and rule and without the value or the name.
func TestVariablesOfAnotherFormAreRefused(t *testing.T) {
	r := newRig(t)
	for _, value := range []string{
		`"canary"`, `{"canary":1}`, `{"type":"canary","size":1,"preview":"x"}`, `{"type":"canary","size":-1,"preview":"x","iteration":0}`,
		`{"type":"canary","size":1.5,"preview":"x","iteration":0}`, `{"type":"x","size":1,"preview":"x","iteration":0,"canary":0}`, "canary",
	} {
		metadata := slices.Concat(variables("a", "1"), declares("canary-name", value))
		put := &PutNode{Messages: []*Message{user("u")}, Metadata: metadata}
		_, err := r.PutNode(r.ctx(), put)
		_, many := r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{{Messages: put.Messages, Metadata: metadata}}})
		r.fails(err, invalid, badField, "metadata[1].value")
		r.fails(many, invalid, badField, "nodes[0].metadata[1].value")
		if text := fmt.Sprint(err, many); strings.Contains(text, "canary") || !strings.Contains(text, "varinfo/NAME") {
			t.Errorf("%s is refused with %s", value, text)
		}
	}
	_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("u")}, Metadata: inherits("canary"), SpawnedFrom: spawnedBy(absent, "c")})
	r.fails(err, invalid, badField, "metadata[0].value")
	if text := fmt.Sprint(err); strings.Contains(text, "canary") || !strings.Contains(text, "spawn/inherits") {
		t.Errorf("an inheritance is refused with %s", text)
	}
}

// programNode is a node of a random program: its metadata, and what the model has of its place.
type programNode struct {
	id        string
	parent    *programNode
	ancestors int32
	at        time.Time
	metadata  map[string]string
}

// modelVariable is a variable as the slow model has it.
type modelVariable struct {
	name string
	node *programNode
}

// variables walks over the path: of each node what it unsets and sets again goes first, then what it sets comes, in the order of names;
// the latest 256, of at most 16 KiB of names, stay.
func (n *programNode) variables() (set []modelVariable) {
	if n == nil {
		return nil
	}
	var names []string
	for key := range n.metadata {
		_, name, _ := strings.Cut(key, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, v := range n.parent.variables() {
		if !slices.Contains(names, v.name) {
			set = append(set, v)
		}
	}
	for _, name := range names {
		value, ok := n.metadata["var/"+name]
		if !ok {
			value = n.metadata["varinfo/"+name]
		}
		if value != "" {
			set = append(set, modelVariable{name, n})
		}
	}
	for size := 0; ; {
		size = 0
		for _, v := range set {
			size += len(v.name)
		}
		if len(set) <= 256 && size <= 16<<10 {
			return set
		}
		set = set[1:]
	}
}

// described is what the model expects of a description.
func (n *programNode) described(items int, names *VariableNames) (list []*VariableInfo, more int) {
	exact := func(v modelVariable) bool { return slices.Contains(names.GetExact(), v.name) }
	var asked []modelVariable
	room := items
	for _, v := range n.variables() {
		if names == nil || exact(v) || names.Prefix != nil && strings.HasPrefix(v.name, *names.Prefix) {
			asked = append(asked, v)
		}
		if exact(v) {
			room--
		}
	}
	slices.SortStableFunc(asked, func(a, b modelVariable) int { return int(b.node.ancestors - a.node.ancestors) })
	for _, v := range asked {
		if !exact(v) {
			if room == 0 {
				more++
				continue
			}
			room--
		}
		info := &VariableInfo{
			Name: v.name, SetBy: &transcriptv1.PathNode{NodeId: v.node.id, Ancestors: v.node.ancestors}, SetAt: timestamppb.New(v.node.at),
		}
		if value, ok := v.node.metadata["var/"+v.name]; ok {
			info.Type, info.SizeBytes, info.Preview = "number", int64(len(value)), value
		} else {
			var size, iteration int64
			if _, err := fmt.Sscanf(v.node.metadata["varinfo/"+v.name], declaration, &size, &iteration); err != nil {
				panic(err) // the model set what is no declaration
			}
			info.Type, info.SizeBytes, info.Preview, info.Iteration = "str", size, "It was", &iteration
		}
		list = append(list, info)
	}
	return list, more
}

// declaration is the form of the declarations of random programs.
const declaration = `{"type":"str","size":%d,"preview":"It was","iteration":%d}`

// drawSettings draws up to 64 values, declarations and unsettings of variables with names of a size.
func drawSettings(rt *rapid.T, pool, size int) map[string]string {
	metadata := map[string]string{}
	entries, block := rapid.SampledFrom([]int{1, 2, 5, 64}).Draw(rt, "entries"), -1
	if pool > 256 { // so that they become too many
		entries, block = 64, rapid.SampledFrom([]int{0, 64, 128, 192, 256, 320, 384}).Draw(rt, "block")
	}
	for i := range entries {
		number := block + i
		if block < 0 {
			number = rapid.IntRange(0, pool).Draw(rt, "name")
		}
		key := rapid.SampledFrom([]string{"var/", "varinfo/"}).Draw(rt, "key") + fmt.Sprintf("%0*d", size, number)
		value := fmt.Sprint(rapid.IntRange(0, 999).Draw(rt, "value"))
		if strings.HasPrefix(key, "varinfo/") {
			value = fmt.Sprintf(declaration, rapid.Int64Range(0, 1<<53-1).Draw(rt, "size"), rapid.Int64Range(0, 99).Draw(rt, "iteration"))
		}
		if rapid.SampledFrom([]bool{false, false, false, true}).Draw(rt, "unsets") && (block < 0 || i < 4) {
			value = ""
		}
		metadata[key] = value
	}
	return metadata
}

// TestDescribeVariablesAgreeWithAModel: after random programs of values, declarations and unsettings over a tree, on either engine, a
// description tells of the variables that the slow model has.
func TestDescribeVariablesAgreeWithAModel(t *testing.T) {
	for _, engine := range []string{"memory", "badger"} {
		t.Run(engine, func(t *testing.T) {
			c := &clock{}
			c.ms.Store(begun.UnixMilli())
			var store chainstore.Store = memstore.New(memstore.Options{Now: c.now})
			if engine == "badger" {
				disk, err := badgerstore.Open(t.TempDir(), badgerstore.Options{Now: c.now})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = disk.Close() })
				store = disk
			}
			r, programs := newRig(t, store), 0
			rapid.Check(t, func(rt *rapid.T) {
				programs++
				r.variablesProgram(rt, c, fmt.Sprint("program", programs))
			})
		})
	}
}

// variablesProgram runs a random program in a namespace of its own.
func (r *rig) variablesProgram(rt *rapid.T, c *clock, namespace string) {
	pool, size := rapid.SampledFrom([]int{3, 20, 448}).Draw(rt, "pool"), rapid.SampledFrom([]int{3, 3, 3, 200}).Draw(rt, "size")
	nodes := []*programNode{nil}
	for i := range rapid.SampledFrom([]int{2, 5, 9, 12}).Draw(rt, "nodes") {
		n := &programNode{metadata: drawSettings(rt, pool, size), at: c.now()}
		req := &PutNode{Namespace: namespace, Salt: fmt.Appendf(nil, "%016d", i), Messages: []*Message{user("u")}}
		for key, value := range n.metadata {
			req.Metadata = append(req.Metadata, &transcriptv1.MetadataEntry{Key: key, Value: value})
		}
		if n.parent = nodes[max(0, len(nodes)-1-rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(rt, "back"))]; n.parent != nil {
			n.ancestors, req.Parent = n.parent.ancestors+1, byID(n.parent.id)
		}
		reply, err := r.PutNode(r.ctx(), req)
		if err != nil {
			rt.Fatal(err)
		}
		n.id = reply.NodeId
		nodes = append(nodes, n)
		c.pass(time.Second)
	}
	for _, n := range nodes[max(1, len(nodes)-3):] {
		for _, names := range []*VariableNames{nil, drawNames(rt, pool, size)} {
			items := rapid.SampledFrom([]int{5, 16, 64}).Draw(rt, "items")
			got, err := r.TranscriptServiceClient.Describe(r.ctx(), &Describe{
				Namespace: namespace, Head: byID(n.id), MaxItems: int32(items), Mode: modePreview, VariableNames: names,
			})
			if err != nil {
				rt.Fatal(err)
			}
			want, more := n.described(items, names)
			same := slices.EqualFunc(got.Variables, want, func(a, b *VariableInfo) bool { return proto.Equal(a, b) })
			if !same || int(got.MoreVariables) != more {
				rt.Fatalf("of %v, %d at most:\n%v and %d more\nwant\n%v and %d more", names, items, got.Variables, got.MoreVariables, want, more)
			}
		}
	}
}

// drawNames draws names in full, a prefix, or both.
func drawNames(rt *rapid.T, pool, size int) *VariableNames {
	names := &VariableNames{}
	draw := func(what string) string { return fmt.Sprintf("%0*d", size, rapid.IntRange(0, pool+3).Draw(rt, what)) }
	for range rapid.IntRange(0, 5).Draw(rt, "names") {
		names.Exact = append(names.Exact, draw("an exact name"))
	}
	if len(names.Exact) == 0 || rapid.Bool().Draw(rt, "by prefix") {
		prefix := draw("prefix")
		prefix = prefix[:rapid.IntRange(0, len(prefix)).Draw(rt, "its length")]
		names.Prefix = &prefix
	}
	return names
}
