package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/bytecount"
)

type namespaceCommand struct {
	List   namespaceListCommand   `cmd:"" help:"List the namespaces that you may read."`
	Set    namespaceSetCommand    `cmd:"" help:"Change the settings of a namespace: its quotas, and which aliases expire or are held."`
	Delete namespaceDeleteCommand `cmd:"" help:"Delete a namespace with all that it has."`
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
	TTL        []string         `name:"ttl" sep:"none" placeholder:"PREFIX=DURATION" help:"Aliases that begin with PREFIX, which may be empty, expire so long after they were last moved: 36h, 30d or 2w; 0: they stay, whatever a shorter prefix says. May be repeated."`
	Hold       []string         `sep:"none" placeholder:"PREFIX" help:"A legal hold on the aliases that begin with PREFIX, which may be empty: nothing that they reach is deleted. May be repeated."`
	Release    []string         `sep:"none" placeholder:"PREFIX" help:"Lift the legal hold on this PREFIX, which has one; may be repeated."`
	Revision   *int64           `placeholder:"N" help:"Only if the settings have this revision, which 'transcriptctl stats' tells; 0: if they were never set."`
}

func (c *namespaceSetCommand) Help() string {
	return `Quotas are replaced as a whole, unless only --ttl, --hold or --release are given: a quota that is not given is taken away. What would make more of something than its quota is refused; what is there stays. Rules of other prefixes than those given stay. Of several that fit an alias the longest prefix counts for --ttl, and each for --hold. Aliases that expired, those too that were there before the rule, are deleted by the next collection, with their histories: 'transcriptctl collect --dry-run' counts them. Examples:

    transcriptctl --context operator namespace set acme --max-nodes 100000 --max-bytes 1GiB
    transcriptctl namespace set acme --max-nodes 200000 --max-bytes 2GiB --max-aliases 10000 --revision 1
    transcriptctl namespace set acme --max-nodes 0    # no quotas
    transcriptctl namespace set acme --ttl tmp/=24h --ttl =90d
    transcriptctl namespace set acme --hold case/4711/
    transcriptctl namespace set acme --release case/4711/ --ttl tmp/=0`
}

// settingFields are the flags of the fields of SetNamespace.
var settingFields = map[string]string{
	"settings.retention": "--ttl and --hold", "settings.max_nodes": "--max-nodes", "settings.max_message_bytes": "--max-bytes", "settings.max_aliases": "--max-aliases",
}

// Run sets quotas and rules.
func (c *namespaceSetCommand) Run(ctx context.Context, s *session) error {
	noQuotas := c.MaxNodes == nil && c.MaxBytes == nil && c.MaxAliases == nil
	if noQuotas && c.TTL == nil && c.Hold == nil && c.Release == nil {
		return usagef("give the quotas, which are replaced as a whole: --max-nodes 0 takes all away; or --ttl, --hold or --release")
	}
	ttls, err := c.ttls()
	if err != nil {
		return err
	}
	return s.setNamespace(ctx, c.Name, c.Revision, func(now *transcriptv1.NamespaceSettings) (*transcriptv1.NamespaceSettings, error) {
		settings := &transcriptv1.NamespaceSettings{}
		if noQuotas {
			settings.MaxNodes, settings.MaxMessageBytes, settings.MaxAliases = now.GetMaxNodes(), now.GetMaxMessageBytes(), now.GetMaxAliases()
		}
		c.quotas(settings)
		if err := c.releases(now.GetRetention()); err != nil {
			return nil, err
		}
		settings.Retention = c.rules(now.GetRetention(), ttls)
		return settings, nil
	})
}

// ttls are those given, by prefix; 0: none.
func (c *namespaceSetCommand) ttls() (map[string]time.Duration, error) {
	ttls := map[string]time.Duration{}
	for _, text := range c.TTL {
		prefix, long := "", text
		at := strings.LastIndexByte(text, '=')
		if at >= 0 {
			prefix, long = text[:at], text[at+1:]
		}
		ttl, ok := parseTTL(long)
		if at < 0 || !ok {
			return nil, usagef("--ttl must be PREFIX=DURATION, such as tmp/=36h or tmp/=30d, is %q", text)
		}
		ttls[prefix] = ttl
	}
	return ttls, nil
}

// parseTTL reads a duration as Go writes it, or in days or weeks.
func parseTTL(text string) (time.Duration, bool) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			return time.Duration(n) * unit, err == nil && n <= uint64(math.MaxInt64/unit)
		}
	}
	ttl, err := time.ParseDuration(text)
	return ttl, err == nil && ttl >= 0
}

// releases refuses to lift a hold that is not there.
func (c *namespaceSetCommand) releases(now []*transcriptv1.RetentionRule) error {
	var held []string
	for _, r := range now {
		if r.GetLegalHold() {
			held = append(held, r.GetAliasPrefix())
		}
	}
	for _, prefix := range c.Release {
		if !slices.Contains(held, prefix) {
			return usagef("--release: there is no legal hold on the prefix %q; there are holds on: %s", prefix, cmp.Or(quoted(held), "none"))
		}
	}
	return nil
}

// quoted are texts in quotes.
func quoted(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = strconv.Quote(text)
	}
	return strings.Join(list, ", ")
}

// rules are those that are there with what was given changed; one that says nothing is none. A ttl of 0 says something where a shorter prefix has another.
func (c *namespaceSetCommand) rules(now []*transcriptv1.RetentionRule, ttls map[string]time.Duration) (rules []*transcriptv1.RetentionRule) {
	byPrefix := map[string]*transcriptv1.RetentionRule{}
	of := func(prefix string) *transcriptv1.RetentionRule {
		if byPrefix[prefix] == nil {
			byPrefix[prefix] = &transcriptv1.RetentionRule{AliasPrefix: prefix}
		}
		return byPrefix[prefix]
	}
	for _, r := range now {
		byPrefix[r.GetAliasPrefix()] = r
	}
	for prefix, ttl := range ttls {
		of(prefix).Ttl = durationpb.New(ttl)
	}
	for _, prefix := range c.Hold {
		of(prefix).LegalHold = true
	}
	for _, prefix := range c.Release {
		of(prefix).LegalHold = false
	}
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		r := byPrefix[prefix]
		within := slices.ContainsFunc(rules, func(outer *transcriptv1.RetentionRule) bool {
			return outer.Ttl != nil && strings.HasPrefix(prefix, outer.AliasPrefix)
		})
		if !within && r.GetTtl().AsDuration() == 0 {
			r.Ttl = nil
		}
		if r.Ttl != nil || r.LegalHold {
			rules = append(rules, r)
		}
	}
	return rules
}

// quotas sets those that were given.
func (c *namespaceSetCommand) quotas(settings *transcriptv1.NamespaceSettings) {
	for quota, n := range map[*int64]*int64{
		&settings.MaxNodes: c.MaxNodes, &settings.MaxMessageBytes: (*int64)(c.MaxBytes), &settings.MaxAliases: c.MaxAliases,
	} {
		if n != nil {
			*quota = *n
		}
	}
}

// setNamespace changes the settings of a namespace, whichever the session's is, as they are by then; of another revision than the one given, those
// that have none.
func (s *session) setNamespace(
	ctx context.Context, name string, revision *int64, change func(*transcriptv1.NamespaceSettings) (*transcriptv1.NamespaceSettings, error),
) (err error) {
	s.flags.Namespace = name
	there, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	before, err := there.Stats(ctx)
	if err != nil {
		return err
	}
	if revision == nil {
		revision = new(before.GetSettingsRevision()) // what others change meanwhile is not undone
	}
	settings, err := change(before.GetSettings())
	if err != nil {
		return err
	}
	reply, err := there.SetNamespace(ctx, settings, revision)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(reply)
	}
	now := reply.GetSettings()
	return s.printRows(slices.Concat([][2]string{
		{"namespace", s.namespace()},
		{"nodes", atMost(now.GetMaxNodes(), decimal)},
		{"bytes", atMost(now.GetMaxMessageBytes(), size)},
		{"aliases", atMost(now.GetMaxAliases(), decimal)},
	}, ruleRows(now.GetRetention()), [][2]string{{"revision", decimal(reply.GetRevision())}}))
}

// ruleRows tell of rules.
func ruleRows(rules []*transcriptv1.RetentionRule) (rows [][2]string) {
	for _, r := range rules {
		does := []string{}
		if r.GetLegalHold() {
			does = append(does, "legal hold")
		}
		switch ttl := r.GetTtl().AsDuration(); {
		case ttl > 0:
			does = append(does, "expire after "+wholeDays(ttl))
		case r.GetTtl() != nil:
			does = append(does, "stay")
		}
		which := "every alias: "
		if r.GetAliasPrefix() != "" {
			which = name(r.AliasPrefix) + "…: "
		}
		rows = append(rows, [2]string{"retention", which + strings.Join(does, ", ")})
	}
	return rows
}

// wholeDays is a duration in days, where it is some.
func wholeDays(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return decimal(int64(d/day)) + "d"
	}
	return d.String()
}

type namespaceDeleteCommand struct {
	Name    string `arg:"" completes:"namespace" help:"The namespace."`
	Confirm string `placeholder:"NAME" help:"The name again."`
}

func (c *namespaceDeleteCommand) Help() string {
	return `Nodes, aliases, histories, receipts of erasures and settings go at once; their bytes leave the server's files soon after. Backups made before have them; restored together with a later one they leave the namespace out. A namespace with a legal hold is refused. It needs the roles admin and erase. Examples:

    transcriptctl namespace delete acme --confirm acme`
}

// Run deletes a namespace, whichever the session's is.
func (c *namespaceDeleteCommand) Run(ctx context.Context, s *session) (err error) {
	if c.Confirm != c.Name {
		return usagef("this deletes all that %s has: give its name again, as --confirm %s", c.Name, c.Name)
	}
	s.flags.Namespace = c.Name
	there, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	deleted, err := there.DeleteNamespace(ctx, c.Confirm)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(&transcriptv1.DeleteNamespaceResponse{Deleted: deleted})
	}
	if !deleted {
		return s.printRows([][2]string{{"deleted", "no, it was not there"}})
	}
	return s.printRows([][2]string{{"deleted", c.Name}})
}

func atMost(limit int64, text func(int64) string) string {
	if limit == 0 {
		return "no limit"
	}
	return "at most " + text(limit)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
