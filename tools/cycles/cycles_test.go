package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// write makes a module of files whose names and texts are given.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files["go.mod"] = "module example.org/m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCycles(t *testing.T) {
	dir := write(t, map[string]string{
		"a.go": "package m\n\ntype A struct{ b *B }\n\nfunc (a *A) N() int { return a.b.n }\n",
		"b.go": "package m\n\ntype B struct{ n int; c C }\n",
		"c.go": "package m\n\ntype C int\n\nfunc (c C) Up(a *A) int { return a.N() }\n",
		"d.go": "package m\n\nimport \"fmt\"\n\nfunc D(a *A) string { return fmt.Sprint(a.N()) }\n",
	})
	packages, exports, err := list(dir, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	uses, err := usesOf(packages[0], exports)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := largest(components(uses)), []string{"a.go", "b.go", "c.go"}; !slices.Equal(got, want) {
		t.Errorf("the cycle is %v, want %v", got, want)
	}
	for most, want := range map[int]int{2: 1, 3: 0} {
		if large, err := report(dir, []string{"./..."}, most, false, ""); large != want || err != nil {
			t.Errorf("%d packages have a cycle of more than %d files, want %d (%v)", large, most, want, err)
		}
	}
	if large, _ := report(dir, []string{"./..."}, 2, false, "example.org/m/"); large != 0 {
		t.Error("a package that is passed over counts")
	}
}

func TestNoCycle(t *testing.T) {
	dir := write(t, map[string]string{
		"a.go": "package m\n\nfunc a() int { return b() }\n",
		"b.go": "package m\n\nfunc b() int { return 1 }\n",
	})
	if large, err := report(dir, []string{"./..."}, 1, true, ""); large != 0 || err != nil {
		t.Errorf("%d packages have a cycle (%v)", large, err)
	}
}
