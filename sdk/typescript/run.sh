#!/usr/bin/env bash
# run.sh VERB...: what is done with the TypeScript SDK.
#
#   install    npm ci, where the lock has changed
#   generate   writes src/gen from the protos
#   check      fails where what generate writes differs from what is there
#   lint       eslint and prettier
#   types      tsc
#   test       compiles and runs the tests; arguments behind "test" are node's
#   bench      bench/figures.ts with the arguments behind it, for tools/limits/sdks
#   realdata   puts every conversation of TRANSCRIPTS_DIR into a server and gets it back (docs/data.md)
#   tarball    makes transcriptd-VERSION.tgz, the npm package, and prints its name
#   pack       makes it, installs it with the locked versions of its dependencies into an empty folder, and compiles
#              and runs a program there beside a server
#   all        check, lint, types, test, pack
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install() {
  if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
    npm ci --silent --no-audit --no-fund
    cp package-lock.json node_modules/.installed-lock.json
  fi
}

# write FOLDER: the generated code.
write() {
  sed "s#out: .*#out: $1#" buf.gen.yaml >"$work/buf.gen.yaml"
  (cd "$root" && GOWORK=off go tool -modfile=tools/go.mod buf generate --template "$work/buf.gen.yaml")
}

generate() {
  install
  rm -rf src/gen
  write "$PWD/src/gen"
}

check() {
  install
  write "$work/gen"
  diff -r src/gen "$work/gen" || { echo "src/gen is stale: run sdk/typescript/run.sh generate" >&2; return 1; }
  cmp LICENSE "$root/LICENSE"
}

lint() {
  install
  npx eslint --max-warnings 0 .
  npx prettier --check --log-level warn .
}

types() {
  install
  npx tsc --noEmit
}

tests() {
  install
  rm -rf build
  npx tsc
  node --enable-source-maps --test "$@" build/test/*.test.js
}

bench() {
  { install && npx tsc; } >&2
  node build/bench/figures.js "$@"
}

realdata() {
  install
  rm -rf build
  npx tsc
  REALDATA=all TRANSCRIPTS_DIR=${TRANSCRIPTS_DIR:-$root/../shared/data/transcripts} \
    node --enable-source-maps --test build/test/realdata.test.js build/test/realservice.test.js
}

# tarball: the package, as npm has it.
tarball() {
  install
  rm -rf dist transcriptd-*.tgz
  npx tsc -p tsconfig.build.json
  npm pack --silent
}

pack() {
  local tgz consumer=$work/consumer
  tgz=$PWD/$(tarball)
  cp -r tools/consumer "$consumer"
  node tools/consumer-package.js package-lock.json "$tgz" >"$consumer/package.json"
  (cd "$consumer" && npm install --silent --no-audit --no-fund)
  npx tsc -p "$consumer" --typeRoots "$PWD/node_modules/@types"
  ../with-server.sh node "$consumer/consumer.js"
}

while [ $# -gt 0 ]; do
  case $1 in
  install | generate | check | lint | types | realdata | tarball | pack) "$1" ;;
  test)
    shift
    tests "$@"
    break
    ;;
  bench)
    shift
    bench "$@"
    break
    ;;
  all) check && lint && types && tests && pack ;;
  *)
    sed -n '2,/^set/s/^# \{0,1\}//p' run.sh >&2
    exit 2
    ;;
  esac
  shift
done
