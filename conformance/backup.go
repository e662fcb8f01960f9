package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// backup reads a whole archive, and the last response.
func (p *probe) backup(req *transcriptv1.BackupRequest) ([]byte, *transcriptv1.BackupResponse) {
	s, err := p.admin.Backup(p.ctx, req)
	p.ok(err, "Backup")
	var archive []byte
	for {
		r, err := s.Recv()
		p.holds(!errors.Is(err, io.EOF), "a last response that says done")
		p.ok(err, "Backup")
		archive = append(archive, r.GetData()...)
		if r.GetDone() {
			_, err := s.Recv()
			p.holds(errors.Is(err, io.EOF), "the end behind the response that says done")
			return archive, r
		}
	}
}

// The form of an archive: docs/archive.md.
const (
	skippableFrame  = 0x184D2A57
	archiveMagic    = "transcriptd archive 1\n"
	skippableLength = 8
)

// backupBlocks follows the digests from block to block.
func backupBlocks(p *probe) {
	p.node("", p.user())
	archive, last := p.backup(&transcriptv1.BackupRequest{Namespace: p.namespace})
	magic, rest := p.skippable(archive)
	p.holds(string(magic) == archiveMagic, "an archive to begin with %q", archiveMagic)
	digest := sha256.Sum256(archive[:len(archive)-len(rest)])
	for len(rest) > 0 {
		var head []byte
		head, rest = p.skippable(rest)
		p.holds(len(head) == 4+sha256.Size, "36 bytes before a block, got %d", len(head))
		length := binary.LittleEndian.Uint32(head)
		p.holds(uint64(length) <= uint64(len(rest)), "a block of %d bytes, got %d", length, len(rest))
		digest = sha256.Sum256(append(digest[:], rest[:length]...))
		p.holds(bytes.Equal(head[4:], digest[:]), "the digest of a block to be that of the digest before it and its bytes")
		rest = rest[length:]
	}
	p.holds(bytes.Equal(last.GetDigest(), digest[:]), "the digest of the last response to be that of the last block")
}

// skippable takes a skippable frame from the front.
func (p *probe) skippable(b []byte) (content, rest []byte) {
	p.holds(len(b) >= skippableLength && binary.LittleEndian.Uint32(b) == skippableFrame, "a skippable frame")
	length := binary.LittleEndian.Uint32(b[4:])
	p.holds(uint64(length) <= uint64(len(b)-skippableLength), "a skippable frame that is whole")
	return b[skippableLength:][:length], b[skippableLength+int(length):]
}

func backupCounts(p *probe) {
	p.point(p.name("x"), p.node("", p.user()))
	stats := p.stats(p.namespace)
	_, last := p.backup(&transcriptv1.BackupRequest{Namespace: p.namespace})
	is(p, "nodes", last.GetNodes(), stats.GetNodes())
	p.holds(last.GetAliases() >= stats.GetAliases(), "%d aliases or more, deleted ones among them, got %d", stats.GetAliases(), last.GetAliases())
}

func backupRefused(p *probe) {
	refused := func(req *transcriptv1.BackupRequest, field string) {
		s, err := p.admin.Backup(p.ctx, req)
		if err == nil {
			_, err = s.Recv()
		}
		p.refused(err, "INVALID_FIELD", field)
	}
	refused(&transcriptv1.BackupRequest{Namespace: p.namespace, SinceCursor: []byte("x")}, "since_digest")
	refused(&transcriptv1.BackupRequest{Namespace: p.namespace, SinceCursor: make([]byte, 24), SinceDigest: make([]byte, 32)}, "since_cursor")
	refused(&transcriptv1.BackupRequest{Namespace: p.namespace, Scope: transcriptv1.Scope_SCOPE_STORE}, "namespace")
	refused(&transcriptv1.BackupRequest{Namespace: p.namespace, MaxBytesPerSecond: -1}, "max_bytes_per_second")
}
