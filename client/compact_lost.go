package client

import (
	"bytes"
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// compacted looks for the node of a compaction that may have taken place, by its salt, in the chain that the head's alias has now; nil
// where it is not there, or has no salt.
func (c *Client) compacted(ctx context.Context, req *transcriptv1.CompactRequest) (*transcriptv1.CompactResponse, error) {
	if req.DryRun || req.Head.GetAlias() == "" || len(req.Salt) == 0 {
		return nil, nil
	}
	chain, err := c.Describe(ctx, Ref{req.Head}, &transcriptv1.DescribeRequest{MaxItems: 64})
	if err != nil {
		return nil, err
	}
	for _, one := range chain.GetLineage().GetCompactions() {
		if req.ThroughId != "" && one.CoversThroughId != req.ThroughId {
			continue
		}
		node, err := c.NodeInfo(ctx, ByID(one.NodeId))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(node.Info.GetEnvelope().GetSalt(), req.Salt) {
			return c.compactedAs(ctx, req, node)
		}
	}
	return nil, nil
}

// compactedAs is the reply that was lost.
func (c *Client) compactedAs(
	ctx context.Context, req *transcriptv1.CompactRequest, node *transcriptv1.GetNodeResponse,
) (*transcriptv1.CompactResponse, error) {
	envelope := node.Info.Envelope
	dry := Compaction{
		Through: envelope.CoversThroughId, Policy: req.Policy, Summary: req.Summary, SummaryOnly: req.SummaryOnly, DryRun: true,
	}
	res, err := c.Compact(ctx, ByID(envelope.ParentId), dry)
	if err != nil {
		return nil, err
	}
	res.Written, res.NotWrittenReason = true, transcriptv1.NotWrittenReason_NOT_WRITTEN_REASON_UNSPECIFIED
	res.NodeId, res.Counters = node.Info.NodeId, node.Counters
	res.Aliases = []*transcriptv1.AliasResult{{Name: req.Head.GetAlias(), Changed: true, PreviousId: envelope.ParentId}}
	for _, a := range req.Aliases {
		res.Aliases = append(res.Aliases, &transcriptv1.AliasResult{Name: a.Name, Changed: true})
	}
	return res, nil
}

// summaryOf is the text of the summary in a view or in a compaction's messages; empty without one.
func summaryOf(messages []*transcriptv1.Message) string {
	for _, m := range messages {
		if m.Origin == transcriptv1.Origin_ORIGIN_SUMMARY {
			return Text(m)
		}
	}
	return ""
}
