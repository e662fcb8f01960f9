package tests

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/lossy"
)

// What is killed at each step: payments at once, a bell that nobody can ask, notes, a branch, a compaction and a recall.
var (
	stepInbox = []letter{
		{"k1", "", "pay alice 5 & pay bob 7; ring; read groceries"},
		{"k2", "re-k1", "read diary; recall read_note"},
	}
	stepReplies = []reply{
		{"re-k1", "k1", "[depth:5] pay: paid 5 to alice; pay: paid 7 to bob; ring: rang; read_note: Don't forget the crème fraîche — 200 g", 5},
		{"re-k2", "k2", "[depth:9] read_note: The cat is called 小雨; recall_tool_call: Don't forget the crème fraîche — 200 g", 9},
	}
	stepPayments = []payment{{"k1/2.0", "alice", 5}, {"k1/2.1", "bob", 7}}
	stepRings    = []ring{{"k1/3.0"}}
)

const unknown = "[result unknown: the agent was interrupted while this call may have been running]"

// unasked is the replies where it is not known whether the bell rang.
func unasked() []reply {
	replies := slices.Clone(stepReplies)
	replies[0].Text = strings.Replace(replies[0].Text, "ring: rang", "ring: "+unknown, 1)
	return replies
}

// oneByOne runs the agent so that each run makes the same calls.
var oneByOne = []string{"--at-once", "1"}

// wholeRun runs the agent with nothing killed, and gives the steps of that.
func wholeRun(t *testing.T, d *daemon, command []string, namespace string) []lossy.Rule {
	t.Helper()
	w := newWorld(t, command, stepInbox...)
	p, addr := newProxy(t, d)
	w.runs(t, addr, namespace, oneByOne...)
	equal(t, "the outbox", w.outbox(t), stepReplies)
	if !compacted(t, d.client(t, namespace), client.ByAlias("msg/re-k2")) {
		t.Fatal("nothing was compacted: that step is missing")
	}
	return steps(p)
}

// The agent is killed at each step and started again. Nothing that the service acknowledged is lost, nothing whose result was put runs
// again, and of what may have run the agent decides: a payment is looked up, and of the bell it is said that nobody knows.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) {
		language := filepath.Base(t.Name())
		var lookedUp, notKnown int
		for i, step := range wholeRun(t, d, command, language) {
			namespace := fmt.Sprintf("%s-%d", language, i)
			k := &killed{T: t, world: newWorld(t, command, stepInbox...), c: d.client(t, namespace), namespace: namespace}
			k.until(d, step)
			open := k.open()
			if slices.Contains(open, "pay") && len(lines[payment](t, k.dir, "ledger.jsonl")) > 0 {
				lookedUp++
			}
			before := k.heads()
			k.spoilNotes()
			k.runs(t, d.addr, k.namespace, oneByOne...)

			if slices.Contains(open, "ring") {
				notKnown++
				equal(t, "the outbox", k.outbox(t), unasked())
				if rings := lines[ring](t, k.dir, "bell.jsonl"); len(rings) > 0 {
					equal(t, "the bell", rings, stepRings)
				}
			} else {
				equal(t, "the outbox", k.outbox(t), stepReplies)
				equal(t, "the bell", lines[ring](t, k.dir, "bell.jsonl"), stepRings)
			}
			equal(t, "the ledger", lines[payment](t, k.dir, "ledger.jsonl"), stepPayments)
			k.holds(before)
			k.eachCallHasOneResult()
			if t.Failed() {
				t.Fatalf("killed at the %s of %s, after %d of them", step.At, step.Methods, step.Skip)
			}
		}
		if lookedUp == 0 || notKnown == 0 {
			t.Errorf("killed with a payment made and its result not put: %d times; with the bell's call open: %d times", lookedUp, notKnown)
		}
	})
}

// killed is a world whose agent is killed.
type killed struct {
	*testing.T
	*world
	c         *client.Client
	namespace string
}

// until runs the agent until a step, at which it is killed.
func (k *killed) until(d *daemon, step lossy.Rule) {
	k.Helper()
	p, addr := newProxy(k.T, d, step)
	agent := k.start(k.T, addr, k.namespace, oneByOne...)
	if !held(k.T, p, agent) {
		k.Fatalf("the run ended before %s, after %d of them", step.Methods, step.Skip)
	}
	agent.kill()
}

// messages are those of a message's thread, as they were put; none where it is not there.
func (k *killed) messages(id string) []*transcriptv1.Message {
	k.Helper()
	if k.heads()[id] == "" {
		return nil
	}
	all, err := full(k.T, k.c, client.ByAlias(client.MessageAlias(id))).Messages()
	if err != nil {
		k.Fatal(err)
	}
	return all
}

// heads are where the threads have come to, by the ids of the messages.
func (k *killed) heads() map[string]string {
	k.Helper()
	heads := map[string]string{}
	for _, in := range stepInbox {
		found, err := k.c.Resolve(context.Background(), client.MessageAlias(in.ID))
		if err == nil {
			heads[in.ID] = found.GetAlias().GetNodeId()
		}
	}
	return heads
}

// holds checks that threads go on from where they were.
func (k *killed) holds(heads map[string]string) {
	k.Helper()
	for id, head := range heads {
		for at := client.ByAlias(client.MessageAlias(id)); ; {
			info, err := k.c.NodeInfo(context.Background(), at)
			if err != nil {
				k.Errorf("%s: %s was acknowledged, and is not in its chain: %v", id, head, err)
				break
			}
			if info.GetInfo().GetNodeId() == head {
				break
			}
			at = client.ByID(info.GetInfo().GetEnvelope().GetParentId())
		}
	}
}

// open are the names of the calls without a result.
func (k *killed) open() []string {
	k.Helper()
	calls := map[string]string{}
	for _, in := range stepInbox {
		for _, m := range k.messages(in.ID) {
			for _, call := range client.Calls(m) {
				calls[call.GetId()] = call.GetName()
			}
			delete(calls, m.GetToolCallId())
		}
	}
	var names []string
	for _, name := range calls {
		names = append(names, name)
	}
	return names
}

// spoilNotes writes something else into the notes of which a result was put: who reads them again says it.
func (k *killed) spoilNotes() {
	k.Helper()
	for _, in := range stepInbox {
		for _, m := range k.messages(in.ID) {
			text := client.Text(m)
			for _, name := range []string{"groceries", "diary"} {
				note, err := os.ReadFile(filepath.Join(k.dir, "notes", name+".txt"))
				if err != nil {
					k.Fatal(err)
				}
				if m.GetRole() == transcriptv1.Role_ROLE_TOOL && text == string(note) {
					k.write(k.T, filepath.Join("notes", name+".txt"), []byte("It was read again.\n"))
				}
			}
		}
	}
}

// eachCallHasOneResult checks that no call was made or answered twice.
func (k *killed) eachCallHasOneResult() {
	k.Helper()
	calls, results := map[string]int{}, map[string]int{}
	for _, m := range k.messages("k2") { // its chain has k1's
		for _, call := range client.Calls(m) {
			calls[call.GetId()]++
		}
		if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
			results[m.GetToolCallId()]++
		}
	}
	if len(calls) != 6 || len(results) != 6 {
		k.Errorf("%d calls and %d results", len(calls), len(results))
	}
	for id := range calls {
		if calls[id] != 1 || results[id] != 1 {
			k.Errorf("the call %s is there %d times, its result %d times", id, calls[id], results[id])
		}
	}
}

// The agent works on several messages at once, and is killed again and again, each time after a call more.
func TestAgentKilledOften(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) { killedOften(t, d, command) })
}

// What an agent in one language began, one in another goes on with.
func TestLanguagesTakeTurns(t *testing.T) {
	t.Parallel()
	var all [][]string
	eachLanguage(t, func(_ *testing.T, command []string) { all = append(all, command) })
	if len(all) < 2 {
		t.Skip("NOT DONE: only one language is here")
	}
	killedOften(t, startDaemon(t), all...)
}

// killedOften kills the agent until a run ends by itself. Each run is by the next of some agents.
func killedOften(t *testing.T, d *daemon, commands ...[]string) {
	t.Helper()
	const runs = 100
	w := newWorld(t, commands[0], sampleInbox(t)...)
	namespace := strings.ToLower(filepath.Base(t.Name()))
	kills := 0
	for ; kills < runs; kills++ {
		w.command = commands[kills%len(commands)]
		p, addr := newProxy(t, d, lossy.Rule{Skip: 5 + kills, At: lossy.Reply, Hold: true})
		agent := w.start(t, addr, namespace)
		if !held(t, p, agent) {
			if <-agent.ended; agent.err != nil {
				t.Fatalf("%v\n%s", agent.err, &agent.errors)
			}
			break
		}
		agent.kill()
	}
	if kills < 3 || kills == runs {
		t.Fatalf("killed %d times", kills)
	}
	equal(t, "the ledger", sorted(lines[payment](t, w.dir, "ledger.jsonl")), samplePayments)
	if rings := lines[ring](t, w.dir, "bell.jsonl"); len(rings) > 0 {
		equal(t, "the bell", rings, sampleRings)
	}
	for i, out := range w.outbox(t) {
		out.Text = strings.Replace(out.Text, unknown, "rang", 1)
		if out != sampleReplies[i] {
			t.Errorf("%v\nwant\n%v", out, sampleReplies[i])
		}
	}
}

func sorted(payments []payment) []payment {
	slices.SortFunc(payments, func(a, b payment) int { return strings.Compare(a.Key, b.Key) })
	return payments
}

// The service is killed at each step, and started again on its folder while the agent works. The agent does not notice.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	eachLanguage(t, func(t *testing.T, command []string) {
		d := startDaemon(t)
		language := filepath.Base(t.Name())
		for i, step := range wholeRun(t, d, command, language) {
			w := newWorld(t, command, stepInbox...)
			p, addr := newProxy(t, d, step)
			agent := w.start(t, addr, fmt.Sprintf("%s-%d", language, i), oneByOne...)
			if !held(t, p, agent) {
				t.Fatalf("the run ended before %s, after %d of them", step.Methods, step.Skip)
			}
			d.kill()
			p.Release()
			d.start()
			if <-agent.ended; agent.err != nil {
				t.Fatalf("%v\n%s", agent.err, &agent.errors)
			}
			equal(t, "the outbox", w.outbox(t), stepReplies)
			equal(t, "the ledger", lines[payment](t, w.dir, "ledger.jsonl"), stepPayments)
			equal(t, "the bell", lines[ring](t, w.dir, "bell.jsonl"), stepRings)
			if t.Failed() {
				t.Fatalf("killed at the %s of %s, after %d of them", step.At, step.Methods, step.Skip)
			}
		}
	})
}
