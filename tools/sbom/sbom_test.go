package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// TestDescribe: what is told of a binary, here this test, has each module that it was built of, with version, checksum and licence; Go's standard
// library; and nothing else. It is the same each time.
func TestDescribe(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := findSources(".")
	if err != nil {
		t.Fatal(err)
	}
	from[ours+"/tools/sbom"] = "../.." // which is in no workspace
	bom, err := describe(self, from)
	if err != nil {
		t.Fatal(err)
	}
	built, _ := debug.ReadBuildInfo()
	if len(built.Deps) < 2 || len(*bom.Components) != len(built.Deps)+1 || len(*(*bom.Dependencies)[0].Dependencies) != len(built.Deps)+1 {
		t.Fatalf("%d parts of %d modules", len(*bom.Components), len(built.Deps))
	}
	for i, dep := range built.Deps {
		c := (*bom.Components)[i+1]
		if c.Name != dep.Path || c.Version != dep.Version || c.PackageURL != "pkg:golang/"+dep.Path+"@"+dep.Version || len(*c.Licenses) == 0 {
			t.Errorf("%+v is not %+v", c, dep)
		}
		if (*c.Properties)[0].Value != dep.Sum {
			t.Errorf("%s: %v is not %s", dep.Path, *c.Properties, dep.Sum)
		}
	}
	if std := (*bom.Components)[0]; std.Name != "std" || "go"+std.Version != built.GoVersion {
		t.Errorf("%+v", std)
	}
	if main := bom.Metadata.Component; len((*main.Hashes)[0].Value) != 64 || main.Type != cyclonedx.ComponentTypeApplication {
		t.Errorf("%+v", main)
	}
	again, err := describe(self, from)
	if err != nil {
		t.Fatal(err)
	}
	first, err := json.Marshal(bom)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(again); err != nil || string(first) != string(second) {
		t.Errorf("told again, it is another: %v", err)
	}
}

// TestOurs: our modules have the version of the binary and no checksum, and a build that knows no commit has no version.
func TestOurs(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "pkg:golang/" + ours + "/gen@v0.1.0", "(devel)": "pkg:golang/" + ours + "/gen", "v0.1.1-0.20261128-abc+dirty": "pkg:golang/" + ours + "/gen@v0.1.1-0.20261128-abc%2Bdirty",
	} {
		if c := library(&debug.Module{Path: ours + "/gen", Version: "(devel)"}, version); c.PackageURL != want || c.Properties != nil {
			t.Errorf("%s: %+v", version, c)
		}
	}
	replaced := &debug.Module{Path: "a.example/b", Version: "v1.0.0", Replace: &debug.Module{Path: "a.example/c", Version: "v1.0.1", Sum: "h1:x"}}
	if c := library(replaced, "v0.1.0"); c.PackageURL != "pkg:golang/a.example/c@v1.0.1" || (*c.Properties)[0].Value != "h1:x" {
		t.Errorf("%+v", c)
	}
}

// TestLicences: licences are read off whole files at the root of a module, and a module without one is an error that names it.
func TestLicences(t *testing.T) {
	text, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	whole, none, words := t.TempDir(), t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		filepath.Join(whole, "LICENSE.txt"): string(text), filepath.Join(none, "README"): string(text), filepath.Join(words, "LICENSE"): "All rights reserved.",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from := sources{"whole": whole, "none": none, "words": words}
	if found, err := from.licences("whole"); err != nil || len(*found) != 1 || (*found)[0].License.ID != "Apache-2.0" {
		t.Errorf("%v, %v", found, err)
	}
	for _, module := range []string{"none", "words", "nowhere"} {
		if found, err := from.licences(module); err == nil || !strings.Contains(err.Error(), module) {
			t.Errorf("%s: %v, %v", module, found, err)
		}
	}
}

// TestCommand: the command refuses what is no binary of Go.
func TestCommand(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(text, "."); err == nil {
		t.Error("a text is described")
	}
	if _, err := findSources(t.TempDir()); err == nil {
		t.Error("a folder without a module has sources")
	}
}
