package chainstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func TestConditionHolds(t *testing.T) {
	x, y, target := chainstore.ID{1}, chainstore.ID{2}, chainstore.ID{3}
	onX := chainstore.Condition{Kind: chainstore.HeadIs, Head: x}
	for _, c := range []struct {
		name      string
		condition chainstore.Condition
		remove    bool
		// Whether it holds of an alias that does not exist, points to x, to y, to the target.
		absent, atX, atY, atTarget bool
	}{
		{"any", chainstore.Condition{}, false, true, true, true, true},
		{"must not exist", chainstore.Condition{Kind: chainstore.MustNotExist}, false, true, false, false, true},
		{"must exist", chainstore.Condition{Kind: chainstore.MustExist}, false, false, true, true, true},
		{"head is x", onX, false, false, true, false, true},
		{"any, delete", chainstore.Condition{}, true, true, true, true, true},
		{"must exist, delete", chainstore.Condition{Kind: chainstore.MustExist}, true, false, true, true, true},
		{"head is x, delete", onX, true, true, true, false, false},
	} {
		to := &target
		if c.remove {
			to = nil
		}
		for _, at := range []struct {
			exists bool
			head   chainstore.ID
			want   bool
		}{{false, chainstore.ID{}, c.absent}, {true, x, c.atX}, {true, y, c.atY}, {true, target, c.atTarget}} {
			change := chainstore.AliasChange{Condition: c.condition}
			if got, _ := change.Holds(&chainstore.AliasNow{Exists: at.exists, Head: at.head}, to, nil); got != at.want {
				t.Errorf("%s of an alias (exists: %t) at %s: %t", c.name, at.exists, at.head.Prefix(), got)
			}
		}
	}
	zero := chainstore.ID{}
	change := chainstore.AliasChange{Condition: chainstore.Condition{Kind: chainstore.HeadIs}}
	if holds, _ := change.Holds(&chainstore.AliasNow{}, &zero, nil); holds {
		t.Error("an alias that does not exist points to the zero id")
	}
}

// TestExtendsHolds: a store is asked only where the alias is there, and neither at the head nor at the target.
func TestExtendsHolds(t *testing.T) {
	x, y, target := chainstore.ID{1}, chainstore.ID{2}, chainstore.ID{3}
	failed := errors.New("failed")
	change := chainstore.AliasChange{Condition: chainstore.Condition{Kind: chainstore.Extends, Head: x}}
	for _, c := range []struct {
		name        string
		exists      bool
		head        chainstore.ID
		answer      bool
		err         error
		asks, holds bool
	}{
		{"no alias", false, chainstore.ID{}, true, nil, false, false},
		{"at the head", true, x, false, nil, false, true},
		{"at the target", true, target, false, nil, false, true},
		{"behind the head", true, y, true, nil, true, true},
		{"elsewhere", true, y, false, nil, true, false},
		{"where it cannot be told", true, y, false, failed, true, false},
	} {
		asked := 0
		holds, err := change.Holds(&chainstore.AliasNow{Exists: c.exists, Head: c.head}, &target, func() (bool, error) {
			asked++
			return c.answer, c.err
		})
		if holds != c.holds || err != c.err || (asked > 0) != c.asks || asked > 1 {
			t.Errorf("%s: %t, %v, asked %d times", c.name, holds, err, asked)
		}
	}
	zero := chainstore.AliasChange{Condition: chainstore.Condition{Kind: chainstore.Extends}}
	if holds, _ := zero.Holds(&chainstore.AliasNow{}, &target, nil); holds {
		t.Error("an alias that does not exist extends the zero id")
	}
}

func TestEffectiveParent(t *testing.T) {
	x := chainstore.ID{1}
	headIs := chainstore.Condition{Kind: chainstore.HeadIs, Head: x}
	alias := chainstore.Parent{Kind: chainstore.ParentAlias, Alias: "a"}
	byID := chainstore.Parent{Kind: chainstore.ParentID, ID: chainstore.ID{2}}
	previous := chainstore.Parent{Kind: chainstore.ParentPrevious}
	conditioned := chainstore.Parent{Kind: chainstore.ParentID, ID: x}
	for i, c := range []struct {
		parent  chainstore.Parent
		aliases []chainstore.AliasChange
		want    chainstore.Parent
	}{
		{alias, nil, alias},
		{alias, []chainstore.AliasChange{{Name: "b", Condition: headIs}}, alias},
		{alias, []chainstore.AliasChange{{Name: "b"}, {Name: "a", Condition: headIs}}, conditioned},
		{alias, []chainstore.AliasChange{{Name: "a", Condition: chainstore.Condition{Kind: chainstore.MustExist}}}, alias},
		{alias, []chainstore.AliasChange{{Name: "a", Target: chainstore.Target{Kind: chainstore.TargetNone}, Condition: headIs}}, conditioned},
		{alias, []chainstore.AliasChange{{Name: "a", Condition: chainstore.Condition{Kind: chainstore.Extends, Head: x}}}, alias},
		{byID, []chainstore.AliasChange{{Name: "a", Condition: headIs}}, byID},
		{previous, []chainstore.AliasChange{{Name: "", Condition: headIs}}, previous},
		{chainstore.Parent{}, []chainstore.AliasChange{{Name: "", Condition: headIs}}, chainstore.Parent{}},
	} {
		change := &chainstore.Change{Nodes: []chainstore.NewNode{{}, {Parent: c.parent}}, Aliases: c.aliases}
		if got := change.EffectiveParent(1); got != c.want {
			t.Errorf("case %d: the parent is %+v, want %+v", i, got, c.want)
		}
	}
}

func TestConflictErrorAddsUp(t *testing.T) {
	no, must, head, on := chainstore.MustNotExist, chainstore.MustExist, chainstore.HeadIs, chainstore.Extends
	for _, c := range []struct {
		kinds []chainstore.ConditionKind
		want  error
	}{
		{[]chainstore.ConditionKind{no}, chainstore.ErrAliasExists},
		{[]chainstore.ConditionKind{no, no}, chainstore.ErrAliasExists},
		{[]chainstore.ConditionKind{must, must}, chainstore.ErrAliasNotFound},
		{[]chainstore.ConditionKind{head}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{no, must}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{must, no, must}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{no, head}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{must, head}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{no, must, head}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{on}, chainstore.ErrAliasMoved},
		{[]chainstore.ConditionKind{no, on}, chainstore.ErrAliasMoved},
	} {
		e := &chainstore.ConflictError{}
		for i, k := range c.kinds {
			e.Conflicts = append(e.Conflicts, chainstore.Conflict{Index: i, Kind: k})
		}
		err := fmt.Errorf("commit: %w", e)
		for _, sentinel := range []error{chainstore.ErrAliasExists, chainstore.ErrAliasNotFound, chainstore.ErrAliasMoved} {
			if errors.Is(err, sentinel) != (sentinel == c.want) {
				t.Errorf("kinds %v: is %v: %t", c.kinds, sentinel, errors.Is(err, sentinel))
			}
		}
		if e.Error() != c.want.Error() {
			t.Errorf("kinds %v: says %q", c.kinds, e.Error())
		}
	}
}

func TestParseID(t *testing.T) {
	digits := strings.Repeat("0123456789abcdef", 4)
	id, err := chainstore.ParseID(digits)
	if err != nil || id.String() != digits || id.Prefix() != digits[:12] {
		t.Fatalf("%s came back as %s (%v)", digits, id, err)
	}
	for _, bad := range []string{
		"", "0", digits[:63], digits + "0", strings.ToUpper(digits), digits[:63] + "g", digits[:63] + " ", digits[:62] + "é",
		"0x" + digits[:62], digits[:63] + "\x00", digits[:63] + "/", digits[:63] + ":", digits[:63] + "`",
	} {
		got, err := chainstore.ParseID(bad)
		if err == nil {
			t.Errorf("%q is taken for an id", bad)
			continue
		}
		if got != (chainstore.ID{}) {
			t.Errorf("%q gives an id and an error", bad)
		}
		if len(bad) > 1 && strings.Contains(err.Error(), bad) {
			t.Errorf("the error repeats %q", bad)
		}
	}
}

func TestFolders(t *testing.T) {
	for name, want := range map[string][]string{
		"a": {""}, "a/b": {"", "a"}, "a/b/c": {"", "a", "a/b"}, "a/": {"", "a"}, "/": {""}, "/a": {""}, "/a/b": {"", "/a"}, "//": {"", "/"},
		"a//b": {"", "a", "a/"}, "日本/語": {"", "日本"}, "1/2/3/4/5/6/7/8/9": {"", "1", "1/2", "1/2/3", "1/2/3/4", "1/2/3/4/5", "1/2/3/4/5/6", "1/2/3/4/5/6/7"},
	} {
		got := slices.Collect(chainstore.Folders(name))
		if !slices.Equal(got, want) {
			t.Errorf("%q lies under %q, want %q", name, got, want)
		}
		for i, folder := range got {
			if level := chainstore.FolderLevel(folder); level != i+1 || !chainstore.IsUnder(name, folder) {
				t.Errorf("%q is of level %d; that %q lies under it: %v", folder, level, name, chainstore.IsUnder(name, folder))
			}
		}
	}
	for _, c := range [][2]string{{"a", "a"}, {"ab", "a"}, {"a", "a/b"}, {"a/b", "a/"}, {"x/a/b", "a"}} {
		if chainstore.IsUnder(c[0], c[1]) {
			t.Errorf("%q lies under %q", c[0], c[1])
		}
	}
	if got := chainstore.FolderLevel("1/2/3/4/5/6/7/8"); got != chainstore.FolderLevels+1 {
		t.Error(got)
	}
}

// TestHeaderSaysWhatItHolds: which marks are repairs and which are only findings.
func TestHeaderSaysWhatItHolds(t *testing.T) {
	for _, c := range []struct {
		mark               runloop.Mark
		repaired, findings bool
	}{
		{runloop.Mark{}, false, false},
		{runloop.Mark{BeginsLoop: true, LineLength: 9}, false, false},
		{runloop.Mark{LeftOut: runloop.Orphan}, true, true},
		{runloop.Mark{Stubs: []runloop.Call{{}}}, true, true},
		{runloop.Mark{RepeatedIDs: 1}, false, true},
		{runloop.Mark{Interrupts: true}, false, true},
		{runloop.Mark{LeadIn: true}, false, true},
	} {
		h := chainstore.Header{Messages: []runloop.Brief{{}, {Mark: c.mark}}}
		if h.Repaired() != c.repaired || h.HasFindings() != c.findings {
			t.Errorf("%+v: repaired %t, findings %t", c.mark, h.Repaired(), h.HasFindings())
		}
	}
}
