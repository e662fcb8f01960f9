package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// BenchmarkImport imports all real conversations, as transcriptctl import does, into an empty namespace of a store in memory,
// through a server in this process: no disk and no network are part of it, so that a profile tells where the time of the import
// itself goes. Bytes are those of the lines.
//
//	go test ./cmd/transcriptctl -run xxx -bench Import -cpuprofile cpu.pprof
func BenchmarkImport(b *testing.B) {
	dir := realDir(b)
	command := &importCommand{Workers: 8}
	for _, file := range slices.Sorted(maps.Keys(realFiles())) {
		command.Files = append(command.Files, filepath.Join(dir, file))
	}
	b.SetBytes(lineBytes(b, command.Files))
	conn := testserver.StartMemory(b, client.DialOptions()...)
	for n := 0; b.Loop(); n++ {
		s := &session{
			Client: client.New(conn, client.WithNamespace(fmt.Sprintf("import-%d", n)), client.WithVerification()),
			out:    bufio.NewWriter(io.Discard), notes: io.Discard,
		}
		if err := command.Run(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}

// lineBytes is what the lines of files have.
func lineBytes(b *testing.B, files []string) (n int64) {
	b.Helper()
	for _, file := range files {
		err := new(session).conversations(b.Context(), file, formNamed(formOpenAI), func(c *conversation) error {
			n += int64(c.bytes)
			return c.bad
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return n
}
