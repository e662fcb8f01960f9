package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// letter is a line of inbox.jsonl.
type letter struct {
	ID      string `json:"id"`
	ReplyTo string `json:"reply_to"`
	Text    string `json:"text"`
}

// reply is a line of outbox.jsonl.
type reply struct {
	ID        string `json:"id"`
	InReplyTo string `json:"in_reply_to"`
	Text      string `json:"text"`
	Depth     int64  `json:"depth"`
}

// payment is a line of ledger.jsonl.
type payment struct {
	Key    string `json:"key"`
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

func (in letter) replyID() string { return "re-" + in.ID }

// callKey names a call in the world: no other message's call has it.
func (in letter) callKey(call *transcriptv1.ToolCall) string { return in.ID + "/" + call.GetId() }

// reply is the reply as people get it, of a thread that ends in it.
func (in letter) reply(thread *client.Thread, said *message) reply {
	return reply{ID: in.replyID(), InReplyTo: in.ID, Text: thread.ReplyText(said), Depth: thread.Depth()}
}

// files is the world: a folder with inbox.jsonl, outbox.jsonl, ledger.jsonl, bell.jsonl and notes/.
type files struct {
	dir string
	mu  sync.Mutex
}

// read gives the lines of a file; none where it is not there.
func read[Line any](f *files, name string) ([]Line, error) {
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []Line
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var line Line
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s, line %d is not what it should be: %w", name, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// add puts a line at the end of a file, on the disk.
func (f *files) add(name string, line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// pay pays, and tells so.
func (f *files) pay(p payment) (string, error) { return p.String(), f.add("ledger.jsonl", p) }

func (p payment) String() string { return fmt.Sprintf("paid %d to %s", p.Amount, p.To) }

// paid looks a payment up, by its key, and tells of it as pay does.
func (f *files) paid(key string) (text string, found bool, err error) {
	ledger, err := read[payment](f, "ledger.jsonl")
	for _, p := range ledger {
		if p.Key == key {
			return p.String(), true, err
		}
	}
	return "", false, err
}

// ring rings the bell. bell.jsonl is the bell's own: the agent cannot ask it.
func (f *files) ring(key string) (string, error) {
	return "rang", f.add("bell.jsonl", struct {
		Key string `json:"key"`
	}{key})
}
