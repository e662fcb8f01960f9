package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestPresets: --preset names every preset, and what is given beside it wins.
func TestPresets(t *testing.T) {
	s := newStack(t)
	s.putJSON("chat/1", `[`+userJSON+`,`+replyJSON+`]`)
	none, loops := &transcriptv1.ClearToolResults{}, int32(10)
	clear := func(keep int32, arguments bool, cached int32) *transcriptv1.ClearToolResults {
		return &transcriptv1.ClearToolResults{Keep: &keep, ClearArguments: &arguments, CachedPercent: &cached}
	}
	named := map[string]bool{}
	for _, test := range []struct {
		args  string
		loops int32
		clear *transcriptv1.ClearToolResults
	}{
		{"", loops, none}, {"--preset chat", loops, none}, {"--preset unbounded", 0, none}, {"--preset coding", loops, clear(5, false, 10)},
		{"--preset long", loops, clear(10, false, 10)}, {"--preset frugal", loops, clear(2, true, 10)},
		{"--preset unbounded --max-run-loops 4", 4, none}, {"--preset coding --max-run-loops 0", 0, clear(5, false, 10)},
		{"--keep-tool-results 3", loops, clear(3, false, 10)}, {"--preset frugal --keep-tool-results 3", loops, clear(3, false, 10)},
		{"--preset long --keep-tool-results 0 --shorten-arguments --cached-percent 25", loops, clear(0, true, 25)},
	} {
		args := strings.Fields(test.args)
		if len(args) > 0 && args[0] == "--preset" {
			named["PRESET_"+strings.ToUpper(args[1])] = true
		}
		var res transcriptv1.CompactResponse
		out := s.must(append([]string{"compact", "chat/1", "--dry-run", "--output", "json"}, args...)...)
		if err := protojson.Unmarshal([]byte(out), &res); err != nil {
			t.Fatal(err)
		}
		if p := res.GetReport().GetPolicy(); p.GetMaxRunLoops() != test.loops || !proto.Equal(p.GetClearToolResults(), test.clear) {
			t.Errorf("%q is %v", test.args, p)
		}
	}
	for _, name := range transcriptv1.Preset_name {
		if name != "PRESET_UNSPECIFIED" && !named[name] {
			t.Errorf("no --preset for %s", name)
		}
	}
}
