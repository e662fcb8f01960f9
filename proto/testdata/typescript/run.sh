#!/usr/bin/env bash
# Installs protobuf-es and TypeScript into node_modules, generates the TypeScript code from the protos with buf (a Go
# tool of tools/), compiles, and checks the vectors.
set -euo pipefail
cd "$(dirname "$0")"

if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
  npm ci --silent --no-audit --no-fund
  cp package-lock.json node_modules/.installed-lock.json
fi
rm -rf build
(
  cd ../../..
  GOWORK=off go tool -modfile=tools/go.mod buf generate \
    --path proto/transcript/v1/message.proto --path proto/transcript/v1/node.proto \
    --template proto/testdata/typescript/buf.gen.yaml
)
node_modules/.bin/tsc --project .
exec node build/js/check.js ..
