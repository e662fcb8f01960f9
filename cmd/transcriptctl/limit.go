package main

import "iter"

// printSome prints the first n entries of a listing, each as it comes; 0: all.
func printSome[T any](s *session, entries iter.Seq2[T, error], n uint, print func(T) error) error {
	left := n
	for entry, err := range entries {
		if err != nil {
			return err
		}
		if err := print(entry); err != nil {
			return err
		}
		if err := s.out.Flush(); err != nil {
			return err
		}
		if left--; n > 0 && left == 0 {
			return nil
		}
	}
	return nil
}
