package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type receiptCommand struct {
	Show   receiptShowCommand   `cmd:"" help:"Show the receipt of a node that was erased."`
	Verify receiptVerifyCommand `cmd:"" help:"Check the signature of a receipt, and say what it proves."`
}

type receiptShowCommand struct {
	Node string `arg:"" name:"NODE" completes:"alias" help:"The node: id, beginning of an id (6 digits or more), or alias. Of one that was deleted since, the whole id."`
}

func (c *receiptShowCommand) Help() string {
	return `Shows what the receipt of a node says, and whether the content has left the files of the store. With --output json it is what 'receipt verify --file' reads. Examples:

    transcriptctl receipt show 3f9a1c2b
    transcriptctl receipt show 3f9a1c2b --output json > receipt.json`
}

// Run shows a receipt.
func (c *receiptShowCommand) Run(ctx context.Context, s *session) error {
	receipt, err := readReceipt(ctx, s, c.Node)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(receipt)
	}
	says, err := canonical.CheckReceipt(receipt.GetReceipt())
	if err != nil {
		return err
	}
	gone := "not yet"
	if receipt.GetPurgedAt() != nil {
		gone = clock(receipt.GetPurgedAt())
	}
	return s.printRows(append(receiptRows(says), [2]string{"left the files", gone}, [2]string{"key", hex.EncodeToString(receipt.GetReceipt().GetPublicKey())}))
}

func receiptRows(r *transcriptv1.ErasureReceipt) [][2]string {
	return [][2]string{
		{"node", hex.EncodeToString(r.GetNodeId())}, {"erased", clock(r.GetErasedAt())}, {"reference", orDash(visible(r.GetReference()))},
		{"namespace", visible(r.GetNamespace())}, {"store", visible(r.GetStoreId())},
	}
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

// readReceipt asks for the receipt of a node.
func readReceipt(ctx context.Context, s *session, node string) (*transcriptv1.NodeReceipt, error) {
	id, err := erasable(ctx, s, node)
	if err != nil {
		return nil, err
	}
	receipts, err := s.Receipts(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(receipts) != 1 || receipts[0].GetNodeId() != id {
		return nil, errBadReply
	}
	return receipts[0], nil
}

type receiptVerifyCommand struct {
	Node string `arg:"" optional:"" name:"NODE" completes:"alias" help:"The node whose receipt the server is asked for."`
	File string `type:"path" placeholder:"FILE" help:"A file with a receipt instead, as 'receipt show --output json' prints it; - for standard input."`
	Key  string `name:"public-key" placeholder:"HEX" help:"The public key that must have signed it, 64 digits. Default: that of the server, so give it to rely on no server."`
}

func (c *receiptVerifyCommand) Help() string {
	return `A receipt proves that whoever has the store's key has said that the store erased the node, and when. It does not prove that no copy is elsewhere, such as in a backup. Exit code 6 where it does not verify. Examples:

    transcriptctl receipt verify 3f9a1c2b
    transcriptctl receipt verify --file receipt.json --public-key 9f2c…`
}

// errReceipt says that a receipt proves nothing.
var errReceipt = errors.New("the receipt does not verify")

// Run verifies a receipt.
func (c *receiptVerifyCommand) Run(ctx context.Context, s *session) error {
	if (c.Node == "") == (c.File == "") {
		return usagef("give NODE or --file")
	}
	key, err := hex.DecodeString(c.Key)
	if err != nil || c.Key != "" && len(key) != 32 {
		return usagef("--public-key must be a public key of 64 hex digits")
	}
	receipt, err := c.read(ctx, s)
	if err != nil {
		return err
	}
	if c.Key == "" {
		info, err := s.ServerInfo(ctx)
		if err != nil {
			return err
		}
		if key = info.GetReceiptPublicKey(); len(key) == 0 {
			return inputf("the store has signed nothing, so the server tells no key: give --public-key")
		}
	}
	says, err := canonical.CheckReceipt(receipt.GetReceipt())
	if err != nil {
		return fmt.Errorf("%w: %w", errReceipt, err)
	}
	id := hex.EncodeToString(says.GetNodeId())
	switch {
	case !bytes.Equal(receipt.GetReceipt().GetPublicKey(), key):
		return fmt.Errorf("%w: it is signed with the key %x, and not with %x", errReceipt, receipt.GetReceipt().GetPublicKey(), key)
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
	return s.printRows(append([][2]string{{"verified", "the store has erased the node, says the owner of the key"}}, append(receiptRows(says), [2]string{"key", hex.EncodeToString(key)})...))
}

// read reads the receipt from where it is.
func (c *receiptVerifyCommand) read(ctx context.Context, s *session) (*transcriptv1.NodeReceipt, error) {
	if c.File == "" {
		return readReceipt(ctx, s, c.Node)
	}
	data, place, err := s.readAll(ctx, c.File)
	if err != nil {
		return nil, err
	}
	receipt := &transcriptv1.NodeReceipt{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, receipt); err != nil {
		return nil, inputf("%s: it is not what 'receipt show --output json' prints", place)
	}
	return receipt, nil
}
