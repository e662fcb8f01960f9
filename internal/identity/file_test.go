package identity

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is wrong with a file is told with its place.
func TestBadFiles(t *testing.T) {
	hash := hashOf(NewToken())
	one := func(more string) string { return `{"principals":[{"name":"a"},{"name":"b",` + more + `}]}` }
	for text, want := range map[string]string{
		``:                                "line 1, byte 1",
		"{\n\"principals\": [}":           "line 2, byte 16",
		`{} {}`:                           "line 1",
		`[]`:                              "the file: a [",
		`{"Principals":[]}`:               "Principals: there is no such member",
		`{"principals":{}}`:               "principals: a {",
		`{"principals":[null]}`:           "principals[0].name: must be",
		`{"principals":[{"name":""}]}`:    "principals[0].name: must be",
		`{"principals":[{"name":"a/b"}]}`: "principals[0].name: must be",
		`{"principals":[{"name":"` + strings.Repeat("a", 129) + `"}]}`: "principals[0].name: must be",
		`{"principals":[{"name":"a"},{"name":"a"}]}`:                   "principals[1].name: a is there twice",
		`{"principals":[{"name":"a","name":"b"}]}`:                     "principals[0].name: the member stands there twice",
		one(`"token":[]`): "principals[1].token: there is no such member",
		one(`"grants":[{"roles":[],"namespaces":"*"}]`):                                                       "principals[1].grants[0].roles: must name a role",
		one(`"grants":[{"roles":["read","reed"],"namespaces":"*"}]`):                                          "principals[1].grants[0].roles[1]: \"reed\" is no role: they are read, append, erase, operate, backup, admin",
		one(`"grants":[{"roles":["read"]}]`):                                                                  "principals[1].grants[0].namespaces: \"\" is no pattern",
		one(`"grants":[{"roles":["read"],"namespaces":"a*b"}]`):                                               "principals[1].grants[0].namespaces: \"a*b\" is no pattern",
		one(`"rate":{"calls_per_second":"1"}`):                                                                "principals[1].rate.calls_per_second: a string is out of place",
		one(`"rate":{"calls_per_second":0}`):                                                                  "principals[1].rate.calls_per_second: must be more",
		one(`"rate":{"calls_per_second":1,"burst":-1}`):                                                       "principals[1].rate.burst: must be",
		one(`"certificates":["agent"]`):                                                                       "principals[1].certificates[0]: must be dns:",
		one(`"certificates":["dns:a","dns:A"]`):                                                               "principals[1].certificates[1]: is there twice",
		one(`"tokens":[{"id":"x","sha256":"00"}]`):                                                            "principals[1].tokens[0].sha256: must be",
		one(`"tokens":[{"id":"x","sha256":"` + hash + `0"}]`):                                                 "principals[1].tokens[0].sha256: must be",
		one(`"tokens":[{"id":"x","sha256":"` + hash + `"},{"id":"y","sha256":"` + hash + `"}]`):               "principals[1].tokens[1].sha256: is there twice",
		one(`"tokens":[{"sha256":"` + hash + `"}]`):                                                           "principals[1].tokens[0].id: must be",
		one(`"tokens":[{"id":"x","sha256":"` + hash + `"},{"id":"x","sha256":"` + hashOf(NewToken()) + `"}]`): "principals[1].tokens[1].id: is there twice",
		one(`"tokens":[{"id":"x","sha256":"` + hash + `","expires":null}]`):                                   "principals[1].tokens[0].expires: a null is out of place",
		one(`"tokens":[{"id":"x","sha256":"` + hash + `","expires":"0001-01-01T00:00:00Z"}]`):                 "principals[1].tokens[0].expires: a string is out of place",
		one(`"tokens":[{"id":"x","sha256":"` + hash + `","expires":"tomorrow"}]`):                             "principals[1].tokens[0].expires: a string is out of place",
	} {
		_, _, err := parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  is told as %v\n  want %s", text, err, want)
		} else if strings.Contains(err.Error(), hash) {
			t.Errorf("%s: the error has the hash", text)
		}
	}
}

// A file that is written is read as the same.
func TestFilesAreReadAsWritten(t *testing.T) {
	const text = `{
  "principals": [
    {
      "name": "agents",
      "grants": [
        {
          "roles": [
            "read",
            "append"
          ],
          "namespaces": "acme*"
        }
      ],
      "rate": {
        "calls_per_second": 2.5
      },
      "certificates": [
        "dns:host"
      ],
      "tokens": [
        {
          "id": "k3v9x2",
          "sha256": "0000000000000000000000000000000000000000000000000000000000000000",
          "created": "2026-12-01T00:00:00Z"
        }
      ]
    }
  ]
}
`
	f, table, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.text(); err != nil || string(again) != text {
		t.Errorf("written as %s, %v", again, err)
	}
	if rate := table.principals["agents"].Rate; rate != (Rate{PerSecond: 2.5, Burst: 3}) {
		t.Errorf("rate %v", rate)
	}
}

// The examples of the documentation are files of principals.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```json\n")[1:]
	for _, block := range blocks {
		example, _, _ := strings.Cut(block, "```")
		if _, _, err := parse([]byte(example)); err != nil {
			t.Errorf("%v:\n%s", err, example)
		}
	}
	if len(blocks) < 2 {
		t.Errorf("there are %d examples", len(blocks))
	}
}

func TestPatterns(t *testing.T) {
	for text, covers := range map[string][]string{
		"*":      {"a", "acme", "acme-1", "b.c_d-e"},
		"a*":     {"a", "acme", "acme-1"},
		"acme*":  {"acme", "acme-1"},
		"acme":   {"acme"},
		"acme-*": {"acme-1"},
		"acm":    nil,
		"z*":     nil,
	} {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"a", "acme", "acme-1", "b.c_d-e"} {
			if p.Covers(namespace) != slices.Contains(covers, namespace) {
				t.Errorf("%s covers %s: %t", text, namespace, p.Covers(namespace))
			}
		}
		who := &Principal{Grants: []Grant{{Roles: Read, Namespaces: p}}}
		if who.MayEverywhere(Read) != (text == "*") {
			t.Errorf("%s is everywhere: %t", text, who.MayEverywhere(Read))
		}
	}
	for _, text := range []string{"", "**", "*a", "a*b", "a**", "A", "a b", "a/b", "é", "a\x00", strings.Repeat("a", 65), strings.Repeat("a", 65) + "*"} {
		if _, err := ParsePattern(text); err == nil {
			t.Errorf("%q is a pattern", text)
		}
	}
}

// A pattern covers a namespace where its prefix begins it, and a name only itself; a role that was not given is not there.
func TestGrantsCoverWhatTheySay(t *testing.T) {
	name := rapid.StringMatching(`[a-c.]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		prefix, namespace := rapid.StringMatching(`[a-c.]{0,3}`).Draw(t, "prefix"), name.Draw(t, "namespace")
		open, err := ParsePattern(prefix + "*")
		if err != nil || open.Covers(namespace) != strings.HasPrefix(namespace, prefix) {
			t.Errorf("%s covers %s: %t, %v", open, namespace, open.Covers(namespace), err)
		}
		if closed := Pattern(prefix); closed.Covers(namespace) != (prefix == namespace) {
			t.Errorf("%s covers %s: %t", closed, namespace, closed.Covers(namespace))
		}
		has, asked := Role(rapid.IntRange(1, 63).Draw(t, "has")), rapid.SampledFrom(roles[:]).Draw(t, "asked").role
		who := &Principal{Grants: []Grant{{Roles: has, Namespaces: open}}}
		if who.May(asked, namespace) != (has&asked != 0 && strings.HasPrefix(namespace, prefix)) {
			t.Errorf("%v on %s may %v on %s: %t", has.Names(), open, asked.Names(), namespace, who.May(asked, namespace))
		}
	})
}

func TestRolesHaveNames(t *testing.T) {
	for _, r := range roles {
		if role, err := ParseRole(r.name); err != nil || role != r.role || !slices.Equal(role.Names(), []string{r.name}) {
			t.Errorf("%s is %v, %v", r.name, role.Names(), err)
		}
	}
	if names := (Admin | Read).Names(); !slices.Equal(names, []string{"read", "admin"}) {
		t.Errorf("read and admin are %v", names)
	}
}
