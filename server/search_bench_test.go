//go:build unix

package server_test

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// BenchmarkSearch searches a chain of 64 MiB, page by page, over the wire: MB/s are of messages looked at, and
// cpu-s/GB says what that takes of processors where others use them too.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	open := func() chainstore.Store {
		store, err := badgerstore.Open(dir, badgerstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return store
	}
	store := open()
	size := fill(b, store, 64<<20)
	if err := store.Close(); err != nil { // so that it is read from tables, compressed, and not from memory
		b.Fatal(err)
	}
	store = open()
	b.Run("badger", func(b *testing.B) { benchmarkSearch(b, store, size) })
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	memory := memstore.New(memstore.Options{})
	fill(b, memory, 64<<20)
	b.Run("memory", func(b *testing.B) { benchmarkSearch(b, memory, size) })
}

// fill stores a chain of turns whose sizes are those of coding sessions: most small, most bytes in a few large ones. One
// word is in every 1,000th message, and one in each.
func fill(b *testing.B, store chainstore.Store, size int) (total int64) {
	client := transcriptv1.NewTranscriptServiceClient(testserver.Start(b, store))
	random := rand.New(rand.NewSource(1))
	words := make([]string, 5000)
	for i := range words {
		word := make([]byte, 2+random.Intn(9))
		for k := range word {
			word[k] = "etaoinshrdlucmfwypvbgkjqxz"[min(random.Intn(26), random.Intn(26))]
		}
		words[i] = string(word)
	}
	zipf := rand.NewZipf(random, 1.2, 4, uint64(len(words)-1))
	parent := ""
	for i := 0; total < int64(size); {
		req := &transcriptv1.PutNodesRequest{}
		for k, bytes := 0, 0; k < 200 && bytes < 2<<20; k++ {
			var text strings.Builder
			text.WriteString("everywhere ")
			if i++; i%1000 == 0 {
				text.WriteString("rarely ")
			}
			for n := 1 << (6 + random.Intn(9)); text.Len() < n; {
				text.WriteString(words[zipf.Uint64()] + []string{" ", " ", " ", ", ", ".\n", `": "`, "(", ")", " 42 "}[random.Intn(9)])
			}
			node := &transcriptv1.NewNode{Messages: []*Message{user(text.String())}, Previous: k > 0}
			if k == 0 && parent != "" {
				node.Parent = byID(parent)
			}
			req.Nodes, bytes = append(req.Nodes, node), bytes+text.Len()
			total += int64(text.Len())
		}
		req.Nodes[len(req.Nodes)-1].Aliases = []*Update{{Name: "chat"}}
		put, err := client.PutNodes(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		parent = put.Nodes[len(put.Nodes)-1].NodeId
	}
	return total
}

func benchmarkSearch(b *testing.B, store chainstore.Store, size int64) {
	client := transcriptv1.NewTranscriptServiceClient(testserver.Start(b, store))
	for _, c := range []struct {
		name string
		req  *SearchRequest
	}{
		{"literal without a hit", inChain(byAlias("chat"), "zebra crossing")},
		{"literal with rare hits", inChain(byAlias("chat"), "rarely")},
		{"Cyrillic without a hit", inChain(byAlias("chat"), "привет")},
		{"pattern with a literal, without a hit", byRegexp(inChain(byAlias("chat"), ""), `zebra\s+crossing`)},
		{"pattern with rare hits", byRegexp(inChain(byAlias("chat"), ""), `(?i)rarely\s+\w+`)},
		{"pattern without a literal", byRegexp(inChain(byAlias("chat"), ""), `[0-9]{3}[-. ][0-9]{4}|[A-Z]{12}`)},
		{"hits everywhere, all pages of 100", inChain(byAlias("chat"), "everywhere")},
		{"by alias prefix, literal without a hit", underPrefix("", "zebra crossing")},
	} {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			c.req.PageSize = 100
			var hits, pages, rounds int
			b.SetBytes(size)
			began := processTime(b)
			for b.Loop() {
				hits, pages = allHits(b, client, c.req)
				rounds++
			}
			b.ReportMetric((processTime(b)-began).Seconds()/float64(rounds)*1e9/float64(size), "cpu-s/GB")
			b.ReportMetric(float64(hits), "hits")
			b.ReportMetric(float64(pages), "pages")
		})
	}
}

func allHits(b *testing.B, client transcriptv1.TranscriptServiceClient, req *SearchRequest) (hits, pages int) {
	for req := proto.CloneOf(req); ; {
		page, err := client.Search(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		hits, pages = hits+len(page.Hits), pages+1
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return hits, pages
		}
	}
}

// processTime is the time of processors that the test has taken, client and database included.
func processTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkSearchManyAliases is a page of a search over very many short chains, with a token that has 10,000 runs.
func BenchmarkSearchManyAliases(b *testing.B) {
	store, err := badgerstore.Open(b.TempDir(), badgerstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	client := transcriptv1.NewTranscriptServiceClient(testserver.Start(b, store))
	root, err := client.PutNode(b.Context(), &PutNode{Messages: []*Message{system("s")}})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < 12_000; i += 500 {
		req := &transcriptv1.PutNodesRequest{}
		for k := range 500 {
			req.Nodes = append(req.Nodes, &transcriptv1.NewNode{
				Parent: byID(root.NodeId), Messages: []*Message{user(fmt.Sprintf("chat %d", i+k))},
				Aliases: []*Update{{Name: fmt.Sprintf("chat/%05d", i+k)}},
			})
		}
		if _, err := client.PutNodes(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	req := underPrefix("chat/", "chat 11")
	req.PageSize = 100
	for range 3 { // "chat 11" is in 1,111 of the chains, of which all but 111 come behind the first 10,000
		page, err := client.Search(context.Background(), req)
		if err != nil {
			b.Fatal(err)
		}
		req.PageToken = page.NextPageToken
	}
	for b.Loop() {
		if _, err := client.Search(context.Background(), req); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(req.PageToken)), "token-bytes")
}
