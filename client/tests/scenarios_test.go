package client_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/lossy"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// scenario is one of proto/testdata/scenarios.json, whose README says what each member means.
type scenario struct {
	Name          string             `json:"name"`
	Verify        bool               `json:"verify"`
	Deterministic bool               `json:"deterministic"`
	Deadlines     map[string]float64 `json:"deadlines"`
	Steps         []step             `json:"steps"`
}

// step is a step of a scenario: what is common to all verbs, and the verb's own arguments.
type step struct {
	stepFrame
	args map[string]any
}

type stepFrame struct {
	Do      string            `json:"do"`
	By      string            `json:"by"`
	Lose    []lossy.Rule      `json:"lose"`
	During  []step            `json:"during"`
	Sent    map[string]int    `json:"sent"`
	Expect  map[string]any    `json:"expect"`
	Differs map[string]any    `json:"differs"`
	Bind    map[string]string `json:"bind"`
}

func (s *step) UnmarshalJSON(data []byte) error {
	if err := errors.Join(json.Unmarshal(data, &s.stepFrame), json.Unmarshal(data, &s.args)); err != nil {
		return err
	}
	for name := range reflect.TypeFor[stepFrame]().Fields() {
		delete(s.args, name.Tag.Get("json"))
	}
	return nil
}

// TestScenarios does what an agent in any language does, over a network that loses what a scenario says.
func TestScenarios(t *testing.T) {
	var scenarios []scenario
	ok(t, json.Unmarshal(must(os.ReadFile("../../proto/testdata/scenarios.json"))(t), &scenarios))
	network := newLossyNetwork(t)
	names := map[string]bool{}
	for i, s := range scenarios {
		if names[s.Name] {
			t.Errorf("%q is there twice", s.Name)
		}
		names[s.Name] = true
		t.Run(s.Name, func(t *testing.T) {
			t.Cleanup(network.proxy.Reset)
			ok(t, network.play(t.Context(), s, fmt.Sprint("scenario-", i)))
		})
	}
	for verb := range verbs {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool {
			return slices.ContainsFunc(s.Steps, func(s step) bool { return s.Do == verb })
		}) {
			t.Errorf("no scenario does %s", verb)
		}
	}
}

// TestScenariosAreJudged: what is not as a step says is told.
func TestScenariosAreJudged(t *testing.T) {
	network := newLossyNetwork(t)
	const begin = `{"do": "chat", "thread": "t", "name": "1", "system": [{"system": "Hi."}], "bind": {"head": "head"}}, `
	for i, c := range []struct{ step, says string }{
		{`{"do": "dance"}`, "step 2, dance: no such verb"},
		{`{"do": "refresh", "thread": "t", "message": "?"}`, "step 2, refresh: json: "},
		{`{"do": "refresh", "thread": "t", "whatever": 1}`, `unknown field "whatever"`},
		{`{"do": "refresh", "thread": "u"}`, `no thread is called "u"`},
		{`{"do": "refresh", "thread": "t", "lose": [{"at": "never"}]}`, "neither request nor reply"},
		{`{"do": "refresh", "thread": "t", "lose": [{"methods": ["PutNode"], "at": "reply"}]}`, "was not sent"},
		{`{"do": "refresh", "thread": "t", "sent": {"ResolveAlias": 2}}`, "ResolveAlias was sent 1 times, want 2"},
		{`{"do": "refresh", "thread": "t", "expect": {"depth": 1}}`, "depth is 0, want 1"},
		{`{"do": "refresh", "thread": "t", "expect": {"error": {"reason": "ALIAS_MOVED"}}}`, "error is <nil>"},
		{`{"do": "refresh", "thread": "t", "expect": {"nothing": 1}}`, "nothing is <nil>, want 1"},
		{`{"do": "refresh", "thread": "t", "differs": {"head": "$head"}}`, "and must not be"},
		{`{"do": "refresh", "thread": "t", "differs": {"nothing": 1}}`, "nothing is <nil>, and must not be"},
		{`{"do": "refresh", "thread": "t", "bind": {"x": "nothing"}}`, "the result has no nothing"},
		{`{"do": "open", "thread": "u", "alias": "none"}`, "failed: "},
		{`{"do": "open", "thread": "u", "alias": "none", "expect": {"error": {"reason": "ALIAS_MOVED"}}}`, "error.reason is ALIAS_NOT_FOUND, want ALIAS_MOVED"},
		{`{"do": "messages", "thread": "t", "expect": {"messages": []}}`, "messages are "},
		{`{"do": "messages", "thread": "t", "expect": {"messages": [{"system": "Hi.", "times": 2}]}}`, "want [map[system:Hi.Hi.]]"},
		{`{"do": "messages", "thread": "t", "policy": "none"}`, `no policy is called "none"`},
		{`{"do": "aliases", "prefix": "", "expect": {"names": ["chat/1", "chat/2"]}}`, "names is [chat/1]"},
		{`{"do": "aliases", "prefix": "", "expect": {"names": ["chat/2"]}}`, "names[0] is chat/1, want chat/2"},
		{`{"do": "append", "thread": "t", "messages": [{"user": "x"}], "lose": [{"at": "reply", "hold": true}], "during": [
			{"do": "resolve", "alias": "chat/1", "expect": {"head": "$head"}}]}`, "meanwhile resolve: head is "},
	} {
		var s scenario
		ok(t, json.Unmarshal([]byte(`{"steps": [`+begin+c.step+`]}`), &s))
		if err := network.play(t.Context(), s, fmt.Sprint("judged-", i)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.step, err, c.says)
		}
	}
}

// lossyNetwork is a server behind a proxy.
type lossyNetwork struct {
	proxy   *lossy.Proxy
	address string
}

func newLossyNetwork(t *testing.T) *lossyNetwork {
	t.Helper()
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { ok(t, store.Close()) })
	to := testserver.ServeTCP(t, testserver.GRPC(t, server.New(store, server.Config{Version: "test"})))
	n := &lossyNetwork{proxy: must(lossy.New(to))(t)}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	n.address = listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- n.proxy.Serve(listener) }()
	t.Cleanup(func() {
		ok(t, n.proxy.Close())
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return n
}

// play does a scenario in a namespace of its own; the error says which step was not as expected.
func (n *lossyNetwork) play(ctx context.Context, s scenario, namespace string) (err error) {
	p := &play{
		lossyNetwork: n, scenario: s, namespace: namespace,
		clients: map[string]*client.Client{}, threads: map[string]*client.Thread{}, bound: map[string]any{},
	}
	defer func() {
		for _, c := range p.clients {
			err = errors.Join(err, c.Close())
		}
	}()
	for i := range s.Steps {
		if err := p.step(ctx, &s.Steps[i]); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.Steps[i].Do, err)
		}
	}
	return nil
}

// play is a scenario that is being done.
type play struct {
	*lossyNetwork
	scenario  scenario
	namespace string
	clients   map[string]*client.Client
	threads   map[string]*client.Thread
	bound     map[string]any
}

// step does a step and compares; the error says how it was not as expected.
func (p *play) step(ctx context.Context, s *step) error {
	p.proxy.Reset()
	for _, rule := range s.Lose {
		if err := p.proxy.Add(rule); err != nil {
			return err
		}
	}
	result, err := p.meanwhile(ctx, s)
	if err != nil {
		return err
	}
	if err := p.judge(s, result); err != nil {
		return err
	}
	state := p.proxy.State()
	if len(state.Rules) > 0 {
		return fmt.Errorf("what was to be lost was not sent: %+v", state.Rules)
	}
	for method, want := range s.Sent {
		if got := state.Calls[method]; got != want {
			return fmt.Errorf("%s was sent %d times, want %d", method, got, want)
		}
	}
	return nil
}

// meanwhile does a step, and others while its call is held.
func (p *play) meanwhile(ctx context.Context, s *step) (map[string]any, error) {
	do, err := p.call(s)
	if err != nil {
		return nil, err
	}
	if len(s.During) == 0 {
		return outcome(do(ctx))
	}
	type ended struct {
		result map[string]any
		err    error
	}
	done := make(chan ended, 1)
	go func() {
		result, err := outcome(do(ctx))
		done <- ended{result, err}
	}()
	patience, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := p.proxy.AwaitHeld(patience); err != nil {
		return nil, fmt.Errorf("no call was held: %w", err)
	}
	for i := range s.During {
		inner := &s.During[i]
		do, err := p.call(inner)
		if err != nil {
			return nil, err
		}
		result, err := outcome(do(ctx))
		if err == nil {
			err = p.judge(inner, result)
		}
		if err != nil {
			return nil, fmt.Errorf("meanwhile %s: %w", inner.Do, err)
		}
	}
	p.proxy.Release()
	e := <-done
	return e.result, e.err
}

// call is a step's verb with its arguments.
func (p *play) call(s *step) (func(context.Context) (any, error), error) {
	do, known := verbs[s.Do]
	if !known {
		return nil, fmt.Errorf("no such verb")
	}
	c, err := p.client(s.By)
	if err != nil {
		return nil, err
	}
	args := new(arguments)
	if err := strictly(p.resolve(s.args), args); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) { return do(ctx, &actor{p, c}, args) }, nil
}

func (p *play) client(name string) (*client.Client, error) {
	if c := p.clients[name]; c != nil {
		return c, nil
	}
	options := []client.Option{
		client.WithNamespace(p.namespace), client.WithDeadline(20 * time.Second),
		client.WithRetry(client.Retry{Attempts: 4, First: time.Millisecond, Max: 10 * time.Millisecond}),
	}
	if seconds, limited := p.scenario.Deadlines[name]; limited {
		options = append(options, client.WithDeadline(time.Duration(seconds*float64(time.Second))))
	}
	if p.scenario.Verify {
		options = append(options, client.WithVerification())
	}
	if p.scenario.Deterministic {
		options = append(options, client.Deterministic())
	}
	c, err := client.Dial(p.address, options...)
	p.clients[name] = c
	return c, err
}

// outcome is the result of a call as JSON has it, where it failed too.
func outcome(result any, err error) (map[string]any, error) {
	if err != nil {
		e, ok := errors.AsType[*client.Error](err)
		if !ok {
			return nil, err
		}
		fields := []string{}
		for _, v := range e.Violations {
			fields = append(fields, v.Field)
		}
		reason := ""
		if e.Reason != 0 {
			reason = e.Reason.Error()
		}
		result = map[string]any{"error": map[string]any{
			"code": code.Code(e.Code).String(), "reason": reason, "head": e.Head(), "deleted": e.Deleted != nil, "fields": fields, "receipt": hex.EncodeToString(e.Receipt),
			"may_have_happened": client.MayHaveHappened(err), "retried": e.Retried,
		}}
	}
	object := map[string]any{}
	return object, strictly(result, &object)
}

// strictly reads a value as JSON has it into another.
func strictly(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// resolve puts in what names are bound to.
func (p *play) resolve(value any) any {
	switch v := value.(type) {
	case string:
		if name, isName := strings.CutPrefix(v, "$"); isName {
			return p.bound[name]
		}
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = p.resolve(v[i])
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key := range v {
			all[key] = p.resolve(v[key])
		}
		return all
	}
	return value
}

// judge compares a result with what a step expects, and binds what it binds.
func (p *play) judge(s *step, result map[string]any) error {
	if failure := result["error"]; failure != nil && s.Expect["error"] == nil {
		return fmt.Errorf("failed: %v", failure)
	}
	if err := matches("", p.resolve(s.Expect), result); err != nil {
		return err
	}
	for member, value := range s.Differs {
		if got := result[member]; got == nil || reflect.DeepEqual(got, p.resolve(value)) {
			return fmt.Errorf("%s is %v, and must not be", member, got)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Bind)) {
		value, has := result[s.Bind[name]]
		if !has {
			return fmt.Errorf("the result has no %s", s.Bind[name])
		}
		p.bound[name] = value
	}
	return nil
}

// matches compares what is expected at a path with what is there.
func matches(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, isObject := got.(map[string]any)
		if !isObject {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
		for key, value := range w {
			at := strings.TrimPrefix(path+"."+key, ".")
			if list, ok := value.([]any); ok && key == "messages" {
				if want := expanded(list); !reflect.DeepEqual(g[key], want) {
					return fmt.Errorf("%s are %.2000v\nwant %.2000v", at, g[key], want)
				}
				continue
			}
			if err := matches(at, value, g[key]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		g, isList := got.([]any)
		if !isList || len(g) != len(w) {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
		for i := range w {
			if err := matches(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	default:
		if !reflect.DeepEqual(want, got) {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
		return nil
	}
}
