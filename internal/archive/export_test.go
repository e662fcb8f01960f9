package archive

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
)

// ForTests is an archive of blocks with what is given, whose digests are right.
func ForTests(blocks ...[]byte) []byte {
	packer, _ := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithSingleSegment(true))
	out := appendSkippable(nil, []byte(magicText))
	digest := Digest(sha256.Sum256(out))
	for _, b := range blocks {
		frame := packer.EncodeAll(b, nil)
		digest = digest.next(frame)
		out = append(appendSkippable(out, binary.LittleEndian.AppendUint32(nil, uint32(len(frame))), digest[:]), frame...)
	}
	return out
}
