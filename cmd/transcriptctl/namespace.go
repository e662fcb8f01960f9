package main

import (
	"context"
	"errors"
	"strconv"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/bytecount"
)

type namespaceCommand struct {
	List namespaceListCommand `cmd:"" help:"List the namespaces that you may read."`
	Set  namespaceSetCommand  `cmd:"" help:"Replace the settings of a namespace: its quotas."`
}

type namespaceListCommand struct {
	Limit uint `short:"n" placeholder:"N" help:"At most this many. Default: all."`
}

func (c *namespaceListCommand) Help() string {
	return `In the order of their names. Examples:

    transcriptctl namespace list
    transcriptctl namespace list --output json | jq -r .name`
}

// Run lists namespaces.
func (c *namespaceListCommand) Run(ctx context.Context, s *session) error {
	t := s.table(left("NAMESPACE"))
	n, err := printSome(s, s.Namespaces(ctx), c.Limit, func(name string) error { return t.print(&transcriptv1.NamespaceInfo{Name: name}, name) })
	if err == nil && n == 0 {
		s.remark("there is no namespace that you may read: nothing was ever put into one, or no grant of yours has the role read there")
	}
	return err
}

type namespaceSetCommand struct {
	Name       string           `arg:"" completes:"namespace" help:"The namespace."`
	MaxNodes   *int64           `placeholder:"N" help:"At most N nodes; 0: no limit."`
	MaxBytes   *bytecount.Count `placeholder:"SIZE" help:"At most SIZE of messages, in bytes or as 64KiB, 500MiB, 1GiB, 2TiB; 0: no limit."`
	MaxAliases *int64           `placeholder:"N" help:"At most N aliases; 0: no limit."`
	Revision   *int64           `placeholder:"N" help:"Only if the settings have this revision, which 'transcriptctl stats' tells; 0: if they were never set."`
}

func (c *namespaceSetCommand) Help() string {
	return `Settings are replaced as a whole: a quota that is not given is taken away. What would make more of something than its quota is refused; what is there stays. Examples:

    transcriptctl --context operator namespace set acme --max-nodes 100000 --max-bytes 1GiB
    transcriptctl namespace set acme --max-nodes 200000 --max-bytes 2GiB --max-aliases 10000 --revision 1
    transcriptctl namespace set acme --max-nodes 0    # no quotas`
}

// settingFields are the flags of the fields of SetNamespace.
var settingFields = map[string]string{
	"settings.max_nodes": "--max-nodes", "settings.max_message_bytes": "--max-bytes", "settings.max_aliases": "--max-aliases",
}

// Run sets quotas.
func (c *namespaceSetCommand) Run(ctx context.Context, s *session) error {
	if c.MaxNodes == nil && c.MaxBytes == nil && c.MaxAliases == nil {
		return usagef("give the quotas: settings are replaced as a whole; --max-nodes 0 takes all away")
	}
	settings := &transcriptv1.NamespaceSettings{}
	for quota, n := range map[*int64]*int64{
		&settings.MaxNodes: c.MaxNodes, &settings.MaxMessageBytes: (*int64)(c.MaxBytes), &settings.MaxAliases: c.MaxAliases,
	} {
		if n != nil {
			*quota = *n
		}
	}
	return s.setNamespace(ctx, c.Name, settings, c.Revision)
}

// setNamespace changes the settings of a namespace, whichever the session's is.
func (s *session) setNamespace(ctx context.Context, name string, settings *transcriptv1.NamespaceSettings, revision *int64) (err error) {
	s.flags.Namespace = name
	there, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	reply, err := there.SetNamespace(ctx, settings, revision)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(reply)
	}
	now := reply.GetSettings()
	return s.printRows([][2]string{
		{"namespace", s.namespace()},
		{"nodes", atMost(now.GetMaxNodes(), decimal)},
		{"bytes", atMost(now.GetMaxMessageBytes(), size)},
		{"aliases", atMost(now.GetMaxAliases(), decimal)},
		{"revision", decimal(reply.GetRevision())},
	})
}

func atMost(limit int64, text func(int64) string) string {
	if limit == 0 {
		return "no limit"
	}
	return "at most " + text(limit)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
