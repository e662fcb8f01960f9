package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestFullDiskOfAlikeTexts fills small disks with conversations that go on together: each second text is the same in all of them. A
// memtable of such texts becomes a small table, which merges make larger: other rows come between the texts. The daemon does not end.
func TestFullDiskOfAlikeTexts(t *testing.T) {
	onDisks(t, *fullDisks, "-full.disks=ext4:520", func(t *testing.T, kind string, megabytes int, _ uint64) {
		fillWithAlikeTexts(t, mountDisk(t, kind, megabytes))
	})
}

func fillWithAlikeTexts(t *testing.T, disk string) {
	p := startProcess(t, nil, badgerFlag(filepath.Join(disk, "store")), "--admin-listen=off")
	conn := p.dial(t)
	defer conn.Close()
	const conversations = 3200 // of texts of 10 kB: about a memtable
	last := make([]string, conversations)
	var refused atomic.Bool
	put := func(round, i int) bool {
		request := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
			Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: alikeText(round, i)}}},
		}}}
		if round > 0 {
			request.Parent = nodeRef(last[i])
		}
		reply, err := transcriptv1.NewTranscriptServiceClient(conn).PutNode(callContext(t), request)
		if err != nil {
			if !isDiskFull(err) {
				t.Errorf("a put: %v", err)
			}
			refused.Store(true)
			return false
		}
		last[i] = reply.GetNodeId()
		return true
	}
	for round := 0; !refused.Load(); round++ {
		var writers sync.WaitGroup
		for w := range fullWriters {
			writers.Go(func() {
				for i := w; i < conversations && !refused.Load() && put(round, i); i += fullWriters {
				}
			})
		}
		writers.Wait()
	}
	select {
	case <-p.exited:
		t.Errorf("the daemon ended: %v\n%.2000s", p.exit, p.log())
	case <-time.After(30 * time.Second): // merges go on
	}
}

// alikeText is random; in each second round it is the same for all conversations, but for the first words of the first one.
func alikeText(round, i int) string {
	seed := uint64(0)
	if round%2 == 1 {
		seed = uint64(i + 1)
	}
	random := rand.New(rand.NewPCG(seed, uint64(round)))
	b := make([]byte, 7500)
	for k := range b {
		b[k] = byte(random.Uint32())
	}
	text := base64.StdEncoding.EncodeToString(b)
	if round == 0 {
		text = fmt.Sprintf("conversation %d: ", i) + text
	}
	return text
}
