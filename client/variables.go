package client

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// VariableKey is the metadata key of a variable whose value, as a rule JSON, is the entry's: at most 4 KiB. An empty value unsets it.
func VariableKey(name string) string { return canonical.VariableKey + name }

// VariableInfoKey is the metadata key of a variable whose value the agent keeps; its entry is a DeclaredVariable. An empty value unsets it.
func VariableInfoKey(name string) string { return canonical.VariableInfoKey + name }

// DeclaredVariable is what an agent tells of a variable whose value it keeps itself, a context of 200 kB say.
type DeclaredVariable struct {
	// Type is 1 to 64 bytes, in the agent's own words.
	Type string `json:"type"`
	// Size is the bytes of the value, and Iteration the agent's count of what it did when it set it: 0 to 2^53 - 1.
	Size int64 `json:"size"`
	// Preview is the beginning of the value. What it has of a code point that was cut is left out.
	Preview   string `json:"preview"`
	Iteration int64  `json:"iteration"`
}

// Metadata is the value of the metadata VariableInfoKey. Of a preview that is too long for metadata it has what fits.
func (v DeclaredVariable) Metadata() string {
	v.Preview = firstPoints(v.Preview, canonical.MaxMetadataValueBytes) // more never fits
	for {
		text := v.encode()
		over := len(text) - canonical.MaxMetadataValueBytes
		if over <= 0 || v.Preview == "" {
			return text
		}
		v.Preview = firstPoints(v.Preview, len(v.Preview)-max(1, over/longestEscape))
	}
}

// longestEscape is the most bytes that a byte of text takes in JSON.
const longestEscape = 6

func (v DeclaredVariable) encode() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // strings and numbers encode
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// firstPoints is as many code points as end within the first most bytes of a text.
func firstPoints(s string, most int) string {
	s = s[:min(most, len(s))]
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if end := s[len(s)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRuneInString(end) {
				return s[:len(s)-n]
			}
			break
		}
	}
	return s
}

// variablesAsked is how many variables a description tells of, and previewAsked the code points of each preview: the most that there are.
const variablesAsked, previewAsked = 64, 2000

// Variables tells of variables by their names, as they are set at a head, with previews of up to 2,000 code points: of a value that has no
// more, the whole of it. The whole of a longer one is the node's that set it (VariableInfo.SetBy): Client.NodeInfo has its metadata. Of names
// that are not set nothing is told. Where the head is an alias that moves meanwhile, all are told as of one node. Describe tells of
// variables by prefix, and of those set last.
// Errors: ErrNodeNotFound, ErrAliasNotFound, ErrInvalidField for an empty name, ErrLimitExceeded for one over 252 bytes.
func (c *Client) Variables(ctx context.Context, head Ref, names ...string) ([]*transcriptv1.VariableInfo, error) {
	var told []*transcriptv1.VariableInfo
	for some := range slices.Chunk(names, variablesAsked) {
		d, err := c.Describe(ctx, head, &transcriptv1.DescribeRequest{
			Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW, MaxItems: variablesAsked, PreviewChars: previewAsked,
			VariableNames: &transcriptv1.VariableNames{Exact: some},
		})
		if err != nil {
			return nil, err
		}
		told, head = append(told, d.Variables...), ByID(d.HeadId)
	}
	return told, nil
}
