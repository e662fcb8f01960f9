package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// goLicence is that of Go's standard library.
const goLicence = "BSD-3-Clause"

// leastCovered is how much of a file must be text of licences, in percent, so that it counts as one. Copyright lines are the rest.
const leastCovered = 75

// sources are the folders that modules lie in, by path.
type sources map[string]string

// findSources asks Go for the modules of the workspace in a folder, or of its module where GOWORK is off.
func findSources(checkout string) (sources, error) {
	list := exec.Command("go", "list", "-m", "-json=Path,Dir", "all")
	list.Dir, list.Stderr = checkout, os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m all in %s: %w", checkout, err)
	}
	all := sources{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var m struct{ Path, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all[m.Path] = m.Dir
	}
	for module := range all {
		if isOurs(module) {
			all[module] = all[ours]
		}
	}
	return all, nil
}

// licences are those of a module, read off the files at its root. Of several files, all are told: which part each is for, they say themselves.
func (s sources) licences(module string) (*cyclonedx.Licenses, error) {
	dir := s[module]
	if dir == "" {
		return nil, fmt.Errorf("%s is not here: run go mod download", module)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range files {
		if f.IsDir() || !isLicence(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		if found := licensecheck.Scan(text); found.Percent >= leastCovered {
			for _, match := range found.Match {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s has no file at its root that is a known licence", module)
	}
	var all cyclonedx.Licenses
	for _, id := range ids {
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &all, nil
}

// isLicence tells whether a file is where licences stand.
func isLicence(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE"}, func(of string) bool { return strings.HasPrefix(name, of) })
}
