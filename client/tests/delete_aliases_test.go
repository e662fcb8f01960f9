package client_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func namesOf(aliases []*transcriptv1.AliasInfo) (names []string) {
	for _, a := range aliases {
		names = append(names, a.Name)
	}
	return names
}

// TestDeleteAliases: a dry run tells what goes, a deletion of which replies are lost leaves what is set meanwhile, and all is all.
func TestDeleteAliases(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	head := begun(t, c).Head()
	var moves []client.AliasMove
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprintf("tmp/%04d", i))
		moves = append(moves, client.AliasMove{Name: want[i], Target: client.ByID(head)})
	}
	must(c.SetAliases(ctx, moves...))(t)
	must(c.SetAliases(ctx, client.AliasMove{Name: "tmp/last", Target: client.ByID(head)}, client.AliasMove{Name: "stays", Target: client.ByID(head)}))(t)
	want = append(want, "tmp/last")
	if got := namesOf(collect(t, c.DeleteAliases(ctx, client.AliasDeletion{Prefix: "tmp/", DryRun: true}))); !slices.Equal(got, want) {
		t.Errorf("a dry run tells of %d", len(got))
	}
	if got := collect(t, c.DeleteAliases(ctx, client.AliasDeletion{Prefix: "tmp/", MovedBefore: time.UnixMilli(1)})); len(got) > 0 {
		t.Errorf("of long ago %d are deleted", len(got))
	}
	const deleteAliases = transcriptv1.TranscriptService_DeleteAliases_FullMethodName
	var got []string
	for a, err := range c.DeleteAliases(ctx, client.AliasDeletion{Prefix: "tmp/"}) {
		ok(t, err)
		if got = append(got, a.Name); len(got) == 1000 { // the last page is to come
			l.lost[deleteAliases] = 1
			l.meanwhile(func() {
				<-time.After(2 * time.Millisecond) // so that it moves after the first page began
				must(l.client().SetAliases(ctx, client.AliasMove{Name: "tmp/last", Target: client.ByID(head)}))(t)
			})
		}
	}
	if !slices.Equal(got, want[:1000]) {
		t.Errorf("deleted are %d, the last %s", len(got), got[len(got)-1])
	}
	points(t, c, "tmp/last", head)
	points(t, c, "stays", head)
	reversed := namesOf(collect(t, c.Aliases(ctx, client.AliasesUnder("").Reversed())))
	if latest := len(reversed) - 1; reversed[latest] != "tmp/last" {
		t.Errorf("first moved first: %q", reversed)
	}
	before := len(reversed)
	if got := collect(t, c.DeleteAliases(ctx, client.AliasDeletion{All: true})); len(got) != before {
		t.Errorf("all are %d, deleted %d", before, len(got))
	}
	for _, err := range c.DeleteAliases(ctx, client.AliasDeletion{}) {
		fails(t, err, client.ErrInvalidField)
	}
}
