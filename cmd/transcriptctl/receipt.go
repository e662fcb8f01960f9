package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type receiptCommand struct {
	Show   receiptShowCommand   `cmd:"" help:"Show the receipt of a node that was erased."`
	Verify receiptVerifyCommand `cmd:"" help:"Check the signature of a receipt, and say what it proves."`
}

type receiptShowCommand struct {
	Nodes []string `arg:"" name:"NODE" completes:"alias" help:"The nodes: ids, beginnings of ids (6 digits or more), or aliases. Of one that was collected since, the whole id."`
}

func (c *receiptShowCommand) Help() string {
	return `Shows what the receipts of nodes say, and whether the content has left the files of the store. With --output json each is a line, which 'receipt verify --file' reads. Examples:

    transcriptctl receipt show 3f9a1c2b
    transcriptctl receipt show 3f9a1c2b 475d24b5 --output json > receipts.jsonl`
}

// Run shows receipts.
func (c *receiptShowCommand) Run(ctx context.Context, s *session) error {
	receipts, err := readReceipts(ctx, s, c.Nodes)
	if err != nil {
		return err
	}
	for i, receipt := range receipts {
		if s.json {
			if err := s.printReply(receipt); err != nil {
				return err
			}
			continue
		}
		says, err := canonical.CheckReceipt(receipt.GetReceipt())
		if err != nil {
			return err
		}
		key := hex.EncodeToString(receipt.GetReceipt().GetPublicKey())
		if err := s.printNext(i, append(receiptRows(says), [2]string{"left the files", leftFiles(receipt)}, [2]string{"key", key})); err != nil {
			return err
		}
	}
	return nil
}

// printNext prints rows, behind an empty line where others were printed.
func (s *session) printNext(before int, rows [][2]string) error {
	if before > 0 {
		if err := s.printLine(""); err != nil {
			return err
		}
	}
	return s.printRows(rows)
}

func leftFiles(r *transcriptv1.NodeReceipt) string {
	if r.GetPurgedAt() == nil {
		return "not yet"
	}
	return clock(r.GetPurgedAt())
}

func receiptRows(r *transcriptv1.ErasureReceipt) [][2]string {
	return [][2]string{
		{"node", hex.EncodeToString(r.GetNodeId())}, {"erased", clock(r.GetErasedAt())}, {"reference", orDash(visible(r.GetReference()))},
		{"namespace", visible(r.GetNamespace())}, {"store", visible(r.GetStoreId())},
	}
}

// ofNode is an error of a node, which it names. A beginning of an id finds no node that was collected.
func ofNode(node string, err error) error {
	err = fmt.Errorf("%s: %w", visible(node), err)
	if isHex(node) && len(node) < idDigits && errors.Is(err, client.ErrNodeNotFound) {
		err = &suggestion{err: err, sure: true, text: "A node that was collected since it was erased is found by its whole id alone."}
	}
	return err
}

// ofField is an error of the server about one of the nodes that a field of the request lists.
func ofField(field string, nodes []string, err error) error {
	var remote *client.Error
	if !errors.As(err, &remote) || len(remote.Violations) != 1 {
		return err
	}
	for i, node := range nodes {
		if remote.Violations[0].Field == fmt.Sprintf("%s[%d]", field, i) {
			return fmt.Errorf("%s: %w", visible(node), err)
		}
	}
	return err
}

// erasable is the id of a node, which may be erased, or gone where it is a whole id.
func erasable(ctx context.Context, s *session, node string) (string, error) {
	ref, err := s.ref(ctx, node)
	if err != nil || ref.NodeRef().GetAlias() == "" {
		return ref.NodeRef().GetNodeId(), err
	}
	found, err := s.Resolve(ctx, ref.NodeRef().GetAlias())
	return found.GetAlias().GetNodeId(), err
}

// maxReceipts is how many receipts a call asks for.
const maxReceipts = 1000

// readReceipts asks for the receipts of nodes.
func readReceipts(ctx context.Context, s *session, nodes []string) (receipts []*transcriptv1.NodeReceipt, err error) {
	ids := make([]string, len(nodes))
	for i, node := range nodes {
		if ids[i], err = erasable(ctx, s, node); err != nil {
			return nil, ofNode(node, err)
		}
	}
	for some := range slices.Chunk(ids, maxReceipts) {
		got, err := s.Receipts(ctx, some...)
		if err != nil {
			return nil, ofField("node_ids", nodes[len(receipts):], err)
		}
		for i := range some {
			if len(got) != len(some) || got[i].GetNodeId() != some[i] {
				return nil, errBadReply
			}
		}
		receipts = append(receipts, got...)
	}
	return receipts, nil
}

type receiptVerifyCommand struct {
	Nodes []string  `arg:"" optional:"" name:"NODE" completes:"alias" help:"The nodes whose receipts the server is asked for."`
	File  string    `type:"path" placeholder:"FILE" help:"A file with receipts instead, as 'receipt show --output json' prints them; - for standard input."`
	Key   publicKey `name:"public-key" placeholder:"KEY" help:"The public key that must have signed them, in hex or base64, as 'transcriptctl version --server' tells it. Default: that of the server, so give it to rely on no server."`
}

// publicKey is an Ed25519 public key, in hex or base64.
type publicKey []byte

// UnmarshalText reads it.
func (k *publicKey) UnmarshalText(text []byte) error {
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString} {
		if key, err := decode(string(text)); err == nil && len(key) == ed25519.PublicKeySize {
			*k = key
			return nil
		}
	}
	return errors.New("must be a public key, 64 hex digits or 44 of base64: 'transcriptctl version --server' tells it")
}

func (c *receiptVerifyCommand) Help() string {
	return `A receipt proves that whoever has the store's key has said that the store erased the node, and when. When the content left the files the server tells beside it, unsigned. It does not prove that no copy is elsewhere, such as in a backup. Each is checked; those that do not verify are named, with exit code 6. Examples:

    transcriptctl receipt verify 3f9a1c2b
    transcriptctl receipt verify --file receipts.jsonl --public-key 9f2c…`
}

// errReceipt says that a receipt proves nothing.
var errReceipt = errors.New("the receipt does not verify")

// Run verifies receipts.
func (c *receiptVerifyCommand) Run(ctx context.Context, s *session) error {
	if (len(c.Nodes) == 0) == (c.File == "") {
		return usagef("give NODE or --file")
	}
	receipts, err := c.read(ctx, s)
	if err != nil {
		return err
	}
	key := c.Key
	if key == nil {
		info, err := s.ServerInfo(ctx)
		if err != nil {
			return err
		}
		if key = info.GetReceiptPublicKey(); len(key) == 0 {
			return inputf("the store has signed nothing, so the server tells no key: give --public-key")
		}
	}
	var failed []error
	for i, receipt := range receipts {
		err := c.verify(s, i-len(failed), receipt, key)
		if err != nil && !errors.Is(err, errReceipt) {
			return err
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// verify verifies one, behind others.
func (c *receiptVerifyCommand) verify(s *session, before int, receipt *transcriptv1.NodeReceipt, key publicKey) error {
	says, err := canonical.CheckReceipt(receipt.GetReceipt())
	id := hex.EncodeToString(says.GetNodeId())
	switch {
	case err != nil:
		return fmt.Errorf("%w: that of the node %s: %w", errReceipt, visible(receipt.GetNodeId()), err)
	case !bytes.Equal(receipt.GetReceipt().GetPublicKey(), key):
		return fmt.Errorf("%w: that of the node %s is signed with the key %x, and not with %x", errReceipt, id, receipt.GetReceipt().GetPublicKey(), key)
	case receipt.GetNodeId() != id:
		return fmt.Errorf("%w: it is of the node %s, and not of %s", errReceipt, id, visible(receipt.GetNodeId()))
	case s.json:
		return s.printJSON(struct {
			Verified  bool   `json:"verified"`
			NodeID    string `json:"nodeId"`
			ErasedAt  string `json:"erasedAt"`
			Reference string `json:"reference,omitempty"`
			Namespace string `json:"namespace"`
			StoreID   string `json:"storeId"`
			Key       string `json:"key"`
		}{true, id, clock(says.GetErasedAt()), says.GetReference(), says.GetNamespace(), says.GetStoreId(), hex.EncodeToString(key)})
	}
	rows := append([][2]string{{"verified", "the store has erased the node, says the owner of the key"}}, receiptRows(says)...)
	return s.printNext(before, append(rows, [2]string{"key", hex.EncodeToString(key)}, [2]string{"not signed", "left the files: " + leftFiles(receipt)}))
}

// read reads receipts from where they are.
func (c *receiptVerifyCommand) read(ctx context.Context, s *session) (receipts []*transcriptv1.NodeReceipt, err error) {
	if c.File == "" {
		return readReceipts(ctx, s, c.Nodes)
	}
	data, place, err := s.readAll(ctx, c.File)
	if err != nil {
		return nil, err
	}
	for each := json.NewDecoder(bytes.NewReader(data)); ; {
		var one json.RawMessage
		receipt := &transcriptv1.NodeReceipt{}
		err := each.Decode(&one)
		if errors.Is(err, io.EOF) && len(receipts) > 0 {
			return receipts, nil
		}
		if err == nil {
			err = (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(one, receipt)
		}
		if err != nil {
			return nil, inputf("%s: receipt %d is not what 'receipt show --output json' prints", place, len(receipts)+1)
		}
		receipts = append(receipts, receipt)
	}
}
