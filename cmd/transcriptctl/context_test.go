package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// contextsAt has contexts be kept in a folder of the test's own, and gives the file's name.
func contextsAt(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	return filepath.Join(dir, "transcriptctl", "contexts.json")
}

// ctl runs the tool without an address.
func ctl(args ...string) result {
	var out, notes bytes.Buffer
	err := run(context.Background(), args, strings.NewReader(""), &out, &notes)
	code := report(&notes, err)
	return result{out: out.String(), notes: notes.String(), code: code}
}

func mustCtl(t *testing.T, args ...string) string {
	t.Helper()
	r := ctl(args...)
	if r.code != exitOK {
		t.Fatalf("%v: exit code %d, %q", args, r.code, r.notes)
	}
	return r.out
}

// TestContexts: contexts are added, replaced, used, listed and removed, in a file that is its owner's alone.
func TestContexts(t *testing.T) {
	file := contextsAt(t)
	if out := mustCtl(t, "context", "list"); out != "" {
		t.Errorf("before there are any: %q", out)
	}
	mustCtl(t, "context", "add", "work", "--addr", "far.example:7420", "--ca", "ca.pem", "--token-file", "token", "--use")
	mustCtl(t, "context", "add", "here", "--addr", "unix:///run/s", "--namespace", "team-a")
	mustCtl(t, "context", "add", "work", "--addr", "far.example:7421", "--cert", "c", "--key", "k", "--tls")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := "CURRENT  NAME  ADDRESS           NAMESPACE  SECURITY\n" +
		"         here  unix:///run/s     team-a     -\n" +
		"*        work  far.example:7421  -          TLS with a client certificate\n"
	if out := mustCtl(t, "context", "list"); out != want {
		t.Errorf("%q, want %q", out, want)
	}
	want = `{"name":"here","address":"unix:///run/s","namespace":"team-a"}` + "\n" +
		`{"name":"work","address":"far.example:7421","tls":true,"cert":"` + wd + `/c","key":"` + wd + `/k","current":true}` + "\n"
	if out := mustCtl(t, "context", "list", "--output", "json"); out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if there, err := os.Stat(file); err != nil || there.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", there.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("beside the file are %v, %v", left, err)
	}
	mustCtl(t, "context", "use", "here")
	mustCtl(t, "context", "remove", "here")
	if out := mustCtl(t, "context", "list"); strings.Contains(out, "*") || strings.Contains(out, "here") {
		t.Errorf("%q", out)
	}
	mustCtl(t, "context", "use", "work")
	mustCtl(t, "context", "use", "--none")
	if out := mustCtl(t, "context", "list"); strings.Contains(out, "*") {
		t.Errorf("%q", out)
	}
}

// TestContextMistakes: what cannot be is refused with what to do.
func TestContextMistakes(t *testing.T) {
	file := contextsAt(t)
	for _, c := range []struct{ args, want string }{
		{"context add x", "--addr"},
		{"context add a/b --addr h:1", "the name of a context must be"},
		{"context add x --addr h:1 --cert c", "--cert and --key belong together"},
		{"context add x --addr h:1 --tls --insecure", "leave out one or the other"},
		{"context use x", "there is no context x"},
		{"context use", "give the name"},
		{"context use x --none", "or --none"},
		{"context remove x", "there is no context x"},
		{"stats --context x", "there is no context x"},
		{"stats --addr 127.0.0.1:1 --insecure --ca ca.pem", "leave out one or the other"},
		{"stats --addr 127.0.0.1:1 --ca none.pem", "none.pem"},
		{"stats --addr 127.0.0.1:1 --token-file none", "none"},
		{"stats --addr far.example:1", "give --tls or --ca"},
	} {
		if r := ctl(strings.Fields(c.args)...); r.code != exitUsage || !strings.Contains(r.notes, c.want) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.notes, c.want)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{`{"contexts": [`: "mend it", `{"contexts": [{"name": "x", "tokn_file": "t"}]}`: "tokn_file",
		`{"contexts": []} {}`: "something follows", `{"contexts": [{}]}`: "contexts[0]: the name", `{"contexts": [{"name": "x"}, {"name": "x"}]}`: "contexts[1]: the name",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := ctl("stats"); r.code != exitUsage || !strings.Contains(r.notes, want) || !strings.Contains(r.notes, file) {
			t.Errorf("%s: exit code %d, %q; want %q", text, r.code, r.notes, want)
		}
	}
}

// TestWhatWins: a flag wins over the environment, that over a context; and the context in use does not count beside an address.
func TestWhatWins(t *testing.T) {
	contextsAt(t)
	mustCtl(t, "context", "add", "used", "--addr", "used.example:1", "--namespace", "used", "--token-file", "/used", "--ca", "/used", "--use")
	mustCtl(t, "context", "add", "named", "--addr", "named.example:1", "--namespace", "named", "--token-file", "/named", "--insecure")
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want reachFlags
	}{
		"the one in use": {nil, nil, reachFlags{Addr: "used.example:1", Namespace: "used", TokenFile: "/used", CA: "/used"}},
		"one that is named": {[]string{"--context=named"}, nil,
			reachFlags{Context: "named", Addr: "named.example:1", Namespace: "named", TokenFile: "/named", Insecure: true}},
		"one in the environment": {nil, map[string]string{"TRANSCRIPTCTL_CONTEXT": "named"},
			reachFlags{Context: "named", Addr: "named.example:1", Namespace: "named", TokenFile: "/named", Insecure: true}},
		"the environment over it": {nil, map[string]string{"TRANSCRIPTCTL_NAMESPACE": "env", "TRANSCRIPTCTL_TOKEN_FILE": "/env"},
			reachFlags{Addr: "used.example:1", Namespace: "env", TokenFile: "/env", CA: "/used"}},
		"a token in the environment over its file": {nil, map[string]string{"TRANSCRIPTCTL_TOKEN": "t"},
			reachFlags{Addr: "used.example:1", Namespace: "used", CA: "/used"}},
		"a flag over the environment": {[]string{"--namespace=flag"}, map[string]string{"TRANSCRIPTCTL_NAMESPACE": "env"},
			reachFlags{Addr: "used.example:1", Namespace: "flag", TokenFile: "/used", CA: "/used"}},
		"an address": {[]string{"--addr=127.0.0.1:1"}, nil, reachFlags{Addr: "127.0.0.1:1"}},
		"an address beside one that is named": {[]string{"--addr=127.0.0.1:1", "--context=named"}, nil,
			reachFlags{Context: "named", Addr: "127.0.0.1:1", Namespace: "named", TokenFile: "/named", Insecure: true}},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			flags := &commandLine{}
			if _, err := parse(t.Context(), flags, append(c.args, "stats"), nil); err != nil {
				t.Fatal(err)
			}
			if err := flags.settle(); err != nil || flags.reachFlags != c.want {
				t.Errorf("%+v, %v; want %+v", flags.reachFlags, err, c.want)
			}
		})
	}
	mustCtl(t, "context", "use", "--none")
	flags := &reachFlags{}
	if err := flags.settle(); err != nil || *flags != (reachFlags{Addr: defaultAddr}) {
		t.Errorf("without any: %+v, %v", flags, err)
	}
}
