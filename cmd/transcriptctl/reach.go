package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/transcriptd/transcriptd/client"
)

// reachFlags say which server is talked to, and how. Flags win over the environment, that over a context, and that over the defaults.
type reachFlags struct {
	Context   string `completes:"context" placeholder:"NAME" env:"TRANSCRIPTCTL_CONTEXT" help:"Reach the server as this context says, where no other flag does: see 'transcriptctl context'. Default: the one in use, unless --addr is given."`
	Addr      string `placeholder:"HOST:PORT" env:"TRANSCRIPTCTL_ADDR" help:"The transcriptd to talk to; unix:///PATH for a socket. Default: 127.0.0.1:7420."`
	Namespace string `completes:"namespace" placeholder:"NAME" env:"TRANSCRIPTCTL_NAMESPACE" help:"The namespace: 1 to 64 of a-z 0-9 . _ -. Default: default; of bench a new one."`
	TokenFile string `placeholder:"FILE" env:"TRANSCRIPTCTL_TOKEN_FILE" help:"Show the token in this file. Without, the one in TRANSCRIPTCTL_TOKEN, if there is one."`
	TLS       bool   `name:"tls" env:"TRANSCRIPTCTL_TLS" help:"Talk by TLS, and trust whom this system trusts. --ca and --cert mean it too."`
	CA        string `name:"ca" placeholder:"FILE" env:"TRANSCRIPTCTL_CA" help:"Talk by TLS, and trust the certificates in this file, in PEM, and no others."`
	Cert      string `placeholder:"FILE" env:"TRANSCRIPTCTL_CERT" help:"Talk by TLS, and show the client certificate in this file, in PEM."`
	Key       string `placeholder:"FILE" env:"TRANSCRIPTCTL_KEY" help:"The private key of --cert, in PEM."`
	Insecure  bool   `env:"TRANSCRIPTCTL_INSECURE" help:"Talk in plain text to a server on another machine, and show it a token so."`
}

const (
	// defaultAddr is where a transcriptd serves that was told nothing else.
	defaultAddr = "127.0.0.1:7420"
	// tokenVariable has a token; there is no flag for one, since other users of the machine see the flags of processes.
	tokenVariable = "TRANSCRIPTCTL_TOKEN"
)

// settle fills what no flag says from a context: the one that is named, or the one in use, which counts only where no address is given, so
// that what it has for one server is not shown to another.
func (f *reachFlags) settle() error {
	if f.Context != "" || f.Addr == "" {
		all, err := readContexts()
		if err != nil {
			return err
		}
		name := cmp.Or(f.Context, all.Current)
		if c := all.named(name); c != nil {
			f.fillFrom(c)
		} else if name != "" {
			return noContext(name)
		}
	}
	f.Addr = cmp.Or(f.Addr, defaultAddr)
	return f.check()
}

func (f *reachFlags) fillFrom(c *namedContext) {
	f.Addr, f.Namespace = cmp.Or(f.Addr, c.Address), cmp.Or(f.Namespace, c.Namespace)
	if os.Getenv(tokenVariable) == "" {
		f.TokenFile = cmp.Or(f.TokenFile, c.TokenFile)
	}
	if f.Cert == "" && f.Key == "" {
		f.Cert, f.Key = c.Cert, c.Key
	}
	f.CA, f.TLS, f.Insecure = cmp.Or(f.CA, c.CA), f.TLS || c.TLS, f.Insecure || c.Insecure
}

// check refuses what does not go together.
func (f *reachFlags) check() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return usagef("--cert and --key belong together: give both, or neither")
	case f.Insecure && f.secure():
		return usagef("--insecure is plain text, and --tls, --ca and --cert are not: leave out one or the other, here or in the context")
	default:
		return nil
	}
}

func (f *reachFlags) secure() bool { return f.TLS || f.CA != "" || f.Cert != "" }

// options are those of the SDK that say the same.
func (f *reachFlags) options() []client.Option {
	options := f.anonymous()
	switch token := strings.TrimSpace(os.Getenv(tokenVariable)); {
	case f.TokenFile != "":
		options = append(options, client.WithTokenFile(f.TokenFile))
	case token != "":
		options = append(options, client.WithToken(func(context.Context) (string, error) { return token, nil }))
	}
	return options
}

// anonymous are options without the token.
func (f *reachFlags) anonymous() []client.Option {
	var options []client.Option
	if f.CA != "" {
		options = append(options, client.WithCA(f.CA))
	}
	if f.Cert != "" {
		options = append(options, client.WithClientCertificate(f.Cert, f.Key))
	}
	if f.TLS && f.CA == "" && f.Cert == "" {
		options = append(options, client.WithTLS(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})))
	}
	if f.Insecure {
		options = append(options, client.WithInsecure())
	}
	return options
}

// unreachable says what is wrong with the flags where no connection can be made by them.
func (f *reachFlags) unreachable(err error) error {
	if strings.HasPrefix(f.Addr, "/") {
		return usagef("--addr %s is no HOST:PORT; a unix socket is unix://%s", f.Addr, f.Addr)
	}
	if errors.Is(err, client.ErrInsecure) {
		return usagef("--addr %s is not on this machine, and transcripts would travel there in plain text; "+
			"give --tls or --ca, or --insecure if the network between is trusted", f.Addr)
	}
	if _, what, told := strings.Cut(err.Error(), "cannot be used: "); told && errors.Is(err, client.ErrBadTarget) {
		return usagef("--addr %s: %s", f.Addr, what)
	}
	return usagef("--addr %s: %w", f.Addr, err)
}
