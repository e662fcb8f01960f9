package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

// share counts tokens.
type share struct{ ours, theirs, all int }

func (s *share) add(other share) {
	s.ours, s.theirs, s.all = s.ours+other.ours, s.theirs+other.theirs, s.all+other.all
}

// alone measures the tokens of every rule that knows its tokens where they stand alone, each rule alike. What gitleaks' own
// detector takes as a whole of the same tokens stands beside it.
func (r *report) alone(o options) {
	rules, err := known(o.rules)
	if err != nil {
		r.notMeasured("tokens that stand alone", err)
		return
	}
	logging.Logger = logging.Logger.Level(zerolog.FatalLevel)
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		r.notMeasured("tokens that stand alone", err)
		return
	}
	var all share
	makers, missed := map[string]share{}, []string{}
	forms := 0
	for _, rule := range rules {
		s, example := measure(rule, detector)
		if s.all == 0 {
			continue
		}
		forms++
		all.add(s)
		sum := makers[rule.maker()]
		sum.add(s)
		makers[rule.maker()] = sum
		if s.ours < s.all {
			missed = append(missed, fmt.Sprintf("  %-52s %3d of %d, not %s", rule.id, s.ours, s.all, example))
		}
	}
	if o.perMaker {
		r.makers(makers, missed)
	}
	r.beside("rules of", strings.Join(append([]string{"gitleaks"}, o.rules...), ", "))
	r.beside("rules whose tokens stand alone", fmt.Sprintf("%d of %d", forms, len(rules)))
	r.beside("  of their tokens gitleaks takes", percent(all.theirs, all.all))
	r.figure("  of their tokens redaction takes", percent(all.ours, all.all), fmt.Sprintf(">= %g %%", 100*leastAlone),
		float64(all.ours) >= leastAlone*float64(all.all))
}

// measure counts the rule's tokens that are replaced as a whole, and gives one that is not.
func measure(rule *rule, detector *detect.Detector) (s share, example string) {
	for _, token := range rule.samples() {
		s.all++
		if isReplaced(token) {
			s.ours++
		} else {
			example = token
		}
		for _, f := range detector.DetectString(token) {
			if f.Secret == token {
				s.theirs++
				break
			}
		}
	}
	return s, example
}

// isReplaced says whether nothing of a token is left but the scheme of its URL.
func isReplaced(token string) bool {
	_, address, isURL := strings.Cut(token, "://")
	if !isURL {
		address = token
	}
	return redact.Text(token) == strings.TrimSuffix(token, address)+redact.Mark
}

func (r *report) makers(makers map[string]share, missed []string) {
	for _, name := range slices.Sorted(maps.Keys(makers)) {
		s := makers[name]
		r.beside(name, fmt.Sprintf("%-28s gitleaks %s", percent(s.ours, s.all), percent(s.theirs, s.all)))
	}
	r.lines = append(r.lines, "rules with tokens that are not replaced as a whole:")
	r.lines = append(r.lines, missed...)
}
