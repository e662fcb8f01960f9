package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// contexts is what the file of contexts has. It holds no secrets: tokens and keys are in files of their own.
type contexts struct {
	// Current is the name of the one in use; "": none is.
	Current  string         `json:"current,omitempty"`
	Contexts []namedContext `json:"contexts"`
}

// namedContext is a server, and how it is reached.
type namedContext struct {
	Name      string `json:"name"`
	Address   string `json:"address"`
	Namespace string `json:"namespace,omitempty"`
	TokenFile string `json:"token_file,omitempty"`
	TLS       bool   `json:"tls,omitempty"`
	CA        string `json:"ca,omitempty"`
	Cert      string `json:"cert,omitempty"`
	Key       string `json:"key,omitempty"`
	Insecure  bool   `json:"insecure,omitempty"`
}

// named is the context of a name; nil: there is none.
func (c *contexts) named(name string) *namedContext {
	i := slices.IndexFunc(c.Contexts, func(n namedContext) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Contexts[i]
}

// contextsPath is where the file is: $XDG_CONFIG_HOME/transcriptctl/contexts.json, or what the system has for that folder.
func contextsPath() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "transcriptctl", "contexts.json"), nil
}

// readContexts reads the file; there are none where it is not.
func readContexts() (*contexts, error) {
	path, err := contextsPath()
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if path == "" || errors.Is(err, fs.ErrNotExist) { // who has no folder for it has no file
		return &contexts{}, nil
	}
	if err != nil {
		return nil, inputf("the file of contexts cannot be read: %w", err)
	}
	d, read := json.NewDecoder(bytes.NewReader(b)), &contexts{}
	d.DisallowUnknownFields()
	err = d.Decode(read)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the object")
	}
	if err = cmp.Or(err, read.check()); err != nil {
		return nil, inputf("the file of contexts %s cannot be used: %w (mend it, or remove it and add contexts anew)", path, err)
	}
	return read, nil
}

// check refuses names that 'context add' would not have written.
func (c *contexts) check() error {
	for i := range c.Contexts {
		if name := c.Contexts[i].Name; !contextName(name) || c.named(name) != &c.Contexts[i] {
			return fmt.Errorf("contexts[%d]: the name is none, or stands there twice", i)
		}
	}
	return nil
}

// write writes the file, whole or not at all, for its owner alone.
func (c *contexts) write() error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".contexts") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the file of contexts cannot be written: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// security tells in a word how a context's server is talked to, and as whom.
func (c *namedContext) security() string {
	var words []string
	switch {
	case c.Cert != "":
		words = append(words, "TLS with a client certificate")
	case c.TLS || c.CA != "":
		words = append(words, "TLS")
	case c.Insecure:
		words = append(words, "plain text")
	}
	if c.TokenFile != "" {
		words = append(words, "token of "+c.TokenFile)
	}
	return strings.Join(words, ", ")
}
