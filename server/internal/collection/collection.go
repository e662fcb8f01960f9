// Package collection collects a namespace, or every namespace of a store in turn.
package collection

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Report is how far a collection is: the counts are of all namespaces so far.
type Report struct {
	chainstore.Collected
	// Namespace is the one in progress, empty at the end of a whole store; Namespaces is how many are done.
	Namespace  string
	Namespaces int64
}

// Store is what is collected.
type Store interface {
	chainstore.Collector
	Namespaces(ctx context.Context, query chainstore.NamespaceQuery) ([]string, error)
}

// page is how many names are read at once.
const page = 100

// One collects a namespace.
func One(ctx context.Context, s Store, namespace string, c chainstore.Collection, report func(Report) error) error {
	return s.Collect(ctx, namespace, c, func(now chainstore.Collected) error { return report(Report{Collected: now, Namespace: namespace}) })
}

// All collects every namespace that was there when it began to read their names, in the order of these. One that fails does not keep it from the
// others: its error is returned at the end, the first one of several.
func All(ctx context.Context, s Store, c chainstore.Collection, report func(Report) error) error {
	var (
		told   Report
		failed error
		query  = chainstore.NamespaceQuery{Limit: page}
	)
	for {
		names, err := s.Namespaces(ctx, query)
		if err != nil {
			return err
		}
		for _, name := range names {
			before, unheard := told.Collected, error(nil)
			err := s.Collect(ctx, name, c, func(now chainstore.Collected) error {
				told.Namespace, told.Collected = name, sum(before, now)
				if now.Phase == chainstore.CollectDone {
					told.Namespaces++
				}
				unheard = report(told)
				return unheard
			})
			switch {
			case unheard != nil:
				return unheard
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && failed == nil:
				failed = fmt.Errorf("namespace %q: %w", name, err)
			}
		}
		if len(names) < page {
			break
		}
		query.After = names[len(names)-1]
	}
	if failed != nil {
		return failed
	}
	told.Phase, told.Namespace = chainstore.CollectDone, ""
	return report(told)
}

// sum adds what the collections before have deleted.
func sum(before, now chainstore.Collected) chainstore.Collected {
	now.Nodes, now.Messages = now.Nodes+before.Nodes, now.Messages+before.Messages
	now.MessageBytes, now.States = now.MessageBytes+before.MessageBytes, now.States+before.States
	return now
}
