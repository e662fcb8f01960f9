package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain measures the SDK in Go where it is asked to, as main does; or, as "other", tells what an SDK might.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == measureCommand:
		main()
	case len(os.Args) > 1 && os.Args[1] == "other":
		if err := json.NewEncoder(os.Stdout).Encode(figures{Append: 2, Messages: early, Early: 1e6, Most: 2e6}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	default:
		os.Exit(m.Run())
	}
}

// Go is measured from the beginning to the end, and another beside it.
func TestFigures(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := []*sdk{{name: "Go", command: []string{self, measureCommand}}, {name: "Other", command: []string{self, "other"}}}
	var out, notes bytes.Buffer
	if err := measureAll(t.Context(), all, 2, early, &out, &notes); err != nil {
		t.Fatalf("%v\n%s", err, &notes)
	}
	for _, f := range all[0].rounds {
		if f.Append <= 0 || f.Ask <= 0 || f.Read <= 0 || f.Verified <= 0 || f.Stream <= 0 || f.Messages != early || f.Most < f.Early {
			t.Errorf("got %+v", f)
		}
	}
	for _, want := range []string{"| | Go | Other |", "3.5 MB chain", "10,000 nodes, 3.31 MB, streamed", "1 MB → 2 MB |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	short := []*sdk{{name: "Other", command: []string{self, "other"}}}
	if err := measureAll(t.Context(), short, 1, 2*early, &out, &notes); err == nil || !strings.Contains(err.Error(), "10000 messages came of 20000") {
		t.Errorf("got %v", err)
	}
}

func TestFlags(t *testing.T) {
	var notes bytes.Buffer
	for _, args := range [][]string{{"-rounds", "0"}, {"-deep", "1"}, {"more"}, {"-fast"}} {
		if err := run(t.Context(), args, &notes, &notes); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
	if err := run(t.Context(), []string{"-h"}, &notes, &notes); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
}
