// Command way prints which files of transcriptd a PutNode and an Assemble pass through, generated ones aside. It needs counters:
//
//	GOWORK=off go -C tools/limits run -cover -covermode=atomic -coverpkg=github.com/transcriptd/transcriptd/... ./way
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "way:", err)
		os.Exit(1)
	}
}

// run serves a new store in this process, and asks it.
func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "way")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := badgerstore.Open(filepath.Join(dir, "store"), badgerstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	served, err := server.New(store, server.Config{}).GRPC()
	if err != nil {
		return err
	}
	listener := bufconn.Listen(1 << 20)
	go func() { _ = served.Serve(listener) }()
	defer served.Stop()
	conn, err := grpc.NewClient("passthrough:///transcriptd", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return walk(ctx, transcriptv1.NewTranscriptServiceClient(conn), dir)
}

// walk makes a chain of two nodes, so that nothing is done for the first time, and then looks at a put and a read of it.
func walk(ctx context.Context, service transcriptv1.TranscriptServiceClient, dir string) error {
	chat := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "chat"}}
	put := func(parent *transcriptv1.NodeRef) error {
		_, err := service.PutNode(ctx, &transcriptv1.PutNodeRequest{
			Parent: parent, Aliases: []*transcriptv1.AliasUpdate{{Name: "chat"}},
			Messages: []*transcriptv1.Message{{
				Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "hello"}}},
			}},
		})
		return err
	}
	if err := errors.Join(put(nil), put(chat)); err != nil {
		return err
	}
	if err := files(ctx, filepath.Join(dir, "put"), "PutNode", func() error { return put(chat) }); err != nil {
		return err
	}
	return files(ctx, filepath.Join(dir, "assemble"), "Assemble", func() error {
		_, err := service.Assemble(ctx, &transcriptv1.AssembleRequest{Head: chat})
		return err
	})
}

// files prints the files of each package that a call passes through.
func files(ctx context.Context, dir, name string, call func() error) error {
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	profile, err := counters(ctx, dir)
	if err != nil {
		return err
	}
	passed := map[string][]string{}
	n := 0
	for line := range strings.Lines(profile) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "github.com/transcriptd/transcriptd/")
		path, _, found := strings.Cut(line, ":")
		folder, file := filepath.Split(path)
		if found && !strings.HasSuffix(line, " 0") && folder != "" && !strings.HasPrefix(folder, "gen/") &&
			!strings.HasPrefix(folder, "tools/") && !slices.Contains(passed[folder], file) {
			passed[folder] = append(passed[folder], file)
			n++
		}
	}
	fmt.Printf("%s passes through %d files\n", name, n)
	for _, folder := range slices.Sorted(maps.Keys(passed)) {
		fmt.Printf("%4d %s: %s\n", len(passed[folder]), folder, strings.Join(slices.Sorted(slices.Values(passed[folder])), " "))
	}
	return nil
}

// counters gives the counters of all statements as `go tool covdata textfmt` prints them.
func counters(ctx context.Context, dir string) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := errors.Join(coverage.WriteCountersDir(dir), coverage.WriteMetaDir(dir)); err != nil {
		return "", err
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i", dir, "-o", profile).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	b, err := os.ReadFile(profile)
	return string(b), err
}
