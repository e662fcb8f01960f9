package client_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestPresets: every preset has a function, which gives it alone.
func TestPresets(t *testing.T) {
	named := map[transcriptv1.Preset]bool{transcriptv1.Preset_PRESET_UNSPECIFIED: true}
	for want, policy := range map[string]*transcriptv1.Policy{
		"PRESET_CHAT": client.Chat(), "PRESET_CODING": client.Coding(), "PRESET_LONG": client.Long(), "PRESET_FRUGAL": client.Frugal(),
		"PRESET_UNBOUNDED": client.Unbounded(),
	} {
		if got := policy.String(); got != "preset:"+want {
			t.Errorf("%s, want %s", got, want)
		}
		named[policy.GetPreset()] = true
	}
	if len(named) != len(transcriptv1.Preset_name) {
		t.Errorf("there are functions for %v of %v", named, transcriptv1.Preset_name)
	}
}
