package canonical

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// MaxReceiptBytes is the most bytes of the receipt of an erased node; the least is 1. Part of the contract: may only grow.
const MaxReceiptBytes = 4 << 10

// maxMetadataBytes is above what metadata takes encoded.
const maxMetadataBytes = MaxMetadataEntries * (MaxMetadataKeyBytes + MaxMetadataValueBytes + 16)

// StoredErasure is what is known of a node that was erased.
type StoredErasure struct {
	// PayloadBytes and MetadataBytes are the lengths from before.
	PayloadBytes, MetadataBytes int
	Variables                   []runloop.VariableChange
	Outcome                     runloop.Outcome
}

// CheckArchived reads a node of an archive: CheckNode, also of one that was erased. Of that the envelope's digests are those from before, and nothing is
// left that could be held against them; each message that was erased has to be a marker, and the receipt that of the node. The path of an error can begin with erasure, too.
func CheckArchived(n *transcriptv1.ArchivedNode) (*Stored, error) {
	if n.GetErasure() == nil {
		return CheckNode(n.GetEnvelope(), n.GetPayload(), n.GetMetadata(), n.GetSalt())
	}
	out, err := decodeStored(n.GetEnvelope(), n.GetPayload(), nil)
	if err != nil {
		return nil, err
	}
	switch {
	case len(n.GetMetadata()) > 0:
		return nil, invalid("metadata", "must be empty in a node that was erased")
	case len(n.GetSalt()) > 0:
		return nil, invalid("salt", "must be empty in a node that was erased")
	}
	if err := out.judge(nil); err != nil {
		return nil, err
	}
	if string(EncodePayload(out.Messages)) != string(n.GetPayload()) {
		return nil, malformed("payload", "must be the canonical encoding of a Payload")
	}
	out.ID, out.Facts = NodeID(out.Envelope), Facts(out.Messages)
	if err := out.erased(n.GetErasure()); err != nil {
		return nil, err.Under("erasure")
	}
	for i := range out.Facts {
		if out.Facts[i].Was > 0 && !proto.Equal(ErasedMessage(out.Messages[i]), out.Messages[i]) {
			return nil, invalid(fmt.Sprintf("payload.messages[%d]", i), "must be the marker of a message that was erased")
		}
	}
	return out, nil
}

// erased reads what is known of the node beside its markers.
func (n *Stored) erased(e *transcriptv1.ArchivedErasure) *FieldError {
	out := &StoredErasure{MetadataBytes: int(e.GetMetadataBytes()), Outcome: runloop.Outcome(e.GetOutcome())}
	compaction, some := n.Envelope.CoversThrough != nil, len(n.Facts) == 0
	if len(e.GetMessageBytes()) != len(n.Facts) {
		return invalid("message_bytes", "must be one for each message of the payload")
	}
	for i, was := range e.GetMessageBytes() {
		switch {
		case was < 0 || was == 0 && !compaction:
			return invalid(fmt.Sprintf("message_bytes[%d]", i), "must be 1 or more, or 0 for a message of a compaction node that was not erased")
		case was == 0:
			out.PayloadBytes += n.Facts[i].Length
		default:
			out.PayloadBytes += int(was)
			n.Facts[i].Was, some = int(was), true
		}
	}
	switch has := n.Envelope.MetadataDigest != nil; {
	case !some:
		return invalid("message_bytes", "must have a message that was erased")
	case out.PayloadBytes > MaxPayloadBytes:
		return overLimit("message_bytes", fmt.Sprintf("must be at most %d in all", MaxPayloadBytes))
	case out.MetadataBytes < 0 || has != (out.MetadataBytes > 0):
		return invalid("metadata_bytes", "must be 1 or more if the envelope has a metadata_digest, and else 0")
	case out.MetadataBytes > maxMetadataBytes:
		return overLimit("metadata_bytes", fmt.Sprintf("must be at most %d", maxMetadataBytes))
	case len(e.GetVariables()) > 0 && !has:
		return invalid("variables", "must be empty without metadata")
	case len(e.GetVariables()) > MaxMetadataEntries:
		return overLimit("variables", fmt.Sprintf("must be at most %d", MaxMetadataEntries))
	case e.GetOutcome() < 0 || e.GetOutcome() > transcriptv1.RunOutcome_RUN_OUTCOME_CANCELLED || out.Outcome != runloop.NoOutcome && !has:
		return invalid("outcome", "must be one of RunOutcome, and unset without metadata")
	}
	receipt, fault := parseReceipt(e.GetReceipt())
	switch {
	case fault != nil:
		return fault.Under("receipt")
	case string(receipt.GetNodeId()) != string(n.ID[:]):
		return invalid("receipt", "must be of this node")
	}
	before := ""
	for i, v := range e.GetVariables() {
		if v.GetName() <= before || len(v.GetName()) > MaxMetadataKeyBytes-len(VariableKey) {
			return invalid(fmt.Sprintf("variables[%d].name", i), "must not be empty, be within the limit of metadata keys, and come behind the one before it in the order of their bytes")
		}
		before = v.GetName()
		out.Variables = append(out.Variables, runloop.VariableChange{Name: before, Declared: v.GetDeclared(), Unset: v.GetUnset()})
	}
	n.Erased = out
	return nil
}

// EraseArchived is what is left of a node of an archive once all its messages are erased. Of its notes stays what the notes of an erased node have. One that
// was erased already with the same receipt stays as it is; with another one, of a compaction node the messages that were left are erased, too. The error is that of CheckArchived.
func EraseArchived(n *transcriptv1.ArchivedNode, receipt []byte) (*transcriptv1.ArchivedNode, error) {
	was, err := CheckArchived(n)
	switch {
	case err != nil || was.Erased != nil && string(n.GetErasure().GetReceipt()) == string(receipt):
		return n, err
	case was.Erased != nil:
		out := proto.CloneOf(n)
		out.Payload, out.Erasure.Receipt = EncodePayload(Erased(was.Messages)), receipt
		for i, f := range was.Facts {
			if f.Was == 0 {
				out.Erasure.MessageBytes[i] = int32(f.Length)
			}
		}
		return out, nil
	}
	out := &transcriptv1.ArchivedNode{
		Envelope: n.GetEnvelope(), Payload: EncodePayload(Erased(was.Messages)), FirstPutAt: n.GetFirstPutAt(), Copies: n.GetCopies(),
		Erasure: NewErasure(was.Messages, was.Metadata, func(int) bool { return true }, receipt),
	}
	for _, note := range n.GetNotes() {
		out.Notes = append(out.Notes, &transcriptv1.MessageNote{SentAt: note.GetSentAt(), TokenCount: note.TokenCount, TokenCountEstimated: note.GetTokenCountEstimated()})
	}
	return out, nil
}

// NewErasure is what is known of a node that was erased, whose messages and metadata are given as they were, with receipt. erased tells which messages were.
func NewErasure(messages []*transcriptv1.Message, metadata []*transcriptv1.MetadataEntry, erased func(i int) bool, receipt []byte) *transcriptv1.ArchivedErasure {
	out := &transcriptv1.ArchivedErasure{
		MetadataBytes: int32(len(AppendMetadata(nil, metadata))), Outcome: transcriptv1.RunOutcome(Outcome(metadata)), Receipt: receipt,
		Variables: ErasedVariables(Variables(metadata)),
	}
	for i, f := range Facts(messages) {
		was := 0
		if erased(i) {
			was = f.Length
		}
		out.MessageBytes = append(out.MessageBytes, int32(was))
	}
	return out
}

// ErasedVariables are changes of variables as an ArchivedErasure has them.
func ErasedVariables(changes []runloop.VariableChange) []*transcriptv1.ErasedVariable {
	var out []*transcriptv1.ErasedVariable
	for _, c := range changes {
		out = append(out, &transcriptv1.ErasedVariable{Name: c.Name, Declared: c.Declared, Unset: c.Unset})
	}
	return out
}
