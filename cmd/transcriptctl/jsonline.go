package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// errNotJSON is in every error about the JSON of a line or file. Errors tell places, never content.
var errNotJSON = errors.New("not a conversation")

// topMembers are the members of a JSON object, values as they are written. No member may be there twice.
func topMembers(data []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: not UTF-8", errNotJSON)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("%w: not a JSON object", errNotJSON)
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, malformed(d)
		}
		name, _ := key.(string) // a key is a string, or Token fails
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, malformed(d)
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("%w: a member is there twice", errNotJSON)
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, malformed(d)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows the object", errNotJSON)
	}
	return members, nil
}

func malformed(d *json.Decoder) error {
	return fmt.Errorf("%w: malformed JSON after byte %d", errNotJSON, d.InputOffset())
}

// text is the string that a JSON value is. A lone surrogate is refused: two ids could become one.
func text(member string, value json.RawMessage) (string, error) {
	var s string
	if len(value) == 0 {
		return "", fmt.Errorf("%w: %s is not there", errNotJSON, member)
	}
	if value[0] != '"' || json.Unmarshal(value, &s) != nil {
		return "", fmt.Errorf("%w: %s is not a string", errNotJSON, member)
	}
	source := string(value)
	written := strings.Count(source, "\uFFFD") + strings.Count(strings.ToLower(source), `\ufffd`)
	if strings.Count(s, "\uFFFD") > written {
		return "", fmt.Errorf("%w: %s holds a lone surrogate", errNotJSON, member)
	}
	return s, nil
}
