package drill

import (
	"encoding/binary"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/badgerdb/canary"
)

// tenant is the namespace that is deleted, again and again.
const tenant = "drill-tenant"

// TestForgottenNamespace: the server is killed while it deletes a namespace with much content, or takes it out of its files. It is there whole, or not at
// all; at the end no table and no log has any of it, in any version, and others have all that was acknowledged, also those of its name that came later.
func TestForgottenNamespace(t *testing.T) {
	p := build(t)
	store := filepath.Join(t.TempDir(), "store")
	d := p.start(t, store)
	others := writers(t, d, 3)
	if err := write(t.Context(), others, 20, 4<<10); err != nil {
		t.Fatal(err)
	}
	var gone []*person
	numbers := map[uint32]bool{}
	for n := range max(3, *kills/5) {
		began := time.Now()
		c := d.client(t, tenant)
		one := filled(t, d, c, store)
		gone = append(gone, one)
		number(t, store, one, numbers)
		end := beside(t, d, d.services(t))
		var anew []string
		deleting := n%3 == 0
		if deleting {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = c.DeleteNamespace(t.Context(), tenant)
			}()
			<-time.After(mathrand.N(50 * time.Millisecond))
			d.kill()
			<-done
		} else {
			deletes(t, c)
			anew = begunAnew(t, c, n)
			<-time.After(mathrand.N(3 * time.Second))
			d.kill()
		}
		end()
		d = p.start(t, store)
		over(t, d, others)
		c = d.client(t, tenant)
		whole := isWhole(t, c, one)
		switch {
		case whole && deleting:
			deletes(t, c)
		case whole:
			t.Errorf("round %d: the deletion was answered, and it is there", n)
		}
		t.Logf("killed %d times, as it was deleted: %t, and it was there yet: %t, %v", n+1, deleting, whole, time.Since(began).Round(time.Second))
		if !deleting {
			found, err := c.Nodes(t.Context(), anew...)
			if err != nil || len(found.Nodes) != len(anew) {
				t.Fatalf("of %d nodes that came under its name: %v", len(anew), err)
			}
			deletes(t, c)
		}
	}
	anew := begunAnew(t, d.client(t, tenant), -1)
	last := newPerson(0)
	last.said(t, d.client(t, ""))
	last.erases(t, d.services(t), true) // and with it what is to leave before
	isGone(t, store, gone)
	hasNone(t, store, numbers)
	if found, err := d.client(t, tenant).Nodes(t.Context(), anew...); err != nil || len(found.Nodes) != len(anew) {
		t.Errorf("of %d nodes that came under its name: %v", len(anew), err)
	}
	haveAll(t, d, others)
	d.stop(t)
	must(t, p.daemon, "verify", p.storeFlag(store))
	isGone(t, store, gone)
	hasNone(t, store, numbers)
}

// filled fills the namespace with some tens of megabytes, some of which is of a person whose canary is in names, too.
func filled(t *testing.T, d *daemon, c *client.Client, store string) *person {
	t.Helper()
	one := newPerson(0)
	one.prefix = one.canary + "/"
	one.said(t, c)
	isThere(t, store, one) // before a merge has dropped the label of a name that was forgotten
	all := writers(t, d, 4)
	for _, w := range all {
		w.Client = c
	}
	if err := write(t.Context(), all, 80, 64<<10); err != nil {
		t.Fatal(err)
	}
	return one
}

func deletes(t *testing.T, c *client.Client) {
	t.Helper()
	if deleted, err := c.DeleteNamespace(t.Context(), tenant); err != nil || !deleted {
		t.Fatalf("deleted: %t, %v", deleted, err)
	}
}

// begunAnew puts into the namespace, and returns what was acknowledged.
func begunAnew(t *testing.T, c *client.Client, n int) (ids []string) {
	t.Helper()
	for i := range 50 {
		res, err := c.Put(t.Context(), client.Node{Messages: []*transcriptv1.Message{client.User(fmt.Sprintf("round %d, node %d", n, i))}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, res.NodeId)
	}
	return ids
}

// isWhole tells whether a person's chats are in the namespace, all or none.
func isWhole(t *testing.T, c *client.Client, one *person) bool {
	t.Helper()
	_, err := c.Resolve(t.Context(), one.prefix+"chat")
	found, nodesErr := c.Nodes(t.Context(), one.ids...)
	switch {
	case err == nil && nodesErr == nil && len(found.Nodes) == len(one.ids):
		viewOf(t, c, client.ByAlias(one.prefix+"chat"), transcriptv1.View_VIEW_FULL)
		return true
	case !errors.Is(err, client.ErrAliasNotFound):
		t.Fatalf("a part of it is there: %v, %v", err, nodesErr)
	}
	for _, id := range one.ids {
		if _, err := c.NodeInfo(t.Context(), client.ByID(id)); status.Code(err) != codes.NotFound && !errors.Is(err, client.ErrNodeNotFound) {
			t.Fatalf("a part of it is there: %v", err)
		}
	}
	return false
}

// haveAll holds that writers' aliases point to what was acknowledged last, and that it can be read.
func haveAll(t *testing.T, d *daemon, all []*writer) {
	t.Helper()
	for _, w := range all {
		c := d.client(t, w.namespace)
		res, err := c.Resolve(t.Context(), w.name)
		if err != nil || res.GetAlias().GetNodeId() != w.head() {
			t.Errorf("%s of %s is not where it was: %v", w.name, w.namespace, err)
			continue
		}
		viewOf(t, c, client.ByAlias(w.name), transcriptv1.View_VIEW_FULL)
	}
}

// number notes the numbers of namespaces that the keys with a canary begin with.
func number(t *testing.T, store string, one *person, numbers map[uint32]bool) {
	t.Helper()
	hits, err := canary.Search(store, nil, []byte(one.canary))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if len(h.Key) >= 4 {
			numbers[binary.BigEndian.Uint32(h.Key)] = true
		}
	}
}

// hasNone holds that no entry has a key of these numbers.
func hasNone(t *testing.T, store string, numbers map[uint32]bool) {
	t.Helper()
	left := map[string]int{}
	err := canary.Entries(store, nil, func(e canary.Entry) error {
		if len(e.Key) >= 4 && numbers[binary.BigEndian.Uint32(e.Key)] {
			left[fmt.Sprintf("%q", e.Key[:min(len(e.Key), 5)])]++
		}
		return nil
	})
	if err != nil || len(left) > 0 {
		t.Errorf("of %d numbers there are entries %v, %v", len(numbers), left, err)
	}
	if len(numbers) == 0 {
		t.Error("no number was found")
	}
}
