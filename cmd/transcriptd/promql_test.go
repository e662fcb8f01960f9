package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// query is what an expression of PromQL names.
type query struct {
	selectors []selector
	// grouped are the labels that results are grouped or matched by.
	grouped []string
}

// selector is a metric with what its labels must be.
type selector struct {
	metric   string
	matchers []matcher
}

type matcher struct{ label, op, value string }

var (
	queryToken   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[0-9][0-9a-zA-Z.]*|[a-zA-Z_:][a-zA-Z0-9_:]*|=~|!~|!=|==|>=|<=|[^\s]`)
	queryKeyword = []string{"and", "or", "unless", "bool", "offset"}
	queryGroup   = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	identifier   = regexp.MustCompile(`^[a-zA-Z_:]`)
)

// readQuery reads the names in an expression; whether the rest of it is right is asked of promtool, in .ci/run.
func readQuery(expr string) (q query) {
	tokens := queryToken.FindAllString(expr, -1)
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	for i := 0; i < len(tokens); i++ {
		word := tokens[i]
		switch {
		case !identifier.MatchString(word), slices.Contains(queryKeyword, word):
		case slices.Contains(queryGroup, word):
			for i++; at(i) != ")" && i < len(tokens); i++ {
				if identifier.MatchString(tokens[i]) {
					q.grouped = append(q.grouped, tokens[i])
				}
			}
		case at(i+1) == "(" || at(i+1) == "by" || at(i+1) == "without": // a function, an aggregation
		default:
			s := selector{metric: word}
			if at(i+1) == "{" {
				for i += 2; at(i) != "}" && i < len(tokens); i++ {
					if identifier.MatchString(tokens[i]) {
						s.matchers = append(s.matchers, matcher{tokens[i], at(i + 1), strings.Trim(at(i+2), `"`)})
						i += 2
					}
				}
			}
			q.selectors = append(q.selectors, s)
		}
	}
	return q
}

func TestReadQuery(t *testing.T) {
	q := readQuery(`histogram_quantile(0.99, sum by (le, kind) (rate(a_bucket{x="1, {}", y=~"b|c"}[5m]))) > 1e9 and on (z) b == 0 unless c`)
	if !slices.Equal(q.grouped, []string{"le", "kind", "z"}) || len(q.selectors) != 3 {
		t.Fatalf("%+v", q)
	}
	if s := q.selectors[0]; s.metric != "a_bucket" || !slices.Equal(s.matchers, []matcher{{"x", "=", "1, {}"}, {"y", "=~", "b|c"}}) {
		t.Errorf("%+v", s)
	}
	if q.selectors[1].metric != "b" || q.selectors[2].metric != "c" || q.selectors[1].matchers != nil {
		t.Errorf("%+v", q.selectors[1:])
	}
}

// exposed are the series that a server tells: of each metric, the labels of each series.
type exposed map[string][]map[string]string

var (
	seriesLine  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	seriesLabel = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// readSeries reads what /metrics tells.
func readSeries(text string) exposed {
	all := exposed{}
	for line := range strings.Lines(text) {
		found := seriesLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		labels := map[string]string{"job": "", "instance": ""} // which Prometheus adds
		for _, label := range seriesLabel.FindAllStringSubmatch(found[2], -1) {
			labels[label[1]] = label[2]
		}
		all[found[1]] = append(all[found[1]], labels)
	}
	return all
}

// check tells what of an expression there is not.
func (e exposed) check(t *testing.T, at string, q query) {
	t.Helper()
	if len(q.selectors) == 0 {
		t.Errorf("%s: the expression names no metric", at)
	}
	known := map[string]bool{}
	for _, s := range q.selectors {
		series := e[s.metric]
		if len(series) == 0 {
			t.Errorf("%s: the server has no metric %s", at, s.metric)
			continue
		}
		for label := range series[0] {
			known[label] = true
		}
		for _, m := range s.matchers {
			if !slices.ContainsFunc(series, m.fits) {
				t.Errorf("%s: no series of %s has %s%s%q", at, s.metric, m.label, m.op, m.value)
			}
		}
	}
	for _, label := range q.grouped {
		if !known[label] {
			t.Errorf("%s: no metric of the expression has the label %s", at, label)
		}
	}
}

// fits tells whether a series can be meant: what a dashboard's variable says, and the labels that Prometheus adds, may have any value.
func (m matcher) fits(labels map[string]string) bool {
	value, there := labels[m.label]
	if !there || strings.Contains(m.value, "$") || m.label == "job" {
		return there
	}
	if m.op == "=~" {
		whole, err := regexp.Compile("^(?:" + m.value + ")$")
		return err == nil && whole.MatchString(value)
	}
	return (m.op == "=") == (value == m.value)
}
