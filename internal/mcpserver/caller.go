package mcpserver

import (
	"context"
	"log/slog"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

// MaxReplyChars is the most Unicode code points of the text of a reply. Clients cut or refuse what is much longer.
const MaxReplyChars = 20_000

// defaultTimeout is how long one call of transcriptd may take where Config says nothing.
const defaultTimeout = 30 * time.Second

// Config is what a Server serves, and how.
type Config struct {
	Client transcriptv1.TranscriptServiceClient
	// Namespace is that of every call; empty: "default".
	Namespace string
	Binding   Binding
	// Write adds the tools that write.
	Write bool
	// Plain shows secrets as they are. Without, they are replaced.
	Plain bool
	// Timeout is how long one call of transcriptd may take; 0: 30 s.
	Timeout time.Duration
	Version string
	// Log hears of calls: methods and how they ended, no contents. nil: nobody does.
	Log *slog.Logger
}

// caller asks transcriptd within its binding, and says in words what it was told. Each tool is a method of it.
type caller struct {
	cfg  Config
	hide redact.Redactor
}

// clean is a text without its secrets, or as it is where those may be shown.
func (s *caller) clean(text string) string {
	if s.cfg.Plain {
		return text
	}
	return s.hide.Text(text)
}

// call is a context for one call of transcriptd.
func (s *caller) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.Timeout)
}
