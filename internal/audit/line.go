// Package audit keeps a file of what was done by whom: lines of JSON, each with its number and the hash of the one before, to which nothing
// is done but that lines are added. Verify finds what was changed, taken out, put in or cut off.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// line is a line of the file. One of its members from File to Lost is set. It ends with its own hash, which is no member:
//
//	{"seq":7,"time":"2026-11-27T12:00:00.123456Z","call":{…},"key":"5f0c31aa","prev":"HASH OF LINE 6","hash":"HASH OF THIS ONE"}
//	└────────────────────────── body ──────────────────────────────────────────────────────────────┘
//
// The hash is SHA-256 of the body, or HMAC-SHA-256 where there is a key; prev is the hash of the line before, also where that is the
// last one of another file. Part of the format: members may be added, and none change.
type line struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`

	File  *fileHead `json:"file,omitempty"`
	Start *struct{} `json:"start,omitempty"`
	Stop  *struct{} `json:"stop,omitempty"`
	Call  *call     `json:"call,omitempty"`
	Sum   *sum      `json:"sum,omitempty"`
	Torn  *torn     `json:"torn,omitempty"`
	Lost  *lost     `json:"lost,omitempty"`

	Key  string `json:"key,omitempty"`
	Prev string `json:"prev"`

	// of is what Call is made of, by the salt of the file that the line comes into.
	of *Record
}

// fileHead is the first line of each file.
type fileHead struct {
	Format int `json:"format"`
	// Salt is what stands in for a key in Key.Name; empty where there is one.
	Salt string `json:"salt,omitempty"`
}

// format is the number of the format of lines.
const format = 1

// call tells of one call.
type call struct {
	Principal string `json:"principal"`
	Method    string `json:"method"`
	Namespace string `json:"namespace,omitempty"`
	WholeOf   string `json:"scope,omitempty"`
	DryRun    bool   `json:"dry_run,omitempty"`
	// ForgetHistory says that histories of aliases were to go.
	ForgetHistory bool     `json:"forget_history,omitempty"`
	Selector      string   `json:"selector,omitempty"`
	Nodes         []string `json:"nodes,omitempty"`
	NodeCount     int      `json:"node_count,omitempty"`
	// Aliases are what Key.Name makes of names.
	Aliases    []string `json:"aliases,omitempty"`
	AliasCount int      `json:"alias_count,omitempty"`
	Code       string   `json:"code"`
	Reason     string   `json:"reason,omitempty"`
	RequestID  string   `json:"request_id,omitempty"`
	Peer       string   `json:"peer,omitempty"`
}

// sum tells of calls that changed nothing and came faster than they are told one by one.
type sum struct {
	Code   string    `json:"code"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	// Methods are how many calls of each there were.
	Methods map[string]uint64 `json:"methods"`
	// Principals are how many calls of each there were, "" for callers who were not known: of the first summedPrincipals; Others are how many
	// calls there were of further ones.
	Principals map[string]uint64 `json:"principals,omitempty"`
	Others     uint64            `json:"other_principals,omitempty"`
}

// torn tells of bytes before its line that are no lines as they were written. A process that was killed, or a machine that lost power, left
// them, and the next process found them: they stay where they are.
type torn struct {
	// Bytes is how many they are, without a line break behind them that was added; Lines how many ends of lines are among them.
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`
}

// lost tells how many lines could not be written, nor kept until they could.
type lost struct {
	Count uint64 `json:"count"`
}

// Bounds of a line, in bytes and in the members of lists.
const (
	maxLine = 64 << 10
	maxText = 256
	// Listed is how many nodes and aliases of a call are listed; all are counted.
	Listed = 16
)

// hashHead and hashTail are around the hash at a line's end.
const (
	hashHead  = `,"hash":"`
	hashTail  = `"}`
	hashBytes = 64
	endBytes  = len(hashHead) + hashBytes + len(hashTail)
)

// noHash is before the first line of all.
var noHash = strings.Repeat("0", hashBytes)

// seal makes a line's bytes, with the line break, and its hash.
func (l *line) seal(key *Key) (sealed []byte, hash string, err error) {
	l.Key = key.ID()
	body, err := json.Marshal(l)
	if err != nil {
		return nil, "", err
	}
	body = body[:len(body)-1]
	hash = key.sum(body)
	return append(body, hashHead+hash+hashTail+"\n"...), hash, nil
}

var (
	errNoLine  = errors.New("not a line of an audit")
	errChanged = errors.New("its hash does not fit: it was changed")
)

// read is a line that was read.
type read struct {
	line
	body []byte
	hash string
}

// parse reads a line, without its line break. Whether its hash is right is not judged.
func parse(text []byte) (*read, error) {
	if len(text) <= endBytes || len(text) > maxLine {
		return nil, errNoLine
	}
	body, end := text[:len(text)-endBytes], text[len(text)-endBytes:]
	hash, headed := bytes.CutPrefix(end, []byte(hashHead))
	hash, tailed := bytes.CutSuffix(hash, []byte(hashTail))
	if !headed || !tailed {
		return nil, errNoLine
	}
	r := &read{body: body, hash: string(hash)}
	if err := json.Unmarshal(append(bytes.Clone(body), '}'), &r.line); err != nil || r.Seq == 0 {
		return nil, errNoLine
	}
	return r, nil
}

// intact tells whether a line is as the one who has a key made it.
func (r *read) intact(key *Key) error {
	if r.Key != key.ID() {
		return fmt.Errorf("%w: of another key", errChanged)
	}
	if key.sum(r.body) != r.hash {
		return errChanged
	}
	return nil
}
