package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/transcriptd/transcriptd/internal/identity"
	underload "github.com/transcriptd/transcriptd/internal/load"
	"github.com/transcriptd/transcriptd/tools/limits/internal/flood"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

var (
	fairPuts = measure.AtLeast(0.4, "puts beside a principal that offers twice saturation, relative to half the peak").OnDisk().
			Meaning("Who asks for its half of a server that another floods.")
	fairPutsP99 = measure.AtMost(250, "the same: p99").In("ms").OnDisk().Meaning("And how long it waits.")
	fairReads   = measure.AtLeast(0.4, "Assemble of 10 turns by 16 callers beside a principal with 512, relative to half of what they get alone").
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
			"name": name, "grants": []object{{"roles": []string{"read", "append", "operate"}, "namespaces": name}},
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

// of is a flood of a party's, in this process.
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

// load is what a load was, that a process of its own offered.
type load struct {
	Offered, Served float64
	Refused         map[string]int
}

func (l *load) String() string {
	return fmt.Sprintf("offered %.0f/s, served %.0f/s, refused %v", l.Offered, l.Served, l.Refused)
}

// tokenVariable has the token of a load's process.
const tokenVariable = "LIMITS_TOKEN"

// offer is the process of a load: puts on a clock, at an address, in a namespace, so many a second, each with a deadline, for a while.
func offer(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 5 {
		return errUsage
	}
	rate, err := strconv.ParseFloat(args[2], 64)
	deadline, err2 := time.ParseDuration(args[3])
	while, err3 := time.ParseDuration(args[4])
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	f, err := flood.New(args[0], args[1], os.Getenv(tokenVariable), deadline)
	if err != nil {
		return err
	}
	defer f.Close()
	debug.SetGCPercent(400)
	t, err := f.Open(ctx, rate, while)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(&load{t.Offered(), t.Served.Rate(), t.Refused})
}

// offers has a process of its own offer puts of a party.
func (s *server) offers(ctx context.Context, p party, rate float64) (*load, error) {
	c := exec.CommandContext(ctx, s.e.limits[0], offerCommand, s.process.Addr, p.name, fmt.Sprint(rate), s.e.deadline.String(), s.e.load.String())
	c.Env = append(os.Environ(), tokenVariable+"="+p.token)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return nil, err
	}
	l := new(load)
	return l, json.Unmarshal(text, l)
}

// fairShares has one principal ask for half of what a server can do, while another offers twice as much as all of it: puts, then reads.
// Each load has a process of its own, as tenants have.
func fairShares(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, parties, err := e.shared("greedy", "modest")
	if err != nil {
		return nil, err
	}
	puts, err := s.fairPuts(ctx, parties[0], parties[1])
	if err != nil {
		return nil, err
	}
	reads, err := s.fairReads(ctx, parties[0], parties[1])
	return append(puts, reads...), err
}

func (s *server) fairPuts(ctx context.Context, greedy, modest party) ([]measure.Figure, error) {
	f, err := s.of(modest)
	if err != nil {
		return nil, err
	}
	o := &overloads{server: s, flood: f, refused: map[string]int{}}
	if err := o.saturate(ctx); err != nil {
		return nil, err
	}
	var shares, p99 []float64
	var beside []string
	for range s.e.floods {
		alone, err := o.peak(ctx, o.callers)
		if err != nil {
			return nil, err
		}
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
		peak := alone.Served.Rate()
		var other *load
		var failed error
		var running sync.WaitGroup
		running.Go(func() { other, failed = s.offers(ctx, greedy, offered*peak) })
		t, err := f.Open(ctx, peak/2, s.e.load)
		running.Wait()
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
		slices.Sort(t.Served.Took)
		shares, p99 = append(shares, t.Served.Rate()/(peak/2)), append(p99, t.Served.P99())
		beside = []string{
			fmt.Sprintf("peak %.0f/s; the flood: %s", peak, other),
			fmt.Sprintf("beside it: offered %.0f/s, served %s, refused %v, %d silent", t.Offered(), &t.Served, t.Refused, t.Silent),
		}
		s.e.note("%s; %s", beside[0], beside[1])
	}
	return []measure.Figure{fairPuts.Median(shares, beside...), fairPutsP99.Median(p99)}, nil
}

// bench has transcriptctl put the server under load as a party.
func (s *server) bench(ctx context.Context, p party, callers int) (*underload.RPC, error) {
	c := exec.CommandContext(ctx, s.e.transcriptctl, "bench", "--addr", s.process.Addr, "--namespace", p.name, "--mode", "assemble",
		"--turns", strconv.Itoa(few), "--callers", strconv.Itoa(callers), "--duration", s.e.load.String(), "--output", "json")
	c.Env = append(os.Environ(), "TRANSCRIPTCTL_TOKEN="+p.token, "XDG_CONFIG_HOME="+s.e.dir)
	var said bytes.Buffer
	c.Stderr = &said
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("transcriptctl bench: %w\n%s", err, said.String())
	}
	var r underload.Report
	if err := json.Unmarshal(text, &r); err != nil || len(r.RPCs) != 1 {
		return nil, fmt.Errorf("transcriptctl bench printed %s", text)
	}
	return &r.RPCs[0], nil
}

func told(callers int, r *underload.RPC) string {
	return fmt.Sprintf("%d callers: %.0f/s, p50 %.3g ms, p99 %.3g ms, failed %v", callers, r.RequestsPerSecond, r.Latency.P50, r.Latency.P99, r.Errors)
}

func (s *server) fairReads(ctx context.Context, greedy, modest party) ([]measure.Figure, error) {
	var shares, p99 []float64
	var beside []string
	for range s.e.floods {
		alone, err := s.bench(ctx, modest, readers)
		if err != nil {
			return nil, err
		}
		var other *underload.RPC
		var failed error
		var running sync.WaitGroup
		running.Go(func() { other, failed = s.bench(ctx, greedy, flooding) })
		with, err := s.bench(ctx, modest, readers)
		running.Wait()
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
		shares, p99 = append(shares, with.RequestsPerSecond/(alone.RequestsPerSecond/2)), append(p99, with.Latency.P99)
		beside = []string{"alone: " + told(readers, alone), "the flood: " + told(flooding, other), "beside it: " + told(readers, with)}
		s.e.note("%s; %s; %s", beside[0], beside[1], beside[2])
	}
	return []measure.Figure{fairReads.Median(shares, beside...), fairReadsP99.Median(p99)}, nil
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
		var refused *load
		var failed error
		var running sync.WaitGroup
		running.Go(func() {
			refused, failed = s.offers(ctx, party{parties[0].name, identity.NewToken()}, offered*without.Served.Rate())
		})
		with, err := known.Closed(ctx, o.callers, e.load)
		running.Wait()
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
		shares = append(shares, with.Served.Rate()/without.Served.Rate())
		slices.Sort(without.Served.Took)
		slices.Sort(with.Served.Took)
		beside = []string{
			fmt.Sprintf("%d callers without: %s", o.callers, &without.Served), fmt.Sprintf("with: %s", &with.Served),
			fmt.Sprintf("strangers: %s", refused),
		}
		e.note("%s; %s; %s", beside[0], beside[1], beside[2])
	}
	return []measure.Figure{besideStrangers.Median(shares, beside...)}, nil
}
