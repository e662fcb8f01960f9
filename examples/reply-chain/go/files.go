package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/transcriptd/transcriptd/client"
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

// callKey names the i-th call of the message that a thread ends in, results aside, in the world: no other call has it. The call's own
// id would not do: models give the same one in several rounds, or none.
func (in letter) callKey(thread *client.Thread, i int) string {
	return fmt.Sprintf("%s/%d.%d", in.ID, thread.Depth(), i)
}

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
	for text := range bytes.Lines(data) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
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
	if n, failed := file.Write(append(data, '\n')); failed != nil {
		err = errors.Join(failed, cutOff(file, int64(n)))
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// cutOff takes the last bytes off a file: a line that is not whole, as on a full disk, would spoil the next one.
func cutOff(file *os.File, n int64) error {
	stat, err := file.Stat()
	if err != nil || n == 0 {
		return err
	}
	return file.Truncate(stat.Size() - n)
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
