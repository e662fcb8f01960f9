package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// version is what this build calls itself; a build from a tagged module says the tag.
const version = "0.1.0-dev"

// config is the command line; each flag has an environment variable.
type config struct {
	Listen       string          `default:"127.0.0.1:7420" env:"TRANSCRIPTD_LISTEN" help:"Serve gRPC here: HOST:PORT, or unix:///PATH for a socket that the user of transcriptd alone can connect to. Other machines may reach it once --principals, --tls-cert and --tls-key are given, or with --insecure. Port 0 takes a free one."`
	Store        string          `default:"badger://./transcripts" env:"TRANSCRIPTD_STORE" help:"Keep transcripts here: badger://PATH (a directory, created if need be) or memory: (gone at exit)."`
	AdminListen  string          `default:"127.0.0.1:7421" env:"TRANSCRIPTD_ADMIN_LISTEN" help:"Serve /metrics, /healthz, /readyz and /debug/pprof over HTTP here, with TLS where gRPC has it; 'off' for none. The rule of --listen says whether other machines may reach it. With --principals, all but /healthz and /readyz needs a token or certificate with the role operate on *."`
	AdminHost    []string        `placeholder:"NAME" env:"TRANSCRIPTD_ADMIN_HOST" help:"Answer requests to the admin side that name this host, beside localhost, IP addresses and the host of --admin-listen; may be repeated."`
	HTTPListen   string          `default:"off" name:"http-listen" env:"TRANSCRIPTD_HTTP_LISTEN" help:"Serve the same calls over HTTP here, as JSON, Connect and gRPC-Web, for curl, browsers and Workers, with TLS where gRPC has it: HOST:PORT, such as 127.0.0.1:7422; 'off' for none. The rule of --listen says whether other machines may reach it. See docs/http.md."`
	HTTPHost     []string        `placeholder:"NAME" name:"http-host" env:"TRANSCRIPTD_HTTP_HOST" help:"Answer requests over HTTP that name this host, beside localhost, IP addresses and the host of --http-listen; may be repeated."`
	HTTPOrigin   []string        `placeholder:"ORIGIN" name:"http-origin" env:"TRANSCRIPTD_HTTP_ORIGIN" help:"Let pages of this origin, such as https://app.example, call over HTTP from browsers (CORS); may be repeated. Default: none."`
	Insecure     bool            `env:"TRANSCRIPTD_INSECURE" help:"Allow addresses that other machines reach, without --principals or without TLS. A warning at each start says what is open: without --principals whoever reaches them reads and writes everything, without TLS tokens cross the network in plain text."`
	Principals   string          `placeholder:"FILE" env:"TRANSCRIPTD_PRINCIPALS" help:"Serve only callers that this file names, each as its grants say: see docs/security.md. Its mode must be 0600; 'transcriptctl token create' makes one. A change counts within a second. Default: everybody may do everything."`
	TLS          tlsFlags        `embed:"" prefix:"tls-"`
	Audit        auditFlags      `embed:""`
	Encryption   encryptionFlags `embed:"" prefix:"encryption-"`
	Scrub        scrubFlags      `embed:""`
	Collect      collectFlags    `embed:""`
	CacheMiB     int64           `name:"cache-mib" default:"64" env:"TRANSCRIPTD_CACHE_MIB" help:"Memory for the store's caches: what was read lately, and the tips of chains (8 to 65536)."`
	MemoryMiB    int64           `name:"memory-mib" default:"512" env:"TRANSCRIPTD_MEMORY_MIB" help:"Collect garbage so that the process stays within this much memory where it can (0: no aim, else at least 128). GOMEMLIMIT wins."`
	DrainDelay   time.Duration   `default:"0s" env:"TRANSCRIPTD_DRAIN_DELAY" help:"After SIGTERM, go on taking calls for this long while health and /readyz tell that the server goes, so that a load balancer sends no more before calls are refused."`
	DrainTimeout time.Duration   `default:"30s" env:"TRANSCRIPTD_DRAIN_TIMEOUT" help:"After SIGTERM and --drain-delay, wait this long for running calls before ending them."`
	LogLevel     string          `default:"info" enum:"debug,info,warn,error" env:"TRANSCRIPTD_LOG_LEVEL" help:"Log at this level and above (${enum}), to standard error. Calls are logged at debug, malformed and forbidden ones at info, refusals for want of room at warn, faults of the server at error; why credentials are refused, at debug."`
	LogFormat    string          `default:"text" enum:"text,json" env:"TRANSCRIPTD_LOG_FORMAT" help:"Log as text or json."`
	Templates    string          `placeholder:"FILE" name:"replay-templates" env:"TRANSCRIPTD_REPLAY_TEMPLATES" help:"A JSON object with the text that ReplayTools shows of a tool's calls, by the tool's name: {\"read_file\": \"read {{arguments.path}}\"}. Paths are GJSON paths; see docs/operations.md."`
	OTLPEndpoint string          `placeholder:"HOST:PORT" name:"otlp-endpoint" env:"TRANSCRIPTD_OTLP_ENDPOINT" help:"Send traces to this OpenTelemetry collector over OTLP/gRPC without TLS. Default: no traces are sent."`
	Version      bool            `help:"Print the version and exit."`

	Serve  struct{}     `cmd:"" default:"1" help:"Serve transcripts. This is what transcriptd does without a command."`
	Key    keyConfig    `cmd:"" help:"Make a key for --encryption-key-file, or change that of a store."`
	Repair repairConfig `cmd:"" help:"Make a damaged store that does not open one that does, at the price of what was written last; while no transcriptd has it open. It prints what is wrong, what it does and what is lost; files that it changes are kept in the store's folder set-aside."`

	Verify verifyConfig `cmd:"" help:"Check the store in a folder, while no transcriptd has it open: recompute every id, and check links, folds, indexes and files. No file is changed, unless --recover or --repair is given. Problems go to standard output, a line each: kind, namespace, node and what is wrong. Exit code 6 where there are any."`

	// command is the one that was given, as kong names it, and words are its own alone; empty for that which serves.
	command, words string
}

type repairConfig struct {
	DryRun bool `help:"Print what is wrong, what would be done and what would be lost, and change nothing."`
}

const (
	commandServe  = "serve"
	commandRepair = "repair"
)

const description = `transcriptd keeps the transcripts of LLM agents and serves them over gRPC, and over HTTP where --http-listen says so.

Without --principals it serves everybody, on this machine only. To put it on a network, give --principals, --tls-cert and --tls-key: docs/security.md.

It prints one line with its address and its data's place, then logs to standard error. SIGTERM or SIGINT drains it: no new calls, running ones end, the store is closed, exit code 0. A second signal ends it at once; what was acknowledged is on disk either way. Exit codes: 0 drained, or the command is done, 1 failed, 2 wrong flags, 6 problems found by verify.`

// errHelpShown says that the command line asked for help or the version and got it.
var errHelpShown = errors.New("help shown")

// usageError is a mistake on the command line or in the environment.
type usageError struct {
	err error
	// command is the one that was called, in words; empty for that which serves.
	command string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// parseConfig reads the command line; help and version go to stdout.
func parseConfig(args []string, stdout io.Writer) (*config, error) {
	cfg := &config{}
	shown := false
	parser, err := kong.New(cfg, kong.Name("transcriptd"), kong.Description(description),
		kong.Writers(stdout, stdout), kong.Exit(func(int) { shown = true }), kong.Help(printHelp))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(args)
	switch {
	case shown:
		return nil, errHelpShown
	case err != nil:
		return nil, misread(err)
	case cfg.Version:
		fmt.Fprintln(stdout, "transcriptd", buildVersion())
		return nil, errHelpShown
	}
	cfg.command, cfg.words = parsed.Command(), commandOf(parsed)
	return cfg, of(cfg.words, cfg.check())
}

func (c *config) check() error {
	if err := c.checkListen(); err != nil {
		return err
	}
	if !c.adminOff() {
		if err := c.checkReach("--admin-listen", c.AdminListen); err != nil {
			return err
		}
	}
	if !c.httpOff() {
		if err := c.checkReach("--http-listen", c.HTTPListen); err != nil {
			return err
		}
	}
	for _, origin := range c.HTTPOrigin {
		if u, err := url.Parse(origin); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return usagef("--http-origin must be an origin as browsers send it, such as https://app.example, is %q", origin)
		}
	}
	if err := c.TLS.check(); err != nil {
		return err
	}
	for _, check := range []func() error{c.Audit.check, c.Scrub.check, c.Collect.check, c.Verify.check} {
		if err := check(); err != nil {
			return err
		}
	}
	engine, _, err := parseStore(c.Store)
	if err != nil {
		return err
	}
	if err := c.Encryption.check(engine); err != nil {
		return err
	}
	if c.CacheMiB < 8 || c.CacheMiB > 65536 {
		return usagef("--cache-mib must be from 8 to 65536, is %d", c.CacheMiB)
	}
	if c.MemoryMiB != 0 && (c.MemoryMiB < 128 || c.MemoryMiB > 1<<20) {
		return usagef("--memory-mib must be 0 or from 128 to 1048576, is %d", c.MemoryMiB)
	}
	if c.DrainTimeout < 0 {
		return usagef("--drain-timeout must not be negative, is %s", c.DrainTimeout)
	}
	if c.DrainDelay < 0 {
		return usagef("--drain-delay must not be negative, is %s", c.DrainDelay)
	}
	if c.OTLPEndpoint != "" {
		return checkEndpoint("--otlp-endpoint", c.OTLPEndpoint)
	}
	return nil
}

// off is the address of a listener that there is not.
const off = "off"

func (c *config) adminOff() bool { return c.AdminListen == "" || c.AdminListen == off }

func (c *config) httpOff() bool { return c.HTTPListen == "" || c.HTTPListen == off }

// checkEndpoint refuses what is no address to call.
func checkEndpoint(flag, address string) error {
	host, port, err := hostPort(flag, address)
	if n, _ := net.LookupPort("tcp", port); err == nil && (host == "" || n == 0 || strings.ContainsAny(host, " \t/")) {
		err = usagef("%s must be HOST:PORT, is %q", flag, address)
	}
	return err
}

func hostPort(flag, address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", "", usagef("%s must be HOST:PORT, is %q", flag, address)
	}
	return host, port, nil
}

// buildVersion is the module's version where the build knows it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return version
}
