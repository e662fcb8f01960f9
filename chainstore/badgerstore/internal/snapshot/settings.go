package snapshot

import "github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"

// Settings are the namespace's; zero where they were never set.
func (v *Snapshot) Settings() (s layout.Settings, err error) {
	if !v.s.Header.Load().Has(layout.FeatureSettings) {
		return s, nil
	}
	value, found, err := v.Get(layout.SettingsKey(v.Namespace))
	if err != nil || !found {
		return s, err
	}
	return layout.ParseSettings(value)
}
