package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// What is given once: the numbers of namespaces, and in a namespace those of segments and of spawned nodes. The row that says how
// many were given may be hidden by a damaged table, and an older one be found instead.

// number returns the number of a namespace, or, where it was never written to, the next one.
func (d *changeTxn) number(namespace string) (ns uint32, found bool, err error) {
	if w, ok := d.writes[string(layout.NameKey(namespace))]; ok {
		ns, err = layout.ParseNamespace(w.Value, layout.TableNames)
		return ns, true, err
	}
	if ns, found, err = d.view.NumberOf(namespace); err != nil || found {
		return ns, found, err
	}
	ns, err = d.nextNumber()
	return ns, false, err
}

// nextNumber is the number behind the last that was given: ErrCorrupt where that one was given before.
func (d *changeTxn) nextNumber() (uint32, error) {
	var last uint32
	var err error
	if w, ok := d.writes[string(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))]; ok {
		last, err = layout.ParseNamespace(w.Value, layout.TableNumbers) // given by this batch: no key begins with a higher one
	} else {
		last, err = d.lastGiven()
	}
	if err == nil && last == layout.LastNamespace {
		err = errors.New("no namespace numbers are left")
	}
	return last + 1, err
}

// lastGiven is the last number given before this batch: ErrCorrupt where a key begins with a higher one, or where it is not the one
// that this process knows of.
func (d *changeTxn) lastGiven() (uint32, error) {
	last, err := d.view.LastNumber()
	if err != nil {
		return 0, err
	}
	if given := d.c.source.Names.Given; last != given {
		return 0, fmt.Errorf("%w: the last number given to a namespace is %d, and was %d", chainstore.ErrCorrupt, last, given)
	}
	if used, found := d.view.NextUsed(last + 1); found {
		return 0, fmt.Errorf("%w: the last number given to a namespace is %d, and number %d has rows", chainstore.ErrCorrupt, last, used)
	}
	return last, nil
}

// keepGiven notes the numbers that a durable batch gave, if it gave any.
func (b *batch) keepGiven() {
	w, ok := b.writes[string(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))]
	if !ok {
		return
	}
	names := b.c.source.Names
	names.Given, _ = layout.ParseNamespace(w.Value, layout.TableNumbers)
	prefix := string(layout.NameKey(""))
	for key, w := range b.writes {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			number, _ := layout.ParseNamespace(w.Value, layout.TableNames)
			names.Put(name, number, b.view.Seen+1)
		}
	}
}

// countersOf are the counters of a namespace that is there, as the changes so far leave them: ErrCorrupt where they cannot be read,
// or would give a segment again.
func (d *changeTxn) countersOf(ns uint32) (c layout.Counters, err error) {
	key := layout.CountersKey(ns)
	if w, ok := d.writes[string(key)]; ok {
		return layout.ParseCounters(w.Value)
	}
	if c, ok := d.c.counters[ns]; ok {
		return c, nil
	}
	value, found, err := d.view.Get(key)
	switch {
	case err != nil:
		return c, err
	case !found:
		return c, layout.Missing(layout.TableCounters)
	}
	if c, err = layout.ParseCounters(value); err == nil && d.view.SegmentAbove(ns, c.NextSegment) {
		err = fmt.Errorf("%w: the last segment given is %d, and a later one has rows", chainstore.ErrCorrupt, c.NextSegment)
	}
	if err == nil {
		d.c.keepCounters(ns, c)
	}
	return c, err
}

// keepCounters remembers the counters of a namespace, as of the last commit, until there are too many.
func (c *Committer) keepCounters(ns uint32, now layout.Counters) {
	if len(c.counters) >= snapshot.MaxNames {
		clear(c.counters)
	}
	c.counters[ns] = now
}

// forgetNamespace forgets what is kept of a namespace that was deleted.
func (c *Committer) forgetNamespace(commit uint64, number uint32) {
	delete(c.counters, number)
	delete(c.settings, number)
	c.source.Names.Forget(number, commit)
	c.source.Caches.Forget(commit, &cache.Forgotten{Namespace: number, All: true})
	c.swept = commit // places that were found before are of another namespace
}

// keepCounters remembers what a durable batch counted.
func (b *batch) keepCounters() {
	for ns := range b.entered {
		if w, ok := b.writes[string(layout.CountersKey(ns))]; ok {
			if now, err := layout.ParseCounters(w.Value); err == nil {
				b.c.keepCounters(ns, now)
			}
		}
	}
}

// SetSettings replaces the settings of a namespace; see chainstore.NamespaceKeeper. What is kept for deletes may be taken for it.
func (c *Committer) SetSettings(ctx context.Context, namespace string, change chainstore.SettingsChange) (chainstore.SettingsNow, error) {
	var now chainstore.SettingsNow
	_, err := c.submit(ctx, &Request{Namespace: namespace, Change: &chainstore.Change{}, own: func(d *changeTxn) (err error) {
		now, err = d.setSettings(namespace, change.After)
		return err
	}})
	if err != nil {
		return chainstore.SettingsNow{}, err
	}
	return now, nil
}

// setSettings enters a namespace and writes its settings, as they are to become, and the store's header where it does not tell of settings yet.
func (d *changeTxn) setSettings(namespace string, become func(chainstore.SettingsNow) (chainstore.SettingsNow, error)) (now chainstore.SettingsNow, err error) {
	if err := d.enter(namespace); err != nil {
		return now, err
	}
	row, err := d.settingsNow()
	if err != nil {
		return now, err
	}
	before := row.SettingsNow
	if row.SettingsNow, err = become(before); err != nil || row.SettingsNow == before {
		return before, err
	}
	d.settled = true
	d.set(layout.SettingsKey(d.ns), layout.AppendSettings(nil, &row))
	if d.created {
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
		d.giveNumber(namespace)
	}
	err = d.nameFeature(layout.FeatureSettings)
	if err == nil && row.Retention != "" {
		err = d.nameFeature(layout.FeatureRetention)
	}
	return row.SettingsNow, err
}

// require writes a feature into the store's header that who opens it must know, unless it is there.
func (d *changeTxn) require(feature string) error {
	if d.c.source.Header.Load().Has(feature) {
		return nil
	}
	d.settled = true // the header is read again
	return d.nameFeature(feature)
}

// nameFeature writes the name of a feature into the store's header, unless it is there.
func (d *changeTxn) nameFeature(feature string) error {
	row, _, err := d.get(layout.HeaderKey())
	if err != nil {
		return err
	}
	h, err := layout.ParseStoreHeader(row)
	if err != nil || h.Has(feature) {
		return err
	}
	h.Name(feature)
	d.set(layout.HeaderKey(), layout.AppendStoreHeader(nil, h))
	return nil
}

// settingsNow are the settings of the namespace as the changes so far leave them. A store that has none is not asked.
func (d *changeTxn) settingsNow() (s layout.Settings, err error) {
	if d.created || !d.settled && !d.c.source.Header.Load().Has(layout.FeatureSettings) {
		return s, nil
	}
	key := layout.SettingsKey(d.ns)
	if d.settled {
		if w, ok := d.writes[string(key)]; ok {
			return layout.ParseSettings(w.Value)
		}
	}
	if s, ok := d.c.settings[d.ns]; ok {
		return s, nil
	}
	value, found, err := d.view.Get(key)
	if err == nil && found {
		s, err = layout.ParseSettings(value)
	}
	if err == nil {
		d.c.keepSettings(d.ns, s)
	}
	return s, err
}

// judgeQuotas judges what the change adds to the counters: a chainstore.QuotaError.
func (d *changeTxn) judgeQuotas(namespace string, before *layout.Counters) error {
	s, err := d.settingsNow()
	if err != nil {
		return err
	}
	was, is := before.Stats(), d.counters.Stats()
	return s.Allow(namespace, &was, &is)
}

// keepSettings remembers the settings of a namespace, as of the last commit, until there are too many.
func (c *Committer) keepSettings(ns uint32, now layout.Settings) {
	if len(c.settings) >= snapshot.MaxNames {
		clear(c.settings)
	}
	c.settings[ns] = now
}

// keepSettings remembers what a durable batch set, and that the store has settings.
func (b *batch) keepSettings() {
	if !b.settled {
		return
	}
	for ns := range b.entered {
		if w, ok := b.writes[string(layout.SettingsKey(ns))]; ok {
			if now, err := layout.ParseSettings(w.Value); err == nil {
				b.c.keepSettings(ns, now)
			}
		}
	}
	if w, ok := b.writes[string(layout.HeaderKey())]; ok {
		if h, err := layout.ParseStoreHeader(w.Value); err == nil {
			b.c.source.Header.Store(h)
		}
	}
}
