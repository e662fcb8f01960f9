package main

import (
	"iter"
	"regexp"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// withLimits writes -5 as --limit=5 where a command has that flag, as other tools that list have it.
func withLimits(k *kong.Kong, args []string) []string {
	count := regexp.MustCompile(`^-[0-9]+$`)
	line := &completion{at: k.Model.Node}
	words := make([]string, len(args))
	for i, word := range args {
		bounded := line.asked == nil && !line.noFlags && count.MatchString(word) &&
			line.flag(func(f *kong.Flag) bool { return f.Name == "limit" }) != nil
		if words[i] = word; bounded {
			words[i] = "--limit=" + word[1:]
		}
		line.pass(words[i])
	}
	return words
}

// since are the entries of a listing from a time on. Where they are sorted, the newest first, the first that is older ends them.
func since[T any](f sinceFlag, entries iter.Seq2[T, error], sorted bool, at func(T) *timestamppb.Timestamp) iter.Seq2[T, error] {
	if f.Since == nil {
		return entries
	}
	return func(yield func(T, error) bool) {
		for entry, err := range entries {
			old := err == nil && !f.has(at(entry))
			if old && sorted || !old && !yield(entry, err) {
				return
			}
		}
	}
}

// printSome prints the first n entries of a listing, each as it comes; 0: all. It tells how many.
func printSome[T any](s *session, entries iter.Seq2[T, error], n uint, print func(T) error) (printed uint, err error) {
	for entry, err := range entries {
		if err != nil {
			return printed, err
		}
		if err := print(entry); err != nil {
			return printed, err
		}
		if err := s.out.Flush(); err != nil {
			return printed, err
		}
		if printed++; printed == n {
			break
		}
	}
	return printed, nil
}

// listed is how many entries are printed of listings that are bounded where no limit is given.
const listed = 20

// limit is that of a listing that is bounded; nil where none is given.
type limit *uint

// pageSize is what to ask the server for, at most most, to know whether there is more than a limit.
func pageSize(n limit, most uint) int32 {
	switch {
	case n == nil:
		return listed + 1
	case *n == 0:
		return int32(most)
	}
	return int32(min(*n, most))
}

// printListed is printSome of a listing that is bounded. Where no limit was given and there is more, it says so.
func printListed[T any](s *session, entries iter.Seq2[T, error], n limit, print func(T) error) (printed uint, err error) {
	if n != nil {
		return printSome(s, entries, *n, print)
	}
	more := false
	printed, err = printSome(s, first(entries, listed, &more), 0, print)
	if more {
		s.remark("these are the first %d, there is more; -n N prints N, -n 0 all", listed)
	}
	return printed, err
}

// first are the first n entries; more is set where one comes behind them.
func first[T any](entries iter.Seq2[T, error], n int, more *bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := n
		for entry, err := range entries {
			if *more = err == nil && left == 0; *more || !yield(entry, err) {
				return
			}
			left--
		}
	}
}
