package promises

// clearMutations are wrong rules of clear_tool_results, as mutations are.
var clearMutations = []mutation{
	{
		"a stub answers no call of its group", "compaction/planner.go",
		"stubSize(c), stubSize(c), 0)", "stubSize(c), stubSize(c), 1)",
	},
	{
		"a point lies behind each result, whatever is open", "compaction/clear.go",
		"max(0, c.open-1); c.open > 0 {", "max(0, c.open-1); c.open < 0 {",
	},
	{
		"the debt stays when results are cleared", "compaction/clear.go",
		"\tc.debt = 0\n", "",
	},
	{
		"the debt is that of one point", "compaction/clear.go",
		"c.debt += int64(rule", "c.debt = int64(rule",
	},
	{
		"the debt goes from loop to loop", "compaction/clear.go",
		"results: results}", "results: results, debt: c.debt}",
	},
	{
		"what has to be sent anew counts as it was put", "compaction/clear.go",
		".before - saved.bytes", ".before",
	},
	{
		"what has to be sent anew counts from the loop's first message", "compaction/clear.go",
		"c.total - c.candidates.at(first).before -", "c.total -",
	},
	{
		"results that no model has seen push out those kept", "compaction/clear.go",
		"max(0, c.seen-keep)", "max(0, c.results.end()-keep)",
	},
	{
		"where none is kept, results that no model has seen are cleared", "compaction/clear.go",
		"return c.spoken", "return c.candidates.end()",
	},
	{
		"the last of what could go stays", "compaction/clear.go",
		"return *c.results.at(oldest)", "return max(0, *c.results.at(oldest)-1)",
	},
	{
		"answers count among the results that are kept", "compaction/clear.go",
		"case i.kind() == result && rule.Keep > 0:", "case i.isResult() && rule.Keep > 0:",
	},
	{
		"a line that saves 150 bytes is worth it", "compaction/clear.go",
		"saves.bytes >= runloop.MinSaving", "saves.bytes >= runloop.MinSaving-50",
	},
	{
		"what was cleared is cleared again", "compaction/clear.go",
		"\tc.candidates.forget(through)\n", "",
	},
	{
		"before any result is seen calls are shortened", "compaction/clear.go",
		"\tcase c.seen == 0:\n\t\treturn 0\n", "\tcase c.seen == 0:\n\t\treturn c.spoken\n",
	},
	{
		"marks that save little are worth it", "compaction/runloop/thin.go",
		"if saves < MinSaving {", "if saves <= 0 {",
	},
	{
		"a string of 200 bytes gets a mark", "compaction/runloop/thin.go",
		"end-at-1 > maxValue", "end-at-1 >= maxValue",
	},
	{
		"long keys get marks", "compaction/runloop/thin.go",
		" && !isKey(arguments[end+1:])", "",
	},
	{
		"the first quote ends a string, escaped or not", "compaction/runloop/thin.go",
		"\t\tif s[at] == '\\\\' {", "\t\tif s[at] == 0 {",
	},
	{
		"calls that answer get marks", "compaction/cut.go",
		"at < 0 || c.arguments.answersBy(call)", "at < 0",
	},
	{
		"a message with marks has no content_form", "compaction/cut.go",
		"\t\t\tif c.arguments != nil {", "\t\t\tif c.arguments == nil {",
	},
	{
		"marks of calls that answer count as saved", "compaction/item.go",
		"k >= len(m.Names) || !p.AnswersBy(m.Names[k])", "k >= 0",
	},
	{
		"tool_trace keeps arguments whole", "compaction/item.go",
		"return orShorter(i, Shorten)", "return Keep",
	},
	{
		"for max_bytes cleared results count whole", "compaction/window.go",
		"plus(full).minus(saved)", "plus(full)",
	},
	{
		"for max_bytes a message that loses calls counts with marks", "compaction/window.go",
		"last.condensed.plus(full)", "last.condensed.plus(short)",
	},
	{
		"the percent of cached bytes is never read", "server/internal/wire/policy.go",
		"\t\tto.CachedPercent = int(*c.CachedPercent)\n", "",
	},
	{
		"without keep a preset clears on", "server/internal/wire/policy.go",
		"\t\t*to = compaction.Clear{}\n", "",
	},
	{
		"frugal keeps arguments", "compaction/policy.go",
		"Keep: 2, Arguments: true", "Keep: 2",
	},
	{
		"an etag does not know of arguments", "server/internal/chainview/conversation.go",
		", int64(boolToInt(p.Clear.Arguments)),", ",",
	},
	{
		"an etag does not know of cached_percent", "server/internal/chainview/conversation.go",
		"\t\tint64(p.Clear.CachedPercent),\n", "",
	},
}
