// Command proxy writes modules of a folder as a module proxy in another serves them, at one version. With GOPROXY=file://FOLDER Go takes them as
// a user gets a release, before there is one.
//
//	GOWORK=off go -C tools run ./proxy -version v0.1.0 -to FOLDER -from CHECKOUT gen client .
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	from := flag.String("from", ".", "the folder in which the modules' folders are")
	to := flag.String("to", "", "the folder to write to")
	version := flag.String("version", "", "the version of all of them, such as v0.1.0")
	flag.Parse()
	for _, dir := range flag.Args() {
		if err := publish(filepath.Join(*from, dir), *to, *version); err != nil {
			fmt.Fprintf(os.Stderr, "proxy: %s: %v\n", dir, err)
			os.Exit(1)
		}
	}
}

// publish writes what a proxy has of one version of the module in dir: its list of versions, when it was made, its go.mod and its files.
func publish(dir, to, version string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(mod), Version: version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	base := filepath.Join(to, escaped, "@v")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(base, name), content, 0o644); err != nil {
			return err
		}
	}
	return pack(m, dir, filepath.Join(base, version+".zip"))
}

// pack writes the files of a module without those of the modules below it.
func pack(m module.Version, dir, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, m, dir), f.Close())
}
