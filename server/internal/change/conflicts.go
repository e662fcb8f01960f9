package change

import (
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Conflicts is a ConflictError with the place of each of the change's aliases in the request.
type Conflicts struct {
	*chainstore.ConflictError
	Fields []string
	// compacted tells, of each conflict, whether only compaction nodes lie between the head expected and the present one.
	compacted []bool
}

// MaxConflicts is how many conflicts an error lists: about 4 KiB of a trailer, of which clients in some languages take 8
// KiB at most and otherwise lose the whole error.
const MaxConflicts = 32

// Detail is what an error tells of the conflicts.
func (c *Conflicts) Detail() *transcriptv1.AliasConflicts {
	detail := &transcriptv1.AliasConflicts{}
	for i, one := range c.Conflicts {
		if i == MaxConflicts {
			detail.MoreConflicts = int32(len(c.Conflicts) - i)
			break
		}
		conflict := &transcriptv1.AliasConflict{Revision: one.Revision, OnlyCompacted: i < len(c.compacted) && c.compacted[i]}
		if one.Index >= 0 && one.Index < len(c.Fields) {
			conflict.Field = c.Fields[one.Index]
		}
		if one.Exists {
			conflict.NodeId = one.Node.String()
		}
		detail.Conflicts = append(detail.Conflicts, conflict)
	}
	return detail
}
