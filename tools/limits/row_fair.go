package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/tools/limits/internal/flood"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

var (
	fairPuts = measure.AtLeast(0.4, "puts beside a principal that offers twice saturation, relative to half the peak").OnDisk().
			Meaning("Who asks for its half of a server that another floods.")
	fairPutsP99 = measure.AtMost(250, "the same: p99").In("ms").OnDisk().Meaning("And how long it waits.")
	fairReads   = measure.AtLeast(0.4, "Assemble of 10 turns beside a principal with 512 callers, relative to half the peak").
			Meaning("The same for who reads.")
	fairReadsP99    = measure.AtMost(250, "the same: p99").In("ms").Meaning("And how long it waits.")
	besideStrangers = measure.AtLeast(0.75, "puts served beside as many calls of strangers as twice the peak, relative to those without").OnDisk().
			Meaning("Calls with a token that nobody has are refused by their heads.")
)

// readers are the callers of who reads beside a flood, flooding those of the flood.
const readers, flooding = 16, 512

// party is a principal of a server, with a namespace of its name.
type party struct {
	name, token string
}

// shared starts a transcriptd that knows principals, who each may read and append to their namespaces.
func (e *env) shared(names ...string) (*server, []party, error) {
	dir, err := e.folder()
	if err != nil {
		return nil, nil, err
	}
	type object = map[string]any
	var parties []party
	var principals []object
	for _, name := range names {
		p := party{name, identity.NewToken()}
		hash := identity.HashToken(p.token)
		parties = append(parties, p)
		principals = append(principals, object{
			"name": name, "grants": []object{{"roles": []string{"read", "append"}, "namespaces": name}},
			"tokens": []object{{"id": name, "sha256": hex.EncodeToString(hash[:]), "created": time.Now().UTC().Format(time.RFC3339)}},
		})
	}
	text, err := json.Marshal(object{"principals": principals})
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "principals.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, nil, err
	}
	s, err := e.server(e.transcriptd, func(dir string) []string { return append(transcriptdFlags(dir), "--principals="+file) })
	return s, parties, err
}

// of is a flood of a party's.
func (s *server) of(p party) (*flood.Flood, error) {
	f, err := flood.New(s.process.Addr, p.name, p.token, s.e.deadline)
	if err == nil {
		s.e.ends(func() error {
			f.Close()
			return nil
		})
	}
	return f, err
}

// fairShares has one principal offer half of what a server can do, while another offers twice as much as that: puts, then reads.
func fairShares(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, parties, err := e.shared("greedy", "modest")
	if err != nil {
		return nil, err
	}
	puts, err := s.fairPuts(ctx, parties)
	if err != nil {
		return nil, err
	}
	reads, err := s.fairReads(ctx, parties)
	return append(puts, reads...), err
}

func (s *server) fairPuts(ctx context.Context, parties []party) ([]measure.Figure, error) {
	var floods [2]*flood.Flood
	for i, p := range parties {
		var err error
		if floods[i], err = s.of(p); err != nil {
			return nil, err
		}
	}
	greedy, modest := floods[0], floods[1]
	o := &overloads{server: s, flood: greedy, refused: map[string]int{}}
	if err := o.saturate(ctx); err != nil {
		return nil, err
	}
	peak := o.lately[0]
	var shares, p99 []float64
	var beside []string
	for range s.e.floods {
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
		t, other, err := together(
			func() (*flood.Tally, error) { return modest.Open(ctx, peak/2, s.e.load) },
			func() (*flood.Tally, error) { return greedy.Open(ctx, offered*peak, s.e.load) },
		)
		if err != nil {
			return nil, err
		}
		slices.Sort(t.Served.Took)
		shares, p99 = append(shares, t.Served.Rate()/(peak/2)), append(p99, t.Served.P99())
		slices.Sort(other.Served.Took)
		beside = []string{
			fmt.Sprintf("peak %.0f/s, the flood offered %.0f/s, served %s, refused %v", peak, other.Offered(), &other.Served, other.Refused),
			fmt.Sprintf("beside it were offered %.0f/s, served %s, refused %v", t.Offered(), &t.Served, t.Refused),
		}
		s.e.note("%s; %s", beside[0], beside[1])
	}
	return []measure.Figure{fairPuts.Median(shares, beside...), fairPutsP99.Median(p99)}, nil
}

// together runs two loads at once.
func together[T any](one, other func() (T, error)) (a, b T, err error) {
	var running sync.WaitGroup
	var failed error
	running.Go(func() { b, failed = other() })
	a, err = one()
	running.Wait()
	if err == nil {
		err = failed
	}
	return a, b, err
}

func (s *server) fairReads(ctx context.Context, parties []party) ([]measure.Figure, error) {
	var sides [2]*measure.Side
	for i, callers := range []int{flooding, readers} {
		var err error
		if sides[i], err = s.assembling(ctx, parties[i], callers); err != nil {
			return nil, err
		}
	}
	greedy, modest := sides[0], sides[1]
	var shares, p99 []float64
	var beside []string
	for range s.e.rounds {
		alone, err := greedy.Round(ctx, s.e.round)
		if err != nil {
			return nil, err
		}
		with, other, err := together(
			func() (*measure.Sample, error) { return modest.Round(ctx, s.e.round) },
			func() (*measure.Sample, error) { return greedy.Round(ctx, s.e.round) },
		)
		if err != nil {
			return nil, err
		}
		shares, p99 = append(shares, with.Rate()/(alone.Rate()/2)), append(p99, with.P99())
		beside = []string{fmt.Sprintf("%d callers alone: %s", flooding, alone), fmt.Sprintf("beside %d others: %s", readers, other), fmt.Sprintf("these: %s", with)}
	}
	return []measure.Figure{fairReads.Median(shares, beside...), fairReadsP99.Median(p99)}, nil
}

// assembling are callers of a party who read a chain of its own. Who is refused has asked in vain, and asks again.
func (s *server) assembling(ctx context.Context, p party, callers int) (*measure.Side, error) {
	const perConnection = 64
	shown := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+p.token)
	}
	var readers []*raw.Reader
	for range (callers + perConnection - 1) / perConnection {
		conn, err := s.conn()
		if err != nil {
			return nil, err
		}
		readers = append(readers, &raw.Reader{Conn: conn, Namespace: p.name})
	}
	c := client.New(readers[0].Conn, client.WithNamespace(p.name))
	if _, err := turns.Fill(shown(ctx), c, alias, 0, few, func(int) {}); err != nil {
		return nil, err
	}
	return &measure.Side{Name: p.name, Callers: callers, Call: func(ctx context.Context, caller, _ int) error {
		_, err := readers[caller%len(readers)].Assemble(shown(ctx), raw.ByAlias(alias), "")
		if status.Code(err) == codes.ResourceExhausted {
			return nil
		}
		return err
	}}, nil
}

// strangers has callers put who wait for each reply, with and without a flood of calls whose token nobody has.
func strangers(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, parties, err := e.shared("some")
	if err != nil {
		return nil, err
	}
	known, err := s.of(parties[0])
	if err != nil {
		return nil, err
	}
	unknown, err := s.of(party{parties[0].name, identity.NewToken()})
	if err != nil {
		return nil, err
	}
	o := &overloads{server: s, flood: known, refused: map[string]int{}}
	if err := o.saturate(ctx); err != nil {
		return nil, err
	}
	var shares []float64
	var beside []string
	for range e.floods {
		without, err := o.peak(ctx, o.callers)
		if err != nil {
			return nil, err
		}
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
		with, refused, err := together(
			func() (*flood.Tally, error) { return known.Closed(ctx, o.callers, e.load) },
			func() (*flood.Tally, error) { return unknown.Open(ctx, offered*without.Served.Rate(), e.load) },
		)
		if err != nil {
			return nil, err
		}
		shares = append(shares, with.Served.Rate()/without.Served.Rate())
		slices.Sort(without.Served.Took)
		slices.Sort(with.Served.Took)
		beside = []string{
			fmt.Sprintf("%d callers without: %s", o.callers, &without.Served), fmt.Sprintf("with: %s", &with.Served),
			fmt.Sprintf("strangers offered %.0f/s, refused %v", refused.Offered(), refused.Refused),
		}
		e.note("%s; %s; %s", beside[0], beside[1], beside[2])
	}
	return []measure.Figure{besideStrangers.Median(shares, beside...)}, nil
}
