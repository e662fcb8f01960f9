package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/client"
)

// session is what a command works with.
type session struct {
	*client.Client
	flags commandLine
	// addrGiven says that the user named a server, namespaceGiven a namespace, both by flags or the environment; trusts, that what the
	// server sends is not verified.
	addrGiven, namespaceGiven, trusts bool
	// stop ends the session's own server; nil: it has none.
	stop func() error
	// hasty says that no call is repeated.
	hasty bool
	json  bool
	in    io.Reader
	out   *bufio.Writer
	notes io.Writer // standard error
	// names are the aliases that were looked up.
	names []string
}

// retry is how calls are repeated that may be: for about two seconds, so that a server that is restarting is waited
// for, and one that is not there is told soon.
func (s *session) retry() client.Retry {
	if s.hasty {
		return client.Retry{Attempts: 1}
	}
	return client.Retry{Attempts: 5, First: 200 * time.Millisecond, Max: time.Second}
}

// open makes a session; it does not connect yet. Ids of what is put and read are verified, but for those of a server
// that the session started itself.
func open(flags *commandLine, in io.Reader, out *bufio.Writer, notes io.Writer) (*session, error) {
	if flags.Timeout <= 0 {
		return nil, usagef("--timeout must be more than 0, is %s", flags.Timeout)
	}
	s := newSession(flags, in, out, notes)
	s.addrGiven, s.namespaceGiven = flags.Addr != "", flags.Namespace != ""
	if err := s.flags.settle(); err != nil {
		return nil, err
	}
	var err error
	s.Client, err = s.dial()
	return s, err
}

// newSession makes a session without a client.
func newSession(flags *commandLine, in io.Reader, out *bufio.Writer, notes io.Writer) *session {
	return &session{flags: *flags, json: flags.Output == "json", in: in, out: out, notes: notes}
}

// dial makes a client as the flags say.
func (s *session) dial() (*client.Client, error) {
	flags := &s.flags
	options := append(flags.options(),
		client.WithNamespace(flags.Namespace), client.WithDeadline(flags.Timeout), client.WithIdle(flags.Timeout),
		client.WithRetry(s.retry()),
		// A command puts what it is given, with the salt that it is given.
		client.Deterministic(),
	)
	if !s.trusts {
		options = append(options, client.WithVerification())
	}
	c, err := client.Dial(flags.Addr, options...)
	if err != nil {
		return nil, flags.unreachable(err)
	}
	return c, nil
}

// connect makes a connection as the client's is, for calls with the generated code.
func (s *session) connect() (*grpc.ClientConn, error) {
	return s.connectWith(s.flags.options())
}

func (s *session) connectWith(options []client.Option) (*grpc.ClientConn, error) {
	conn, err := client.Connect(s.flags.Addr, options...)
	if err != nil {
		return nil, s.flags.unreachable(err)
	}
	return conn, nil
}

// Close ends the connection, and the session's own server.
func (s *session) Close() error {
	var err error
	if s.Client != nil {
		err = s.Client.Close()
	}
	if s.stop != nil {
		err = errors.Join(err, s.stop())
	}
	return err
}

// remarkEmpty says so where there is nothing in the namespace, which may be the wrong one.
func (s *session) remarkEmpty(ctx context.Context) error {
	stats, err := s.Stats(ctx)
	if err == nil && stats.GetNodes() == 0 {
		s.remarkNothing()
	}
	return err
}

// firstAlias is the first alias that begins with a prefix; empty where none does.
func (s *session) firstAlias(ctx context.Context, prefix string) (alias string, err error) {
	more := false
	for a, err := range first(s.Aliases(ctx, client.AliasesWithPrefix(prefix)), 1, &more) {
		if err != nil {
			return "", err
		}
		alias = a.GetName()
	}
	return alias, nil
}

// remarkNone says so where no alias begins with a prefix, but those of conversations do.
func (s *session) remarkNone(ctx context.Context, prefix aliasPrefix) error {
	there, err := s.firstAlias(ctx, string(prefix))
	if err != nil || there != "" {
		return err
	}
	chats := client.ChatAlias(string(prefix))
	if there, err = s.firstAlias(ctx, chats); err == nil && there != "" {
		s.remark("no alias begins with %s, but %s does: is %s meant?", name(string(prefix)), name(there), name(chats))
	}
	if err != nil || there != "" {
		return err
	}
	return s.remarkEmpty(ctx)
}

func (s *session) remarkNothing() {
	s.remark("nothing was ever put into namespace %s; is it another --namespace?", s.namespace())
}

// namespace is the name of the namespace that calls are about.
func (s *session) namespace() string { return cmp.Or(s.flags.Namespace, "default") }

// remark tells the user something on standard error.
func (s *session) remark(format string, args ...any) {
	fmt.Fprintln(s.notes, "transcriptctl:", visible(fmt.Sprintf(format, args...)))
}
