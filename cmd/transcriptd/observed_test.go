package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/internal/identity"
)

const (
	alertsFile    = "../../deploy/prometheus/alerts.yml"
	alertTests    = "../../deploy/prometheus/alerts_test.yml"
	dashboardFile = "../../deploy/grafana/dashboard.json"
	pagesOnline   = "https://github.com/transcriptd/transcriptd/blob/main/docs/"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// everyMetric is what a server tells that has all that has metrics: a store on disk, TLS, principals, of which one has called too often, an
// audit, checks and collections of its own, and HTTP, where one request was refused.
func everyMetric(t *testing.T) exposed {
	t.Helper()
	dir, token := t.TempDir(), identity.NewToken()
	principals := filepath.Join(dir, "principals.json")
	if err := os.WriteFile(principals, fmt.Appendf(nil, `{"principals":[{"name":"watch","grants":[{"roles":["operate"],"namespaces":"*"}],
		"certificates":["CN=watch"],"tokens":[{"id":"1","sha256":"%x"}],"rate":{"calls_per_second":1e-9,"burst":1}}]}`, identity.HashToken(token)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSecured(t, badgerFlag(filepath.Join(dir, "store")), "--principals="+principals, "--audit="+filepath.Join(dir, "audit"), "--http-listen=127.0.0.1:0", "--verify-every=168h", "--collect-every=24h")
	client := s.client(t, s.ca.Issue(t, "watch", time.Hour))
	for _, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		if err := ask(t, client); status.Code(err) != want {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	if err := ask(t, s.client(t, s.ca.Issue(t, "nobody", time.Hour))); status.Code(err) != codes.Unauthenticated {
		t.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: s.config(t, s.ca.Issue(t, "watch", time.Hour))}}
	defer web.CloseIdleConnections()
	request, err := http.NewRequestWithContext(callContext(t), http.MethodGet, s.http+"/v1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "other.example"
	if response, err := web.Do(request); err != nil || response.Body.Close() != nil || response.StatusCode < 400 {
		t.Fatalf("%v, %v", response, err)
	}
	code, text := asks(t, web, s.admin+"/metrics", token)
	if code != http.StatusOK {
		t.Fatal(code)
	}
	series := readSeries(text)
	series["up"] = []map[string]string{{"job": "", "instance": ""}} // which Prometheus makes itself
	return series
}

// alert is a rule of alerts.yml, whose expressions have a line each.
type alert struct{ name, expr, severity, summary, runbook string }

var alertRule = regexp.MustCompile(`(?m)^      - alert: (\w+)
        expr: '([^'\n]*)'
(?:        for: \w+
)?        labels:
          severity: (\w+)
        annotations:
          summary: '([^'\n]*)'
          runbook_url: (\S+)$`)

func readAlerts(t *testing.T) (all []alert) {
	t.Helper()
	text := readText(t, alertsFile)
	for _, found := range alertRule.FindAllStringSubmatch(text, -1) {
		all = append(all, alert{found[1], found[2], found[3], found[4], found[5]})
	}
	if n := strings.Count(text, "alert:"); n != len(all) || n == 0 {
		t.Fatalf("%s has %d alerts, of which %d have the form that is read here", alertsFile, n, len(all))
	}
	return all
}

type dashboard struct {
	Templating struct {
		List []struct{ Name, Type string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(readText(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

var namedLabel = regexp.MustCompile(`\{\{ *(?:\$labels\.)?(\w+) *\}\}`)

// shows tells which labels of a text results do not have: those that they are grouped by, or else that their metric has.
func (e exposed) shows(t *testing.T, at, text string, q query) {
	t.Helper()
	for _, label := range namedLabel.FindAllStringSubmatch(text, -1) {
		there := slices.Contains(q.grouped, label[1])
		if len(q.grouped) == 0 && len(q.selectors) > 0 {
			_, there = e[q.selectors[0].metric][0][label[1]]
		}
		if !there {
			t.Errorf("%s: results have no label %s", at, label[1])
		}
	}
}

// TestMetricsOfAlertsAndDashboard: the alerts and the dashboard name metrics, labels and values of labels that the server has.
func TestMetricsOfAlertsAndDashboard(t *testing.T) {
	series := everyMetric(t)
	for _, a := range readAlerts(t) {
		q := readQuery(a.expr)
		series.check(t, a.name, q)
		series.shows(t, a.name, a.summary, q)
	}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			at := p.Title + ", " + target.RefID
			q := readQuery(target.Expr)
			series.check(t, at, q)
			series.shows(t, at, target.LegendFormat, q)
			for _, s := range q.selectors {
				if !slices.Contains(s.matchers, matcher{"instance", "=~", "$instance"}) || !slices.Contains(s.matchers, matcher{"job", "=", "$job"}) {
					t.Errorf("%s: %s is not that of the chosen job and instances", at, s.metric)
				}
			}
		}
	}
}

// TestAlerts: each alert has a row in docs/operations.md, a section there that says more, and a test.
func TestAlerts(t *testing.T) {
	page, tests := readText(t, operationsPage), readText(t, alertTests)
	_, table, _ := strings.Cut(page, "\n### Alerts\n")
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	named := map[string]bool{}
	for _, a := range readAlerts(t) {
		if named[a.name] {
			t.Errorf("there are two alerts %s", a.name)
		}
		named[a.name] = true
		if !slices.Contains([]string{"critical", "warning"}, a.severity) {
			t.Errorf("%s: severity %s", a.name, a.severity)
		}
		anchor, ours := strings.CutPrefix(a.runbook, pagesOnline+"operations.md#")
		if !ours || !anchors[anchor] {
			t.Errorf("%s: docs/operations.md has no section %s", a.name, a.runbook)
		}
		_, row, _ := strings.Cut(table, "\n| `"+a.name+"` |")
		if row, _, _ = strings.Cut(row, "\n"); !strings.HasPrefix(row, " "+a.severity+" |") || !strings.Contains(row, "](#"+anchor+")") {
			t.Errorf("%s has no row below Alerts in docs/operations.md that says %s and links to #%s", a.name, a.severity, anchor)
		}
		if !strings.Contains(tests, `alertname="`+a.name+`"`) {
			t.Errorf("%s has no test in %s", a.name, alertTests)
		}
	}
	for _, row := range regexp.MustCompile("\\| `(Transcriptd\\w+)` \\|").FindAllStringSubmatch(page, -1) {
		if !named[row[1]] {
			t.Errorf("docs/operations.md has a row for %s, which is no alert", row[1])
		}
	}
}

// TestDashboard: panels have a title, say what they show, and lie beside each other.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	if v := d.Templating.List; len(v) != 3 || v[0].Name != "datasource" || v[1].Name != "job" || v[2].Name != "instance" {
		t.Errorf("variables: %v", v)
	}
	type cell struct{ x, y int }
	ids, taken := map[int]bool{}, map[cell]string{}
	for _, p := range d.Panels {
		if p.Title == "" || ids[p.ID] || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %d %q has no title, the id of another, no description or nothing to show", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[cell{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies on %q, or beyond the edge", p.Title, other)
				}
				taken[cell{x, y}] = p.Title
			}
		}
	}
}
