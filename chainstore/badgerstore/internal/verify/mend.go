package verify

import (
	"strings"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

const (
	// mendedAtOnce is how many rows are put right in one commit, about.
	mendedAtOnce = 1000
	// readAgain are the tables that what follows from a later node is read of.
	readAgain = string(layout.TableNodes) + string(layout.TableRecall) + string(layout.TableTools) + string(layout.TableVariables)
)

// mending is what is put right and not committed yet: rows, nil for those to delete.
type mending struct {
	mended map[string][]byte
	// soon says that it must be committed before the next row is looked at.
	soon bool
}

func (m *mending) write(key, value []byte) {
	if m.mended == nil {
		m.mended = map[string][]byte{}
	}
	m.mended[string(key)] = value
	m.soon = m.soon || strings.IndexByte(readAgain, key[layout.KeyPrefix-1]) >= 0
}

// mustSettle tells, between two rows, whether to settle.
func (m *mending) mustSettle() bool { return m.soon || len(m.mended) >= mendedAtOnce }
