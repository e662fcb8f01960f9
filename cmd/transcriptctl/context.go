package main

import (
	"path/filepath"
	"slices"
	"strings"
)

type contextCommand struct {
	Add    contextAddCommand    `cmd:"" help:"Keep the flags that reach a server under a name."`
	Use    contextUseCommand    `cmd:"" help:"Reach the server of a context from now on."`
	List   contextListCommand   `cmd:"" help:"List contexts."`
	Remove contextRemoveCommand `cmd:"" help:"Forget a context."`
}

func (c *contextCommand) Help() string {
	return `A context is a server's address with a namespace, the files of a token and of certificates, and whether TLS is spoken. Contexts are kept in $XDG_CONFIG_HOME/transcriptctl/contexts.json, without secrets. The one in use, or that of --context, counts where neither a flag nor the environment says anything else. With --addr the one in use does not count.`
}

// AsksNoServer has these commands run without one.
func (*contextCommand) AsksNoServer() {}

type contextAddCommand struct {
	contextCommandName
	Use bool `help:"Use it from now on."`
}

type contextCommandName struct {
	Name string `arg:"" completes:"context" help:"The name of the context: 1 to 64 of a-z A-Z 0-9 . _ -."`
}

func (c *contextAddCommand) Help() string {
	return `It keeps what --addr, --namespace, --token-file, --tls, --ca, --cert, --key and --insecure say, or their variables in the environment. One of the same name is replaced. Examples:

    transcriptctl context add work --addr transcripts.example:7420 --ca ca.pem --token-file ~/.config/transcriptctl/work.token --use
    transcriptctl context add here --addr unix:///run/transcriptd/grpc.sock`
}

// AsksNoServer has it run without one.
func (*contextAddCommand) AsksNoServer() {}

// Run adds a context.
func (c *contextAddCommand) Run(s *session) error {
	if !contextName(c.Name) {
		return usagef("the name of a context must be 1 to 64 of a-z A-Z 0-9 . _ -")
	}
	f := &s.flags.reachFlags
	if f.Addr == "" {
		return usagef("give the server's address with --addr")
	}
	if err := f.check(); err != nil {
		return err
	}
	added := namedContext{Name: c.Name, Address: f.Addr, Namespace: f.Namespace, TLS: f.TLS, Insecure: f.Insecure}
	for to, name := range map[*string]string{&added.TokenFile: f.TokenFile, &added.CA: f.CA, &added.Cert: f.Cert, &added.Key: f.Key} {
		if name == "" {
			continue
		}
		whole, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		*to = whole
	}
	return changeContexts(func(all *contexts) error {
		if was := all.named(c.Name); was != nil {
			*was = added
		} else {
			all.Contexts = append(all.Contexts, added)
		}
		if c.Use {
			all.Current = c.Name
		}
		return nil
	})
}

func contextName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r)
	})
}

type contextUseCommand struct {
	Name string `arg:"" optional:"" completes:"context" help:"The name of the context."`
	None bool   `help:"Use none from now on."`
}

func (c *contextUseCommand) Help() string {
	return `Examples:

    transcriptctl context use work
    transcriptctl context use --none`
}

// AsksNoServer has it run without one.
func (*contextUseCommand) AsksNoServer() {}

// Run uses a context.
func (c *contextUseCommand) Run() error {
	if (c.Name == "") != c.None {
		return usagef("give the name of a context, or --none")
	}
	return changeContexts(func(all *contexts) error {
		if c.Name != "" && all.named(c.Name) == nil {
			return noContext(c.Name)
		}
		all.Current = c.Name
		return nil
	})
}

type contextRemoveCommand struct{ contextCommandName }

func (c *contextRemoveCommand) Help() string {
	return `Files that it names stay. Example:

    transcriptctl context remove work`
}

// AsksNoServer has it run without one.
func (*contextRemoveCommand) AsksNoServer() {}

// Run forgets a context.
func (c *contextRemoveCommand) Run() error {
	return changeContexts(func(all *contexts) error {
		if all.named(c.Name) == nil {
			return noContext(c.Name)
		}
		all.Contexts = slices.DeleteFunc(all.Contexts, func(n namedContext) bool { return n.Name == c.Name })
		if all.Current == c.Name {
			all.Current = ""
		}
		return nil
	})
}

func noContext(name string) error {
	return usagef("there is no context %s: see 'transcriptctl context list'", name)
}

// changeContexts changes the file of contexts.
func changeContexts(change func(*contexts) error) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return err
	}
	return all.write()
}

type contextListCommand struct{}

func (c *contextListCommand) Help() string {
	return `The one in use has a star. Examples:

    transcriptctl context list
    transcriptctl context list --output json | jq -r 'select(.current) | .address'`
}

// AsksNoServer has it run without one.
func (*contextListCommand) AsksNoServer() {}

// Run lists contexts.
func (c *contextListCommand) Run(s *session) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	slices.SortFunc(all.Contexts, func(a, b namedContext) int { return strings.Compare(a.Name, b.Name) })
	t := s.table(left("CURRENT"), left("NAME"), left("ADDRESS"), left("NAMESPACE"), left("SECURITY"))
	rows := make([][]string, len(all.Contexts))
	for i := range all.Contexts {
		n := &all.Contexts[i]
		star := ""
		if n.Name == all.Current {
			star = "*"
		}
		rows[i] = []string{star, n.Name, n.Address, orDash(n.Namespace), orDash(n.security())}
	}
	t.fit(rows)
	for i := range all.Contexts {
		n := &all.Contexts[i]
		listed := listedContext{n.Name, n.Address, n.Namespace, n.TokenFile, n.TLS, n.CA, n.Cert, n.Key, n.Insecure, n.Name == all.Current}
		if err := t.print(listed, rows[i]...); err != nil {
			return err
		}
	}
	return nil
}

// listedContext is a context as it is printed with json.
type listedContext struct {
	Name      string `json:"name"`
	Address   string `json:"address"`
	Namespace string `json:"namespace,omitempty"`
	TokenFile string `json:"tokenFile,omitempty"`
	TLS       bool   `json:"tls,omitempty"`
	CA        string `json:"ca,omitempty"`
	Cert      string `json:"cert,omitempty"`
	Key       string `json:"key,omitempty"`
	Insecure  bool   `json:"insecure,omitempty"`
	Current   bool   `json:"current,omitempty"`
}
