package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// ours is the path of our modules, which lie in one repository and have its version and licence.
const ours = "github.com/transcriptd/transcriptd"

// describe tells what a binary is made of. Every module that has no licence is in the error.
func describe(binary string, from sources) (*cyclonedx.BOM, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	bom := cyclonedx.NewBOM()
	main := component(info.Main.Path, info.Main.Version)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, path.Base(info.Path)
	if sub := strings.TrimPrefix(info.Path, info.Main.Path+"/"); sub != info.Path {
		main.PackageURL += "#" + sub
	}
	main.BOMRef = main.PackageURL
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	main.Properties = settings(info)
	main.Licenses, err = from.licences(info.Main.Path)
	bom.Metadata = &cyclonedx.Metadata{Component: &main}

	std := component("std", strings.TrimPrefix(info.GoVersion, "go"))
	std.Licenses = expression(goLicence)
	parts, uses, failed := []cyclonedx.Component{std}, []string{std.BOMRef}, []error{err}
	for _, dep := range info.Deps {
		c := library(dep, info.Main.Version)
		c.Licenses, err = from.licences(dep.Path)
		failed = append(failed, err)
		parts, uses = append(parts, c), append(uses, c.BOMRef)
	}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &uses}}
	return bom, errors.Join(failed...)
}

// library is a module that was linked into a binary of a version of ours.
func library(dep *debug.Module, version string) cyclonedx.Component {
	if isOurs(dep.Path) {
		return component(dep.Path, version)
	}
	at := dep
	if dep.Replace != nil {
		at = dep.Replace
	}
	c := component(at.Path, at.Version)
	if at.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: at.Sum}}
	}
	return c
}

func component(module, version string) cyclonedx.Component {
	if version == "(devel)" { // a build that does not know its commit
		version = ""
	}
	purl := "pkg:golang/" + module
	if version != "" {
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: module, Version: version, PackageURL: purl}
}

// settings are what it takes to build the binary again.
func settings(info *debug.BuildInfo) *[]cyclonedx.Property {
	all := []cyclonedx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, s := range info.Settings {
		all = append(all, cyclonedx.Property{Name: fmt.Sprintf("go:build:%s", s.Key), Value: s.Value})
	}
	return &all
}

func isOurs(module string) bool { return module == ours || strings.HasPrefix(module, ours+"/") }

func expression(of string) *cyclonedx.Licenses {
	return &cyclonedx.Licenses{{License: &cyclonedx.License{ID: of}}}
}
