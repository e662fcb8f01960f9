package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report prints the table: a row a figure, a column an SDK, and beside times how many times Go's they are.
func report(out io.Writer, all []*sdk, c *chains, sync time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s/%s, %d processors, %s, a sync takes %d µs.\n\n|", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), sync.Microseconds())
	for _, s := range all {
		b.WriteString(" | " + s.name)
	}
	b.WriteString(" |\n| ---" + strings.Repeat(" | ---:", len(all)) + " |\n")
	nodes := fmt.Sprintf("%s nodes, %s, streamed", thousands(int64(c.deep.GetMessages())), megabytes(c.deep.GetBytes()))
	for _, row := range []struct {
		what string
		of   func(*figures) float64
	}{
		{"append of 200 bytes, p50", func(f *figures) float64 { return f.Append }},
		{fmt.Sprintf("messages of a policy, %d turns, p50", sessionTurns), func(f *figures) float64 { return f.Ask }},
		{megabytes(c.long.GetBytes()) + " chain, read and decoded", func(f *figures) float64 { return f.Read }},
		{"the same, verified", func(f *figures) float64 { return f.Verified }},
		{nodes, func(f *figures) float64 { return f.Stream }},
	} {
		b.WriteString("| " + row.what)
		base := all[0].median(row.of)
		for i, s := range all {
			value := s.median(row.of)
			fmt.Fprintf(&b, " | %.3g ms", value)
			if i > 0 {
				fmt.Fprintf(&b, " (%.2g)", value/base)
			}
		}
		b.WriteString(" |\n")
	}
	b.WriteString("| memory: after 10,000 of them → the most")
	for _, s := range all {
		first, most := s.median(func(f *figures) float64 { return float64(f.Early) }), s.median(func(f *figures) float64 { return float64(f.Most) })
		fmt.Fprintf(&b, " | %s → %s", megabytes(int64(first)), megabytes(int64(most)))
	}
	b.WriteString(" |\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// median is that of the rounds.
func (s *sdk) median(of func(*figures) float64) float64 {
	var values []float64
	for i := range s.rounds {
		values = append(values, of(&s.rounds[i]))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func megabytes(n int64) string { return fmt.Sprintf("%.3g MB", float64(n)/1e6) }

func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
