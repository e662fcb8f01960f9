package fairstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// racers append to one alias.
type racers struct {
	*testing.T
	*Store
}

func newRacers(t *testing.T) *racers {
	r := &racers{t, New(memstore.New(memstore.Options{}))}
	if _, err := r.append(t.Context(), chainstore.ID{}, 0); err != nil {
		t.Fatal(err)
	}
	return r
}

// append puts node n, whose id is n, on head, if the alias is there; on none the alias is made.
func (r *racers) append(ctx context.Context, head chainstore.ID, n byte) (now chainstore.ID, err error) {
	change := &chainstore.Change{
		Nodes:   []chainstore.NewNode{{Identify: func(*chainstore.ID) chainstore.ID { return id(n) }}},
		Aliases: []chainstore.AliasChange{{Name: "chat"}},
	}
	if head != (chainstore.ID{}) {
		change.Nodes[0].Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: head}
		change.Aliases[0].Condition = chainstore.Condition{Kind: chainstore.HeadIs, Head: head}
	}
	done, err := r.Commit(ctx, "default", change)
	var conflict *chainstore.ConflictError
	if errors.As(err, &conflict) {
		return conflict.Conflicts[0].Node, err
	}
	if err != nil {
		return chainstore.ID{}, err
	}
	return done.Nodes[0].ID, nil
}

func id(n byte) chainstore.ID { return chainstore.ID{n, 1} }

// lose puts node n on a head from which the alias has moved, and tells once it is told of that.
func (r *racers) lose(ctx context.Context, head chainstore.ID, n byte, told chan<- byte) {
	go func() {
		_, _ = r.append(ctx, head, n)
		told <- n
	}()
	synctest.Wait()
}

// testRace is a race of which the test is the winner.
type testRace struct {
	*racers
	head chainstore.ID
	next byte
	told chan byte
}

func newTestRace(t *testing.T) *testRace {
	return &testRace{racers: newRacers(t), head: id(0), next: 100, told: make(chan byte, 10)}
}

// win moves the alias, to id(101) at first, and returns who is told then; 0: nobody.
func (r *testRace) win() (n byte) {
	r.Helper()
	r.next++
	var err error
	if r.head, err = r.append(r.Context(), r.head, r.next); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	select {
	case n = <-r.told:
	default:
	}
	return n
}

// tells asserts who is told as the alias moves, one after the other.
func (r *testRace) tells(wanted ...byte) {
	r.Helper()
	for _, want := range wanted {
		if n := r.win(); n != want {
			r.Errorf("%d is told, not %d", n, want)
		}
	}
}

// The first who loses is told at once; the others one by one as the alias moves on, each of where it is then.
func TestLosersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRacers(t)
		begin := time.Now()
		if _, err := r.append(t.Context(), id(0), 1); err != nil {
			t.Fatal(err)
		}
		if now, err := r.append(t.Context(), id(0), 2); !errors.Is(err, chainstore.ErrAliasMoved) || now != id(1) {
			t.Fatalf("the first loser: %v, %v", now, err)
		}
		told := make(chan string, 3)
		for n := byte(3); n < 6; n++ {
			go func() {
				now, err := r.append(t.Context(), id(0), n)
				told <- fmt.Sprint(n, now == id(n+7), errors.Is(err, chainstore.ErrAliasMoved))
			}()
			synctest.Wait()
		}
		if len(told) != 0 {
			t.Fatalf("%s is told at once", <-told)
		}
		head := id(1)
		for n := byte(3); n < 6; n++ {
			now, err := r.append(t.Context(), head, n+7)
			if err != nil {
				t.Fatal(err)
			}
			head = now
			synctest.Wait()
			if got, want := <-told, fmt.Sprint(n, true, true); got != want || len(told) != 0 {
				t.Errorf("told %s, want %s; and %d more", got, want, len(told))
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %v", took)
		}
		if _, err := r.append(t.Context(), head, 20); err != nil || len(r.races) != 0 {
			t.Errorf("%v; %d races go on", err, len(r.races))
		}
	})
}

// Who waits for a move that does not come goes after turnTime, or when the context ends.
func TestTurnsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRacers(t)
		if _, err := r.append(t.Context(), id(0), 1); err != nil {
			t.Fatal(err)
		}
		for n := range byte(2) { // the first, who does not wait, and the second, who does
			begin := time.Now()
			now, err := r.append(t.Context(), id(0), 2+n)
			if !errors.Is(err, chainstore.ErrAliasMoved) || now != id(1) {
				t.Errorf("%v, %v", now, err)
			}
			if took, want := time.Since(begin), time.Duration(n)*turnTime; took != want {
				t.Errorf("loser %d waits for %v, want %v", n, took, want)
			}
		}
		if len(r.races) != 0 {
			t.Errorf("%d races go on", len(r.races))
		}
		_, _ = r.append(t.Context(), id(0), 4) // the first again
		ctx, leave := context.WithTimeout(t.Context(), turnTime/2)
		defer leave()
		begin := time.Now()
		_, err := r.append(ctx, id(0), 5)
		if took := time.Since(begin); !errors.Is(err, chainstore.ErrAliasMoved) || took >= turnTime/2 || took < turnTime/4 {
			t.Errorf("with a deadline: %v after %v", err, took)
		}
		time.Sleep(turnTime) // on the fake clock
		synctest.Wait()
		if len(r.races) != 0 {
			t.Errorf("%d races go on", len(r.races))
		}
	})
}

// While the alias moves on, who waits keeps its turn, however long that takes in all.
func TestTurnsGoOnWhileTheAliasMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRacers(t)
		head, err := r.append(t.Context(), id(0), 1)
		if err != nil {
			t.Fatal(err)
		}
		const racing = 10
		told := make(chan byte, racing)
		for n := byte(2); n < 2+racing; n++ {
			r.lose(t.Context(), id(0), n, told)
		}
		<-told // the first, at once
		for n := byte(3); n < 2+racing; n++ {
			time.Sleep(turnTime * 3 / 4) // on the fake clock
			synctest.Wait()
			if len(told) != 0 {
				t.Fatalf("%d is told before the alias moves", <-told)
			}
			if head, err = r.append(t.Context(), head, n+100); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := <-told; got != n || len(told) != 0 {
				t.Errorf("%d is told, not %d; and %d more", got, n, len(told))
			}
		}
	})
}

// Who was told and loses again is told before those who were not told yet; who puts something else is not known, and who repeats a
// call as it was stands behind.
func TestWhoLosesAgainGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRace(t)
		lose := func(head chainstore.ID, n byte) { r.lose(t.Context(), head, n, r.told) }
		r.win()
		for n := byte(2); n <= 5; n++ {
			lose(id(0), n)
		}
		if first := <-r.told; first != 2 {
			t.Fatalf("%d is told at once", first)
		}
		r.tells(3, 4)
		lose(id(101), 6)
		lose(id(0), 2) // as it was
		lose(id(101), 4)
		lose(id(101), 3) // told before, too, but came after 4
		r.tells(4, 3, 5, 6, 2, 0)
		if len(r.races) != 0 {
			t.Errorf("%d races go on", len(r.races))
		}
	})
}

// Where those who were told lose each time, the others are told all the same.
func TestWhoLosesAgainKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRace(t)
		r.win()
		for n := byte(2); n <= 4; n++ {
			r.lose(t.Context(), id(0), n, r.told)
		}
		<-r.told // the first, at once
		for moves, waiting := 0, 2; waiting > 0; moves++ {
			if moves > 3*(mostInRow+1) {
				t.Fatalf("%d wait still after %d moves", waiting, moves)
			}
			lost := r.head
			n := r.win()
			if n == 3 || n == 4 {
				waiting--
			}
			r.lose(t.Context(), lost, 2, r.told) // always slower than the winner
		}
		for r.win() != 0 {
		}
	})
}

// No move is spent on who could wait no longer, and nothing of it is kept but that it was told.
func TestWhoLeavesTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRace(t)
		r.tells(0, 0)
		lose := func(ctx context.Context, n byte) { r.lose(ctx, id(0), n, r.told) }
		lose(t.Context(), 2)
		short, leave := context.WithTimeout(t.Context(), turnTime/2)
		defer leave()
		gone, cancel := context.WithCancel(t.Context())
		lose(short, 3)
		lose(gone, 4)
		lose(t.Context(), 5)
		cancel()
		time.Sleep(turnTime / 2) // on the fake clock
		synctest.Wait()
		if len(r.told) != 3 {
			t.Fatalf("%d callers are told before the alias moves, want 2, 3 and 4", len(r.told))
		}
		for range 3 {
			<-r.told
		}
		lose(t.Context(), 6)
		r.lose(t.Context(), id(101), 3, r.told) // told before
		r.tells(3, 5, 6, 0)
	})
}
