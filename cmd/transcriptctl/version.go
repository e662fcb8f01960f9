package main

import (
	"context"
	"runtime/debug"
	"strings"
)

// version is what this build calls itself; a build from a tagged module says the tag.
const version = "0.1.0-dev"

type versionCommand struct {
	Server bool `help:"Ask the server for its version, too."`
}

func (c *versionCommand) Help() string {
	return `Examples:

    transcriptctl version
    transcriptctl version --server`
}

// Run tells versions.
func (c *versionCommand) Run(ctx context.Context, s *session) error {
	own := struct {
		Version string `json:"version"`
		Server  string `json:"serverVersion,omitempty"`
	}{Version: buildVersion()}
	if c.Server {
		reply, err := s.Stats(ctx)
		if err != nil {
			return err
		}
		own.Server = reply.GetServerVersion()
	}
	if s.json {
		return s.printJSON(own)
	}
	rows := [][2]string{{"transcriptctl", own.Version}}
	if c.Server {
		rows = append(rows, [2]string{"transcriptd", own.Server})
	}
	return s.printRows(rows)
}

// buildVersion is the module's version where the build knows it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return version
}
