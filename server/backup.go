package server

import (
	"context"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/backup"
	"github.com/transcriptd/transcriptd/server/internal/progress"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Backup writes an archive into the stream.
func (a *admin) Backup(req *transcriptv1.BackupRequest, out grpc.ServerStreamingServer[transcriptv1.BackupResponse]) error {
	b, err := a.parseBackup(req)
	if err != nil {
		return err
	}
	place, err := a.verifies.enter(out.Context())
	if err != nil {
		return err
	}
	defer place.leave()
	s := &backupStream{out: sending[transcriptv1.BackupResponse]{out, place}}
	quiet := s.tell()
	defer quiet()
	b.Wrote = s.wrote
	digest, counts, err := b.Write(out.Context(), s)
	if err != nil {
		return err
	}
	return s.send(&transcriptv1.BackupResponse{Nodes: counts.Nodes, Aliases: counts.Aliases, Done: true, Digest: digest[:]})
}

func (a *admin) parseBackup(req *transcriptv1.BackupRequest) (*backup.Backup, error) {
	b := &backup.Backup{Store: a.store, MadeBy: "transcriptd " + a.version, Since: req.SinceCursor, Continue: req.ContinueCursor}
	if err := digestOf("since", req.SinceCursor, req.SinceDigest, &b.SinceDigest); err != nil {
		return nil, err
	}
	if err := digestOf("continue", req.ContinueCursor, req.ContinueDigest, &b.ContinueDigest); err != nil {
		return nil, err
	}
	switch {
	case req.MaxBytesPerSecond < 0:
		return nil, wire.InvalidField("max_bytes_per_second", "must not be negative")
	case len(req.SinceCursor) > 0 && len(req.ContinueCursor) > 0:
		return nil, wire.InvalidField("since_cursor", "must be empty with continue_cursor, which has it")
	case a.store.Info().Encrypted && !req.Plain:
		return nil, wire.InvalidField("plain", "must be set: the store is encrypted, and what is sent is plain text, which whoever receives it has to protect")
	}
	switch req.Scope {
	case transcriptv1.Scope_SCOPE_UNSPECIFIED, transcriptv1.Scope_SCOPE_NAMESPACE:
		b.Scope = wire.Namespace(req.Namespace)
	case transcriptv1.Scope_SCOPE_STORE:
		if req.Namespace != "" {
			return nil, wire.InvalidField("namespace", "must be empty with SCOPE_STORE, which is every namespace")
		}
	default:
		return nil, wire.InvalidField("scope", "must be SCOPE_NAMESPACE or SCOPE_STORE")
	}
	if req.MaxBytesPerSecond > 0 {
		b.Paced = paced(req.MaxBytesPerSecond)
	}
	return b, nil
}

// digestOf reads the digest of an archive whose cursor is there too.
func digestOf(what string, cursor, digest []byte, to *archive.Digest) error {
	switch {
	case len(cursor) == 0 && len(digest) > 0:
		return wire.InvalidField(what+"_digest", "must be empty without "+what+"_cursor")
	case len(cursor) > 0 && len(digest) != len(to):
		return wire.InvalidField(what+"_digest", "must be the digest that belongs to "+what+"_cursor, of 32 bytes")
	}
	copy(to[:], digest)
	return nil
}

// maxPause is the longest that a backup can be told to take, in seconds: longer than anybody waits.
const maxPause = 1e9

// paced waits until so many bytes a second were read, on average since the first.
func paced(bytesPerSecond int64) func(context.Context, int) error {
	began, read := time.Now(), 0.0
	return func(ctx context.Context, bytes int) error {
		read += float64(bytes)
		due := min(read/float64(bytesPerSecond), maxPause) * float64(time.Second)
		return deadline.Sleep(ctx, time.Until(began.Add(time.Duration(due))))
	}
}

// maxPiece is how much of an archive a response has.
const maxPiece = 256 << 10

// tellEvery is how long nothing is sent, while a backup waits or reads aliases, before its client is told how far it is: at most twice as long.
const tellEvery = 2500 * time.Millisecond

// backupStream sends what is written to it.
type backupStream struct {
	mu     sync.Mutex
	out    grpc.ServerStreamingServer[transcriptv1.BackupResponse]
	counts archive.Counts
	// sent says that something was sent since it was looked at last.
	sent bool
}

var _ io.Writer = (*backupStream)(nil)

// Write sends pieces.
func (s *backupStream) Write(b []byte) (sent int, err error) {
	for len(b) > 0 {
		piece := b[:min(len(b), maxPiece)]
		s.mu.Lock()
		counts := s.counts
		s.mu.Unlock()
		if err := s.send(&transcriptv1.BackupResponse{Data: piece, Nodes: counts.Nodes, Aliases: counts.Aliases}); err != nil {
			return sent, err
		}
		sent, b = sent+len(piece), b[len(piece):]
	}
	return sent, nil
}

func (s *backupStream) send(r *transcriptv1.BackupResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = true
	return s.out.Send(r)
}

// wrote takes how far it is.
func (s *backupStream) wrote(counts archive.Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = counts
}

// tell tells the client how far it is while nothing else is sent, until the function that it returns is called, which waits for it.
func (s *backupStream) tell() (quiet func()) {
	return progress.Pulse(tellEvery, s.tellNow)
}

// tellNow sends an empty piece, unless another one was sent meanwhile, or is being sent.
func (s *backupStream) tellNow() error {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if s.sent {
		s.sent = false
		return nil
	}
	return s.out.Send(&transcriptv1.BackupResponse{Nodes: s.counts.Nodes, Aliases: s.counts.Aliases})
}
