package conformance

import (
	"errors"
	"io"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func adminChecks() []Check {
	return []Check{
		{ID: "stats/empty-namespace", Promise: "a namespace never written to counts zeros", run: statsEmpty},
		{ID: "stats/counts", Promise: "what is put is counted: nodes, messages, aliases, roots, forks", last: true, run: statsCount},
		{ID: "verify/clean-at-the-end", Promise: "Verify of the kit's namespaces finds no problem in all that the checks left", last: true, run: verifyClean},
		{ID: "verify/ends-with-done", Promise: "the last report, and no other, says done", last: true, run: verifyDone},
	}
}

func (p *probe) stats(namespace string) *transcriptv1.StatsResponse {
	r, err := p.admin.Stats(p.ctx, &transcriptv1.StatsRequest{Namespace: namespace})
	p.ok(err, "Stats")
	return r
}

func statsEmpty(p *probe) {
	r := p.stats(p.other + "-never")
	is(p, "nodes, messages, aliases, roots and forks", []int64{r.GetNodes(), r.GetMessages(), r.GetAliases(), r.GetRoots(), r.GetForks()}, []int64{0, 0, 0, 0, 0})
	p.holds(r.GetServerVersion() != "" && r.GetEngine() != "", "a version and an engine")
}

func statsCount(p *probe) {
	before := p.stats(p.namespace)
	c := p.chain("u a u")
	p.node(c.ids[0], p.user())
	p.point(p.name("x"), c.head())
	after := p.stats(p.namespace)
	is(p, "nodes", after.GetNodes()-before.GetNodes(), 4)
	is(p, "messages", after.GetMessages()-before.GetMessages(), 4)
	is(p, "aliases", after.GetAliases()-before.GetAliases(), 1)
	is(p, "roots", after.GetRoots()-before.GetRoots(), 1)
	is(p, "forks", after.GetForks()-before.GetForks(), 1)
}

// verify reads all reports of Verify of a namespace.
func (p *probe) verify(namespace string) []*transcriptv1.VerifyResponse {
	s, err := p.admin.Verify(p.ctx, &transcriptv1.VerifyRequest{Namespace: namespace})
	p.ok(err, "Verify")
	return readAll(p, s)
}

func readAll(p *probe, s grpc.ServerStreamingClient[transcriptv1.VerifyResponse]) []*transcriptv1.VerifyResponse {
	var all []*transcriptv1.VerifyResponse
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			p.holds(len(all) > 0, "a report of Verify, got none")
			return all
		}
		p.ok(err, "Verify")
		all = append(all, r)
	}
}

func verifyClean(p *probe) {
	p.node("", p.user())
	for _, namespace := range []string{p.namespace, p.other} {
		reports := p.verify(namespace)
		last := reports[len(reports)-1]
		is(p, "problems_found in "+namespace, last.GetProblemsFound(), 0)
		p.holds(namespace == p.other || last.GetNodesChecked() > 0, "nodes to be checked, got none")
	}
}

func verifyDone(p *probe) {
	reports := p.verify(p.namespace)
	for i, r := range reports {
		is(p, "done of a report", r.GetDone(), i == len(reports)-1)
	}
}
