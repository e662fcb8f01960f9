package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// eraseBeside: chats that grow and are compacted, and are read, while what was said in them is erased. Once an erasure has returned, and the
// copies are erased too that were made before it, no read shows what was said, and no compaction brings it back.
func eraseBeside(f *fixture) {
	if f.skips(Erase) || f.skips(Compaction) {
		return
	}
	const writers, rounds = 3, 40
	said := make(chan saying, writers*rounds)
	var work, erasures sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			c := &chat{fixture: f, name: fmt.Sprint("chat-", w)}
			for i := range rounds {
				if err := c.round(i, said); err != nil {
					f.Errorf("%s, round %d: %v", c.name, i, err)
					return
				}
			}
		})
	}
	var all []saying
	erasures.Go(func() {
		for s := range said {
			all = append(all, s)
			if err := s.forget(f); err != nil {
				f.Errorf("%q: %v", s.text, err)
				return
			}
		}
	})
	work.Wait()
	close(said)
	erasures.Wait()
	for _, s := range all {
		if !f.Failed() {
			f.ok(s.isGone(f))
		}
	}
	if !f.Failed() {
		f.clean()
	}
}

// saying is a text that is to be erased, and where it was said.
type saying struct {
	chat, text string
	id         chainstore.ID
	seq        uint32
}

// chat is a chat that one writer has to itself.
type chat struct {
	*fixture
	name string
	head chainstore.ID
	seq  uint32
}

func (c *chat) append(n Node) error {
	change := c.change([]Node{n}, set(c.name, 0, anything()))
	out, err := c.store.Commit(c.ctx(), c.ns, change)
	if err == nil {
		c.head, c.seq = out.Nodes[0].ID, c.seq+1
	}
	return err
}

// round says something that is to be erased at once, and now and then compacts.
func (c *chat) round(i int, said chan<- saying) error {
	if i == 0 {
		if err := c.append(root(system(c.name))); err != nil {
			return err
		}
		c.seq = 0
	}
	text := fmt.Sprintf("%s %s.%d.", canary, c.name, i)
	if err := c.append(under(byID(c.head), user(text))); err != nil {
		return err
	}
	said <- saying{c.name, text, c.head, c.seq}
	if err := c.append(under(byID(c.head), assistant(fmt.Sprint("so ", i)))); err != nil {
		return err
	}
	if i%3 > 0 {
		return nil
	}
	for {
		if err := c.compact(); !errors.Is(err, chainstore.ErrErasedMeanwhile) {
			return err
		}
	}
}

// compact keeps the last texts that were said, as they are shown.
func (c *chat) compact() error {
	erasures, err := c.store.Erasures(c.ctx(), c.ns)
	if err != nil {
		return err
	}
	var kept []Message
	var from []chainstore.Provenance
	chain, err := c.store.Chain(c.ctx(), c.ns, idRef(c.head), nil)
	if err != nil {
		return err
	}
	err = chain.Rows(c.ctx(), []chainstore.Span{{From: c.seq - min(c.seq, 12), Through: c.seq}}, func(r *chainstore.Row) error {
		if at := bytes.Index(r.Payload, []byte(canary)); at >= 0 && !r.Raw.IsCompaction() {
			text := string(r.Payload[at:])
			kept = append(kept, user(text[:bytes.IndexByte(r.Payload[at:], '"')]))
			from = append(from, chainstore.Provenance{Present: true, Place: runloop.Place{Seq: r.Seq}})
		}
		return nil
	})
	if err != nil || len(kept) == 0 {
		return err
	}
	n := under(byID(c.head), kept...)
	n.Compaction = &chainstore.Compaction{Covers: c.head, Provenance: from, Erasures: erasures}
	return c.append(n)
}

// forget erases what was said, and every copy of it.
func (s *saying) forget(f *fixture) error {
	if err := s.eraseAt(f, s.id, all); err != nil {
		return err
	}
	for {
		copies, err := s.copies(f)
		if err != nil {
			return err
		}
		if len(copies) == 0 {
			return s.isGone(f)
		}
		for _, h := range copies {
			if err := s.eraseAt(f, h.ID, func(i int) bool { return h.Provenance[i].Place.Seq == s.seq }); err != nil {
				return err
			}
		}
	}
}

func (s *saying) eraseAt(f *fixture, id chainstore.ID, erased func(int) bool) error {
	var nodes []chainstore.ErasedNode
	err := f.store.Nodes(f.ctx(), f.ns, []chainstore.ID{id}, func(n *chainstore.FoundNode) error {
		nodes = append(nodes, f.cfg.Encoding.Erase(n.Header, n.Payload, n.Metadata, erased))
		return nil
	})
	if err == nil {
		_, err = f.store.Erase(f.ctx(), f.ns, nodes)
	}
	return err
}

// copies are the compaction nodes of the chat that have copies of what was said.
func (s *saying) copies(f *fixture) (found []*chainstore.Header, err error) {
	err = s.rows(f, func(r *chainstore.Row) error {
		if !r.Raw.IsCompaction() {
			return nil
		}
		h, err := r.Header()
		if err == nil && slices.ContainsFunc(h.Messages, func(m runloop.Brief) bool { return m.Was == 0 }) {
			for i, p := range h.Provenance {
				if p.Place.Seq == s.seq && h.Messages[i].Was == 0 {
					found = append(found, h)
					break
				}
			}
		}
		return err
	})
	return found, err
}

func (s *saying) isGone(f *fixture) error {
	return s.rows(f, func(r *chainstore.Row) error {
		if bytes.Contains(r.Payload, []byte(s.text)) {
			return fmt.Errorf("node %d shows it", r.Seq)
		}
		return nil
	})
}

func (s *saying) rows(f *fixture, yield func(*chainstore.Row) error) error {
	c, err := f.store.Chain(f.ctx(), f.ns, aliasRef(s.chat), nil)
	if err != nil {
		return err
	}
	return c.Rows(f.ctx(), []chainstore.Span{{Through: c.Head().Seq, WillReread: true}}, yield)
}
