#!/usr/bin/env bash
# with-server.sh COMMAND [ARGUMENT...]: runs a command beside a transcriptd of its own, which keeps all in memory. The command finds its
# address in TRANSCRIPTD_ADDRESS. TRANSCRIPTD names the server's binary; without, it is built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
server=""
stop() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  rm -rf "$work"
}
trap stop EXIT

binary=${TRANSCRIPTD:-$work/transcriptd}
[ -n "${TRANSCRIPTD:-}" ] || (cd "$root" && go build -o "$binary" ./cmd/transcriptd)
: >"$work/log" # it is there before the server is
"$binary" --listen=127.0.0.1:0 --admin-listen=off --store=memory: 2>"$work/log" &
server=$!
address=""
for _ in $(seq 150); do
  address=$(sed -n 's/.*serves gRPC on \([^ ;]*\);.*/\1/p' "$work/log")
  [ -z "$address" ] || break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
[ -n "$address" ] || { echo "the server does not serve:" >&2; cat "$work/log" >&2; exit 1; }
TRANSCRIPTD_ADDRESS=$address "$@"
