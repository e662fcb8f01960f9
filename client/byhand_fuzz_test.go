package client

import (
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
)

// FuzzParseMessage: what is read is JSON and a message that can be put; what is not is refused in words that have no value of it.
func FuzzParseMessage(f *testing.F) {
	for _, c := range readByHandCases(f).Made {
		f.Add(c.Given)
	}
	for _, c := range readByHandCases(f).Refused {
		f.Add(c.Given)
	}
	f.Fuzz(func(t *testing.T, given string) {
		m, err := ParseMessage([]byte(given))
		list, inList := ParseMessages([]byte("[" + given + "]"))
		if err != nil {
			if m != nil || !errors.Is(err, ErrInvalidMessage) {
				t.Errorf("%q: %v, %v", given, m, err)
			}
			return
		}
		if !json.Valid([]byte(given)) || inList != nil || len(list) != 1 {
			t.Errorf("%q is read: %v, %v", given, list, inList)
		}
		if back, err := canonical.DecodePayload(canonical.AppendMessage(nil, m)); err != nil || len(back) != 1 || !proto.Equal(back[0], m) {
			t.Errorf("%q is read as %v, and decoded as %v, %v", given, m, back, err)
		}
	})
}
