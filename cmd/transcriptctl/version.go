package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// version is what this build calls itself; a build from a tagged module says the tag.
const version = "0.1.0-dev"

type versionCommand struct {
	Server bool `help:"Ask the server what it is, too."`
}

func (c *versionCommand) Help() string {
	return `Examples:

    transcriptctl version
    transcriptctl version --server`
}

// Run tells versions.
func (c *versionCommand) Run(ctx context.Context, s *session) error {
	own := struct {
		Version string          `json:"version"`
		Server  string          `json:"serverVersion,omitempty"`
		Info    json.RawMessage `json:"server,omitempty"`
	}{Version: buildVersion()}
	rows := [][2]string{{"transcriptctl", own.Version}}
	if c.Server {
		info, err := s.ServerInfo(ctx)
		if err != nil {
			return err
		}
		if own.Info, err = protojson.Marshal(info); err != nil {
			return err
		}
		own.Server = info.GetServerVersion()
		rows = append(rows, serverRows(info)...)
	}
	if s.json {
		return s.printJSON(own)
	}
	return s.printRows(rows)
}

// serverRows tell what a server is.
func serverRows(info *transcriptv1.ServerInfoResponse) [][2]string {
	return [][2]string{
		{"transcriptd", orDash(info.GetServerVersion())},
		{"store", orDash(info.GetStoreId())},
		{"engine", fmt.Sprintf("%s, store format %d", orDash(info.GetEngine()), info.GetStoreFormat())},
		{"features", orDash(strings.Join(info.GetFeatures(), ", "))},
		{"receipt key", orDash(hex.EncodeToString(info.GetReceiptPublicKey()))},
	}
}

// buildVersion is the module's version where the build knows it.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return version
}
