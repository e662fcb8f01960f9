#!/usr/bin/env bash
# Builds transcriptd and transcriptctl into a folder, as releases and the container have them: static, and equal to the last byte wherever the same
# commit is built with the same Go (`go version -m FILE` tells both). GOOS and GOARCH choose another system.
#
#   bash deploy/build.sh DIR
set -euo pipefail
to=$(realpath -m "${1:?the folder to write to}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Whatever else is set would be in the files.
export CGO_ENABLED=0 GOFLAGS="" GOEXPERIMENT="" GOAMD64=v1 GOARM64=v8.0 GOFIPS140=off GOWORK=
mkdir -p "$to"
go build -trimpath -buildvcs=auto -ldflags=-s -o "$to/" ./cmd/transcriptd ./cmd/transcriptctl
cd "$to" && sha256sum transcriptd* transcriptctl*
