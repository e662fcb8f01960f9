// Package collection collects a namespace, or every namespace of a store in turn.
package collection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/retention"
)

// Report is how far a collection is: the counts are of all namespaces so far.
type Report struct {
	chainstore.Collected
	// Namespace is the one in progress, empty at the end of a whole store; Namespaces is how many are done.
	Namespace  string
	Namespaces int64
	// Reclaiming says that space is being given back.
	Reclaiming bool
	// Expired counts aliases, those whose histories alone were left among them; Held, namespaces in which nothing was deleted, since there is a hold.
	Expired, Held int64
	// Space is that of the store at the end of a whole store.
	Space chainstore.Space
}

// Store is what is collected.
type Store interface {
	chainstore.Collector
	chainstore.Reclaimer
	Namespaces(ctx context.Context, query chainstore.NamespaceQuery) ([]string, error)
}

// Collector collects a store by the rules of its namespaces. Now tells the time by which aliases expire.
type Collector struct {
	Store  Store
	Keeper *retention.Keeper
	Now    func() time.Time
}

// page is how many names are read at once.
const page = 100

// One deletes the aliases of a namespace that have expired, and collects it unless there is a hold.
func (r *Collector) One(ctx context.Context, namespace string, c chainstore.Collection, report func(Report) error) error {
	told := Report{Namespace: namespace, Collected: chainstore.Collected{Phase: chainstore.CollectMarking}}
	_, err := r.Keeper.Expire(ctx, namespace, r.Now(), c.DryRun, func(expired int64) error {
		told.Expired = expired
		return report(told)
	})
	if err != nil {
		return err
	}
	c.May = func(ctx context.Context) error { return r.Keeper.MayCollect(ctx, namespace) }
	if err = c.May(ctx); err == nil {
		err = r.Store.Collect(ctx, namespace, c, func(now chainstore.Collected) error {
			told.Collected = now
			return report(told)
		})
	}
	if errors.Is(err, retention.ErrHeld) {
		told.Phase, told.Held = chainstore.CollectDone, 1
		return report(told)
	}
	return err
}

// Whole collects every namespace, gives space back behind that where it is told to, and tells how much is left to be given back.
func (r *Collector) Whole(ctx context.Context, c chainstore.Collection, reclaim bool, report func(Report) error) error {
	s := r.Store
	told, err := r.all(ctx, c, report)
	if err != nil {
		return err
	}
	if reclaim {
		told.Reclaiming = true
		if err := beside(ctx, func(ctx context.Context) error { return s.Reclaim(ctx) }, func() error { return report(told) }); err != nil {
			return err
		}
		told.Reclaiming = false
	}
	if told.Space, err = s.Space(ctx); err != nil {
		return err
	}
	return report(told)
}

// tellEvery is how often it is told that space is being given back.
const tellEvery = 2 * time.Second

// beside tells at once, and again and again, that something runs, which an error of tell ends.
func beside(ctx context.Context, run func(context.Context) error, tell func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- panics.Guard(func() error { return run(ctx) }) }()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		if err := tell(); err != nil {
			cancel()
			<-ran //nolint:errcheck // it was told to end
			return err
		}
		select {
		case err := <-ran:
			return err
		case <-tick.C:
		}
	}
}

// all collects every namespace that was there when it began to read their names, in the order of these. One that fails does not keep it from the
// others: its error is returned at the end, the first one of several.
func (r *Collector) all(ctx context.Context, c chainstore.Collection, report func(Report) error) (told Report, err error) {
	var (
		failed error
		query  = chainstore.NamespaceQuery{Limit: page}
	)
	for {
		names, err := r.Store.Namespaces(ctx, query)
		if err != nil {
			return told, err
		}
		for _, name := range names {
			before, unheard := told, error(nil)
			err := r.One(ctx, name, c, func(now Report) error {
				told = sum(&before, now)
				if now.Phase == chainstore.CollectDone {
					told.Namespaces++
				}
				unheard = report(told)
				return unheard
			})
			switch {
			case unheard != nil:
				return told, unheard
			case ctx.Err() != nil:
				return told, ctx.Err()
			case err != nil && failed == nil:
				failed = fmt.Errorf("namespace %q: %w", name, err)
			}
		}
		if len(names) < page {
			break
		}
		query.After = names[len(names)-1]
	}
	told.Phase, told.Namespace = chainstore.CollectDone, ""
	return told, failed
}

// sum adds what the collections before have deleted.
func sum(before *Report, now Report) Report {
	now.Nodes, now.Messages = now.Nodes+before.Nodes, now.Messages+before.Messages
	now.MessageBytes, now.States = now.MessageBytes+before.MessageBytes, now.States+before.States
	now.Expired, now.Held, now.Namespaces = now.Expired+before.Expired, now.Held+before.Held, before.Namespaces
	return now
}
