package compaction_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The model of clear_tool_results: at each point everything is found anew, in the messages of the loop through it.

// clearings are, for each clearing of a loop shown whole, the messages that got shorter by it, by their index.
func clearings(o compaction.Options, loop []said) (steps [][]int) {
	rule, debt := o.Policy.Clear, int64(0)
	if !rule.On {
		return nil
	}
	var less []int
	for end := 1; end <= len(loop); end++ {
		through := loop[:end]
		e := couldGo(o.Policy, through, less)
		if !isPoint(through) || len(e) == 0 {
			continue
		}
		gain, suffix := int64(0), int64(0)
		for i := e[0]; i < end; i++ {
			as := asPut(loop[i]).bytes
			if slices.Contains(e, i) || slices.Contains(less, i) {
				as = asShorter(o.Policy, loop[i]).bytes
			}
			if !replaced(o, loop[i]) && !loop[i].isLeftOut() {
				suffix += as
			}
		}
		for _, i := range e {
			gain += asPut(loop[i]).bytes - asShorter(o.Policy, loop[i]).bytes
		}
		debt += int64(rule.CachedPercent) * gain
		if debt >= int64(100-rule.CachedPercent)*suffix {
			less, debt, steps = append(less, e...), 0, append(steps, e)
		}
	}
	return steps
}

// isPoint tells whether a point lies behind the last of some messages.
func isPoint(through []said) bool {
	i := len(through) - 1
	if last := through[i]; last.m.Role == roleUser && !last.aside() {
		return true
	}
	results, calls := 0, 0
	for ; i >= 0 && through[i].m.Role == roleTool; i-- {
		results++
	}
	for ; i >= 0 && len(callsOf(through[i].m)) > 0; i-- {
		calls += len(callsOf(through[i].m))
	}
	return results > 0 && results >= calls
}

// couldGo are the messages that could get shorter behind some messages of which some are shorter already, by their index.
func couldGo(p compaction.Policy, through []said, less []int) (e []int) {
	asked := 0
	for i, s := range through {
		if s.m.Role == roleAssistant {
			asked = i
		}
	}
	var seen []int
	for i, s := range through[:asked] {
		if s.m.Role == roleTool && !s.answers(p) {
			seen = append(seen, i)
		}
	}
	goes := seen[:max(0, len(seen)-p.Clear.Keep)]
	before := 0
	switch {
	case p.Clear.Keep == 0:
		before = asked
	case len(seen) > 0:
		before = seen[len(goes)]
	}
	for i, s := range through[:asked] {
		switch {
		case slices.Contains(less, i):
		case slices.Contains(goes, i) && s.line != nil && asPut(s).bytes-asLine(s).bytes >= 200,
			p.Clear.Arguments && i < before && len(callsOf(s.m)) > 0 && asShort(p, s).m != s.m:
			e = append(e, i)
		}
	}
	return e
}

// asShorter is a message that was cleared.
func asShorter(p compaction.Policy, s said) shown {
	if s.m.Role == roleTool {
		return asLine(s)
	}
	return asShort(p, s)
}

// asShort is a message whose calls have their arguments shortened; it counts two bytes more than what is left.
func asShort(p compaction.Policy, s said) shown {
	m, saves := proto.CloneOf(s.m), 0
	for _, c := range callsOf(m) {
		if c.Name != nil && slices.Contains(p.ReplyTools, *c.Name) {
			continue
		}
		if short := shortened(c.Arguments); len(c.Arguments)-len(short) >= 200 {
			saves += len(c.Arguments) - len(short)
			c.Arguments = short
		}
	}
	if saves == 0 {
		return asPut(s)
	}
	m.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
	return asMade(s, m, encodedSize(s.m)-int64(saves)+2)
}

// jsonString is a string of JSON, with the colon behind it if it is a key.
var jsonString = regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?`)

// shortened is what arguments become, whatever that saves.
func shortened(arguments string) string {
	if !json.Valid([]byte(arguments)) || strings.Trim(arguments, " \t\r\n")[0] != '{' {
		return fmt.Sprintf(`{"left_out": "%d bytes"}`, len(arguments))
	}
	return jsonString.ReplaceAllStringFunc(arguments, func(s string) string {
		if found := jsonString.FindStringSubmatch(s); found[2] == "" && len(found[1]) > 200 {
			return fmt.Sprintf(`"[%d bytes left out]"`, len(found[1]))
		}
		return s
	})
}
