package commit

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// SetSettings replaces the settings of a namespace; see chainstore.NamespaceKeeper. What is kept for deletes may be taken for it.
func (c *Committer) SetSettings(ctx context.Context, namespace string, change chainstore.SettingsChange) (chainstore.SettingsNow, error) {
	r := &Request{Namespace: namespace, Change: &chainstore.Change{}, settings: &change}
	if _, err := c.submit(ctx, r); err != nil {
		return chainstore.SettingsNow{}, err
	}
	return r.set, nil
}

// setSettings writes the namespace's settings, and the store's header where it does not tell of settings yet.
func (d *changeTxn) setSettings(r *Request) error {
	if err := d.enter(r.Namespace); err != nil {
		return err
	}
	row, err := d.settingsNow()
	if err != nil {
		return err
	}
	before := row.SettingsNow
	if row.SettingsNow, err = r.settings.After(before); err != nil {
		return err
	}
	r.set = row.SettingsNow
	if row.SettingsNow == before {
		return nil
	}
	d.settled = true
	d.set(layout.SettingsKey(d.ns), layout.AppendSettings(nil, &row))
	if d.created {
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
		d.giveNumber(r.Namespace)
	}
	return d.nameFeature(layout.FeatureSettings)
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
	h.Optional = append(h.Optional, feature)
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
