package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client"
)

// suggestion is an error about something that is not there, with what may have been meant.
type suggestion struct {
	err error
	// text is what to do, sure that it is known what was meant.
	text string
	sure bool
}

func (e *suggestion) Error() string { return e.err.Error() }
func (e *suggestion) Unwrap() error { return e.err }

// hint is what to do next; other is what would be said without a suggestion.
func (e *suggestion) hint(other string) string {
	if e.sure || other == "" {
		return e.text
	}
	return e.text + "\n" + other
}

// looked remembers the name of an alias that is looked up, for a suggestion should it not be there.
func (s *session) looked(name string) string {
	s.names = append(s.names, name)
	return name
}

// suggest adds to the error of a command, where something is not there that it names, what may have been meant.
func (s *session) suggest(ctx context.Context, err error) error {
	missing := errors.Is(err, client.ErrAliasNotFound) || errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrParentNotFound)
	if !missing || s.Client == nil {
		return err
	}
	var lines []string
	sure := false
	for _, text := range s.names {
		line, known := s.meant(ctx, text)
		if line != "" {
			lines, sure = append(lines, line), sure || known
		}
	}
	if len(lines) == 0 {
		return err
	}
	return &suggestion{err, strings.Join(lines, "\n"), sure}
}

// meant is what may have been meant by a name that is no alias's; empty where that is not known. It is sure where it is there.
func (s *session) meant(ctx context.Context, text string) (line string, sure bool) {
	if s.isAlias(ctx, text) {
		return "", false
	}
	other, err := chatAlias(text)
	if plain, cut := strings.CutPrefix(text, client.ChatAlias("")); cut {
		other, err = plain, nil
	}
	if err == nil && other != "" && s.isAlias(ctx, other) {
		return fmt.Sprintf("There is no alias %s, but there is %s: is that meant?", name(text), name(other)), true
	}
	return idMistake(text), false
}

// isAlias tells whether an alias is known to be there.
func (s *session) isAlias(ctx context.Context, alias string) bool {
	_, err := s.Resolve(ctx, alias)
	return err == nil
}

// idMistake is what keeps a text from being an id, or the beginning of one; empty where it does not look like one.
func idMistake(text string) string {
	small := strings.ToLower(text)
	var wrong []string
	if !isHex(small) {
		return ""
	}
	if small != text {
		wrong = append(wrong, "in capitals, and ids are in small letters")
	}
	switch {
	case len(text) < prefixDigits:
		wrong = append(wrong, fmt.Sprintf("too short, since the beginning of an id needs %d digits or more", prefixDigits))
	case len(text) > idDigits:
		wrong = append(wrong, fmt.Sprintf("too long, since an id has %d digits", idDigits))
	}
	if len(wrong) == 0 {
		return ""
	}
	return fmt.Sprintf("If %s is meant as an id, it is %s.", text, strings.Join(wrong, ", and "))
}
