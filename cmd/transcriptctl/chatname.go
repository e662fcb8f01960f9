package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/transcriptd/transcriptd/client"
)

var errBadID = errors.New("an id that no alias can keep")

// chatAlias is the alias that keeps a conversation's id: chat/ID, in which control characters, which an alias may not
// have, are written %XX byte by byte, and a % that could be read as such is written %25.
//
//	"a/b c"  chat/a/b c
//	"50%"    chat/50%
//	"a\nb"   chat/a%0Ab
//	"a%0Ab"  chat/a%250Ab
func chatAlias(id string) (string, error) {
	alias := client.ChatAlias(escapeID(id))
	switch {
	case id == "":
		return "", fmt.Errorf("%w: it is empty", errBadID)
	case len(alias) > client.MaxAliasBytes:
		return "", fmt.Errorf("%w: it takes %d bytes and may take %d", errBadID, len(alias), client.MaxAliasBytes)
	}
	return alias, nil
}

// chatID is the id that an alias keeps. What chatAlias does not write, another client's name, is the id as it is.
func chatID(alias string) string {
	name := strings.TrimPrefix(alias, client.ChatAlias(""))
	if id := unescapeID(name); escapeID(id) == name {
		return id
	}
	return name
}

func escapeID(id string) string {
	var b strings.Builder
	for i, r := range id {
		switch {
		case unicode.IsControl(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		case r == '%' && escaped(id[i:]):
			b.WriteString("%25")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unescapeID(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if !escaped(name[i:]) {
			b.WriteByte(name[i])
			continue
		}
		b.WriteByte(hexValue(name[i+1])<<4 | hexValue(name[i+2]))
		i += 2
	}
	return b.String()
}

// escaped tells whether a text begins with %XX.
func escaped(s string) bool {
	return len(s) >= 3 && s[0] == '%' && hexValue(s[1]) < 16 && hexValue(s[2]) < 16
}

// hexValue is the value of an upper-case hex digit, 255 for anything else.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
