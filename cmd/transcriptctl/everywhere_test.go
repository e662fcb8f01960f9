package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// callbook notes of each call the namespace and the token.
type callbook struct {
	mu    sync.Mutex
	calls []noted
}

type noted struct{ namespace, token string }

func (b *callbook) note(ctx context.Context, req any) {
	of, in := req.(interface{ GetNamespace() string })
	if !in {
		return // it is of no namespace
	}
	head, _ := metadata.FromIncomingContext(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, noted{of.GetNamespace(), strings.Join(head.Get("authorization"), ",")})
}

// taken are the calls since it was asked last.
func (b *callbook) taken() []noted {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.calls = nil }()
	return b.calls
}

// notedStream notes the first message that it reads.
type notedStream struct {
	grpc.ServerStream
	book *callbook
}

func (s *notedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.book.note(s.Context(), m)
	}
	return err
}

// TestContextsEverywhere: each command takes the server, the token and the namespace of a context alike, whether it is named by the flag or
// the variable, or is in use; but for the commands that say that they take a namespace of their own, or ask no server.
func TestContextsEverywhere(t *testing.T) {
	book := &callbook{}
	s := serveStore(t, memstore.New(memstore.Options{}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			book.note(ctx, req)
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return next(srv, &notedStream{stream, book})
		}))
	for _, way := range []struct {
		name string
		args []string
		env  string
		use  bool
	}{{"flag", []string{"--context", "there"}, "", false}, {"variable", nil, "there", false}, {"in use", nil, "", true}} {
		t.Run(way.name, func(t *testing.T) {
			contextsAt(t)
			secret := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(secret, []byte("the-token-of-it\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			mustCtl(t, "context", "add", "other", "--addr", "127.0.0.1:1", "--namespace", "others", "--use")
			mustCtl(t, "context", "add", "there", "--addr", s.addr, "--namespace", "team-a", "--token-file", secret)
			if way.use {
				mustCtl(t, "context", "use", "there")
			}
			t.Setenv("TRANSCRIPTCTL_CONTEXT", way.env)
			keys := walkKeys(t)
			for _, w := range walk() {
				args := append(slices.Clone(way.args), w.words(keys)...)
				if at := slices.Index(args, "--namespace"); at >= 0 { // that of the context is the same
					args = slices.Delete(args, at, at+2)
				}
				var out, notes bytes.Buffer
				code := report(&notes, run(t.Context(), args, strings.NewReader(""), &out, &notes))
				if code != w.code || w.command == "audit alias" && out.Len() == 0 {
					t.Errorf("%v: exit code %d, %s", args, code, notes.String())
				}
				w.judge(t, book.taken())
			}
		})
	}
}

// judge tells whether the calls of a command are those of the context.
func (w walked) judge(t *testing.T, calls []noted) {
	t.Helper()
	inNone := []string{"mcp", "namespace list", "version", "health"} // whose calls are of no namespace, if they make any here
	if silent := w.asks == noServer; silent != (len(calls) == 0) && !slices.Contains(inNone, w.command) {
		t.Errorf("%s %s: %d calls, and it asks %s", w.command, w.args, len(calls), w.asks)
	}
	for _, call := range calls {
		var fits bool
		switch w.asks {
		case theContexts:
			fits = call.namespace == "team-a" || strings.Contains(w.args, "--all") && call.namespace == ""
		case theNamed:
			fits = call.namespace == "named"
		case itsOwn:
			fits = call.namespace != "team-a" && call.namespace != "others"
		case noServer:
		}
		if !fits || call.token != "Bearer the-token-of-it" {
			t.Errorf("%s %s: a call in namespace %q with %d bytes of a token", w.command, w.args, call.namespace, len(call.token))
		}
	}
}

// TestVariables: each flag of all commands has its variable.
func TestVariables(t *testing.T) {
	parser, err := newParser(t.Context(), &commandLine{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parser.Model.Flags {
		want := "TRANSCRIPTCTL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if f.Name != "help" && f.Name != "version" && !slices.Equal(f.Envs, []string{want}) {
			t.Errorf("--%s is %v in the environment, want %s", f.Name, f.Envs, want)
		}
	}
}
