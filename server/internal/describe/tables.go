package describe

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// tables tells of the tools called and the variables set on the path.
func (d *description) tables(ctx context.Context, reply *transcriptv1.DescribeResponse) error {
	h := d.head()
	if !h.Tools.Present && !h.Variables.Present {
		return nil
	}
	tables, err := d.chain.Tables(ctx)
	if err != nil {
		return err
	}
	d.tools(&tables, reply)
	shown, more := d.chosenVariables(tables.Variables)
	reply.MoreVariables = int32(more)
	d.variables(reply, shown)
	return nil
}

// tools lists tools in the order of their first call, and counts the calls of those that it does not list.
func (d *description) tools(tables *chainstore.Tables, reply *transcriptv1.DescribeResponse) {
	others := tables.OtherCalls
	for i, tool := range tables.Tools {
		if i >= d.items {
			reply.MoreTools++
			others += tool.Calls
			continue
		}
		reply.Tools = append(reply.Tools, &transcriptv1.ToolUse{Name: wire.OptionalText(tool.Name), Calls: wire.Count(tool.Calls)})
	}
	reply.OtherCalls = wire.Count(others)
}
