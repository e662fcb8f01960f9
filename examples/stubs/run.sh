#!/usr/bin/env bash
# run.sh [java|rust...]: runs the examples of these languages, all without one, beside a server of their own, and checks the vectors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

java() {
  (
    cd java
    mvn -q -B compile exec:java -Dexec.mainClass=example.Identity -Dexec.args=../../../proto/testdata/vectors.json
    ../../../sdk/with-server.sh bash -c 'mvn -q -B exec:java -Dexec.mainClass=example.Turn -Dexec.args=$TRANSCRIPTD_ADDRESS'
  )
}

rust() {
  (
    cd rust
    cargo test -q --locked
    ../../../sdk/with-server.sh bash -c 'cargo run -q --locked -- $TRANSCRIPTD_ADDRESS'
  )
}

[ $# -gt 0 ] || set -- java rust
for language in "$@"; do
  case $language in
    java | rust) "$language" ;;
    *) echo "run.sh [java|rust...]" >&2; exit 2 ;;
  esac
done
