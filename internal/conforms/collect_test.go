package conforms

import (
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// asks breaks collections by what is asked of the server.
func asks(how func(q *transcriptv1.CollectGarbageRequest)) func() breaks {
	return func() breaks { return breaks{collect: how} }
}

// reports breaks them by what the server tells.
func reports(how func(r *transcriptv1.CollectGarbageResponse)) func() breaks {
	return func() breaks { return breaks{reported: how} }
}

// forgets breaks DeleteAlias and DeleteAliases by whether they delete histories.
func forgets(history bool) func() breaks {
	one := on(func(c *call, q *transcriptv1.DeleteAliasRequest, _ *transcriptv1.DeleteAliasResponse) error {
		q.ForgetHistory = history
		return c.send(q)
	})()
	many := on(func(c *call, q *transcriptv1.DeleteAliasesRequest, _ *transcriptv1.DeleteAliasesResponse) error {
		q.ForgetHistory = history
		return c.send(q)
	})()
	return func() breaks {
		return breaks{call: func(c *call) error {
			if c.method == "DeleteAlias" {
				return one.call(c)
			}
			return many.call(c)
		}}
	}
}

// miscounts breaks the counts of nodes: what went is counted still.
func miscounts() breaks {
	calls := int64(0)
	return on(func(c *call, q *transcriptv1.NamespaceStatsRequest, r *transcriptv1.NamespaceStatsResponse) error {
		err := c.send(q)
		r.Nodes += calls
		calls++
		return err
	})()
}

func collectViolations() []violation {
	return []violation{
		{"a dry run deletes", "collect-garbage/keeps", asks(func(q *transcriptv1.CollectGarbageRequest) { q.DryRun = false })},
		{"a dry run counts nothing", "collect-garbage/keeps", reports(func(r *transcriptv1.CollectGarbageResponse) { r.Nodes = 0 })},
		{"the grace keeps nothing", "collect-garbage/keeps", asks(func(q *transcriptv1.CollectGarbageRequest) { q.Grace = durationpb.New(0) })},
		{"a collection deletes nothing", "collect-garbage/keeps", asks(func(q *transcriptv1.CollectGarbageRequest) { q.DryRun = true })},
		{"no report is the last", "collect-garbage/keeps", reports(func(r *transcriptv1.CollectGarbageResponse) { r.Done = false })},
		{"a progress is no part", "collect-garbage/keeps", reports(func(r *transcriptv1.CollectGarbageResponse) { r.Progress *= 100 })},
		{"what is reported as deleted is there", "collect-garbage/gone", asks(func(q *transcriptv1.CollectGarbageRequest) { q.DryRun = true })},
		{"the bytes of what goes are not told", "collect-garbage/gone", reports(func(r *transcriptv1.CollectGarbageResponse) { r.MessageBytes = 0 })},
		{"what went is counted still", "collect-garbage/gone", miscounts},
		{"a negative rate is none", "collect-garbage/refused", asks(func(q *transcriptv1.CollectGarbageRequest) {
			q.MaxNodesPerSecond = max(q.MaxNodesPerSecond, 0)
		})},
		{"a grace of parts of a millisecond is taken", "collect-garbage/refused", asks(func(q *transcriptv1.CollectGarbageRequest) {
			if q.Grace.GetNanos() == 1 {
				q.Grace = nil
			}
		})},
		{"the space of a namespace is reclaimed", "collect-garbage/refused", asks(func(q *transcriptv1.CollectGarbageRequest) { q.ReclaimSpace = false })},
		{"a forgotten history stays", "collect-garbage/forgets", forgets(false)},
		{"the past of a deleted alias keeps nothing", "collect-garbage/forgets", forgets(true)},
		{"an alias is deleted without its history", "delete-alias/forgets", forgets(false)},
		{"aliases are deleted without their histories", "delete-aliases/forgets", forgets(false)},
		{"a token goes on with another deletion", "delete-aliases/forgets", forgets(true)},
	}
}
