package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is a package as `go list -json` prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// list gives the packages that patterns name, and where the compiler put what each package exports.
func list(dir string, patterns []string) (packages []listed, exports map[string]string, err error) {
	command := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	command.Dir = dir
	command.Env = append(command.Environ(), "GOWORK=") // the workspace of dir; this program itself is outside of it
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	exports = map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
}

// usesOf gives, for each file of a package, the other files that declare what it uses.
func usesOf(p listed, exports map[string]string) (map[string]map[string]bool, error) {
	fset := token.NewFileSet()
	uses := map[string]map[string]bool{}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		uses[name] = map[string]bool{}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	nameOf := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	for ident, object := range info.Uses {
		if object.Pkg() == nil || object.Pkg().Path() != p.ImportPath || !object.Pos().IsValid() {
			continue
		}
		if from, to := nameOf(ident.Pos()), nameOf(object.Pos()); from != to {
			uses[from][to] = true
		}
	}
	return uses, nil
}
