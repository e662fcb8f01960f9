#!/usr/bin/env bash
# Tries `transcriptctl mcp` with the clients of others, over standard input and output and over HTTP: MCP's SDKs for Python and
# TypeScript, old and new, its inspector and its conformance suite. Needs the network, for PyPI and npm.
#   run.sh         installs them into a folder of its own, and runs all
#   run.sh FOLDER  the same, and keeps the folder for the next time
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../../.." && pwd)

if [ -z "${TRANSCRIPTD_ADDRESS:-}" ]; then
  work=${1:-}
  if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
  fi
  mkdir -p "$work"
  work=$(cd "$work" && pwd)
  (cd "$root" && go build -o "$work/" ./cmd/transcriptd ./cmd/transcriptctl)
  cp "$here"/*.json "$here"/*.mjs "$here"/*.py "$here"/*.yml "$work/"
  npm --prefix "$work" install --silent --no-audit --no-fund
  [ -d "$work/venv" ] || python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  TRANSCRIPTD=$work/transcriptd bash "$root/sdk/with-server.sh" bash "$here/run.sh" "$work"
  exit
fi

work=$1
cd "$work"
# The inspector and the suite need a newer node than the one that may be here.
export PATH="$work:$work/node_modules/.bin:$PATH" TRANSCRIPTCTL_ADDR=$TRANSCRIPTD_ADDRESS HOME=$work XDG_CONFIG_HOME=$work
node --version
for i in $(seq 30); do transcriptctl put --text "filler $i" --alias "chat/$i" >/dev/null; done
transcriptctl put "$here/conversation.json" --alias chat/weather >/dev/null

served=""
stop() { [ -z "$served" ] || { kill "$served" 2>/dev/null && wait "$served"; } || true; }
trap stop EXIT
: >serving
transcriptctl mcp --http 127.0.0.1:0 2>serving &
served=$!
url=""
for _ in $(seq 100); do
  url=$(sed -n 's/.*serving at //p' serving)
  [ -z "$url" ] || break
  kill -0 "$served"
  sleep 0.1
done

echo "== Python"
venv/bin/python check.py "$work/transcriptctl" "$url"
echo "== TypeScript, @modelcontextprotocol/sdk"
node old.mjs "$work/transcriptctl" "$url"
echo "== TypeScript, @modelcontextprotocol/client"
node new.mjs "$work/transcriptctl" "$url"

echo "== the inspector"
inspect() { # inspect WHERE METHOD TEXT [FLAG...]
  local where=$1 method=$2 text=$3 out
  shift 3
  if [ "$where" = stdio ]; then
    out=$(inspector --cli "$work/transcriptctl" mcp -e "TRANSCRIPTCTL_ADDR=$TRANSCRIPTCTL_ADDR" --method "$method" "$@")
  else
    out=$(inspector --cli "$url" --transport http --method "$method" "$@")
  fi
  grep -qF "$text" <<<"$out" || { echo "$where $method: no $text in"; echo "$out"; return 1; }
  echo "$where $method"
}
for where in stdio http; do
  inspect $where tools/list recall_tool_call --strict
  inspect $where tools/call 'It is 7 degrees' --tool-name read_conversation --tool-arg conversation=chat/weather
  inspect $where resources/list transcript://default/chat/weather
  inspect $where resources/read 'It is 7 degrees' --uri transcript://default/chat/weather
  inspect $where resources/templates/list 'transcript://default/{+name}'
done

echo "== the conformance suite"
conformance server --url "$url" --requirements 2026-07-28 --expected-failures expected-failures.yml -o results >conformance.log 2>&1 || {
  grep -v '^\[' conformance.log | tail -n 60
  exit 1
}
sed -n '/^Total:/p' conformance.log
