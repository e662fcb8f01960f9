package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client"
)

// nodeMark is before an id that could be taken for an alias.
const nodeMark = "node:"

// plainAlias is an alias, or the beginning of some, as the command line has it in every command: as it is, or with alias: before it.
func plainAlias(text string) (string, error) {
	if plain, marked := strings.CutPrefix(text, aliasMark); marked {
		return plain, nil
	}
	if strings.HasPrefix(text, nodeMark) {
		return "", fmt.Errorf("takes an alias, and %s names a node: write %sNAME for an alias that begins so", nodeMark, aliasMark)
	}
	return text, nil
}

// aliasName is an alias on the command line.
type aliasName string

// UnmarshalText reads the name for kong.
func (n *aliasName) UnmarshalText(text []byte) error {
	plain, err := plainAlias(string(text))
	if err == nil && plain == "" {
		err = errors.New("must not be empty")
	}
	*n = aliasName(plain)
	return err
}

// aliasPrefix is how aliases begin that a command is about; empty: all.
type aliasPrefix string

// UnmarshalText reads the prefix for kong.
func (p *aliasPrefix) UnmarshalText(text []byte) error {
	plain, err := plainAlias(string(text))
	*p = aliasPrefix(plain)
	return err
}

// chatName is a conversation on the command line: its id, or its alias.
type chatName struct{ id, alias string }

// UnmarshalText reads the name for kong.
func (n *chatName) UnmarshalText(text []byte) (err error) {
	plain, err := plainAlias(string(text))
	if err != nil {
		return err
	}
	begin := client.ChatAlias("")
	switch marked := plain != string(text); {
	case strings.HasPrefix(plain, begin) && plain != begin:
		n.id, n.alias = chatID(plain), plain
		return nil
	case marked:
		return fmt.Errorf("takes a conversation, and the aliases of these begin with %s", begin)
	}
	n.id = plain
	n.alias, err = chatAlias(plain)
	return err
}
