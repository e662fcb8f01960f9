package server_test

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badDescriptions are descriptions that are refused in every mode.
func badDescriptions(w *planted) (cases []bad) {
	add := func(name string, code codes.Code, reason, field string, change func(*Describe)) {
		for _, mode := range []transcriptv1.DescribeMode{modeOff, modeMetadata, modePreview} {
			req := &Describe{Head: byID(w.chat[9]), Mode: mode}
			change(req)
			cases = append(cases, bad{fmt.Sprintf("describe %s, %v", name, mode), asked((*rig).Describe, req), code, reason, field})
		}
	}
	const day = 86_400
	after := func(seconds int64, nanos int32) func(*Describe) {
		return func(d *Describe) { d.StaleAfter = &durationpb.Duration{Seconds: seconds, Nanos: nanos} }
	}
	now := func(seconds int64, nanos int32) func(*Describe) {
		return func(d *Describe) { d.Now = &timestamppb.Timestamp{Seconds: seconds, Nanos: nanos} }
	}
	add("nothing", invalid, badField, "head", func(d *Describe) { d.Head = nil })
	add("a prefix", invalid, badField, "head.node_id", func(d *Describe) { d.Head = byID("x") })
	add("a nameless alias", invalid, badField, "head.alias", func(d *Describe) { d.Head = byAlias("") })
	add("what is not there", notFound, noNode, "head", func(d *Describe) { d.Head = byID(absent) })
	add("an alias that is not there", notFound, noAlias, "head", func(d *Describe) { d.Head = byAlias("nobody") })
	add("in another namespace", notFound, noNode, "head", func(d *Describe) { d.Namespace = "elsewhere" })
	add("in a namespace in capitals", invalid, badField, "namespace", func(d *Describe) { d.Namespace = "A" })
	add("in a mode behind the last", invalid, badField, "mode", func(d *Describe) { d.Mode = 4 })
	add("in no mode", invalid, badField, "mode", func(d *Describe) { d.Mode = 9 })
	add("in a negative mode", invalid, badField, "mode", func(d *Describe) { d.Mode = -1 })
	add("less than nothing", invalid, badField, "max_items", func(d *Describe) { d.MaxItems = -1 })
	add("too much", invalid, overLimit, "max_items", func(d *Describe) { d.MaxItems = 65 })
	add("with negative previews", invalid, badField, "preview_chars", func(d *Describe) { d.PreviewChars = -1 })
	add("with long previews", invalid, overLimit, "preview_chars", func(d *Describe) { d.PreviewChars = 2001 })
	add("in a negative text", invalid, badField, "max_text_chars", func(d *Describe) { d.MaxTextChars = math.MinInt32 })
	add("in a long text", invalid, overLimit, "max_text_chars", func(d *Describe) { d.MaxTextChars = 20_001 })
	add("what is stale before now", invalid, badField, "stale_after", after(0, -1))
	add("what is stale by two signs", invalid, badField, "stale_after", after(1, -1))
	add("what is never stale", invalid, badField, "stale_after", after(math.MaxInt64, 0))
	add("what is stale too late", invalid, overLimit, "stale_after", after(36500*day, 1))
	add("before 1970", invalid, badField, "now", now(-1, 0))
	add("after 9999", invalid, badField, "now", now(253402300800, 0))
	add("at no time", invalid, badField, "now", now(0, -1))
	names := func(n *transcriptv1.VariableNames) func(*Describe) { return func(d *Describe) { d.VariableNames = n } }
	exact := func(n, size int) *transcriptv1.VariableNames {
		v := &transcriptv1.VariableNames{}
		for i := range n {
			v.Exact = append(v.Exact, fmt.Sprintf("%0*d", size, i))
		}
		return v
	}
	long := strings.Repeat("n", 253)
	add("variables of no name", invalid, badField, "variable_names", names(&transcriptv1.VariableNames{}))
	add("a variable with an empty name", invalid, badField, "variable_names.exact[1]", names(&transcriptv1.VariableNames{Exact: []string{"x", ""}}))
	add("a variable with a long name", invalid, overLimit, "variable_names.exact[0]", names(&transcriptv1.VariableNames{Exact: []string{long}}))
	add("variables of a long prefix", invalid, overLimit, "variable_names.prefix", names(&transcriptv1.VariableNames{Prefix: &long}))
	add("17 variables in a list of 16", invalid, overLimit, "variable_names.exact", names(exact(17, 2)))
	add("65 variables", invalid, overLimit, "variable_names.exact", func(d *Describe) { d.VariableNames, d.MaxItems = exact(65, 2), 64 })
	add("64 variables of long names", codes.OK, "", "", func(d *Describe) { d.VariableNames, d.MaxItems = exact(64, 252), 64 })
	add("variables of any name", codes.OK, "", "", names(&transcriptv1.VariableNames{Prefix: new(string)}))
	add("as much as can be", codes.OK, "", "", func(d *Describe) {
		d.MaxItems, d.PreviewChars, d.MaxTextChars, d.StaleAfter = 64, 2000, 20_000, &durationpb.Duration{Seconds: 36500 * day}
	})
	return cases
}
