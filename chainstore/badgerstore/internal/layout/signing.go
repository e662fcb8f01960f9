package layout

import "github.com/transcriptd/transcriptd/chainstore"

// FeatureSigning is that the store has a key that receipts are signed with, the row of table B: since somebody asked for it.
const FeatureSigning = "signing"

func SigningKey() []byte { return TableKey(OwnNamespace, TableSigning) }

// ParseSigning reads a B row.
func ParseSigning(value []byte) (seed chainstore.Secret, err error) {
	if copy(seed[:], value) < len(seed) {
		return chainstore.Secret{}, CorruptValue(TableSigning)
	}
	return seed, nil
}
