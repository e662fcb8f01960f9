#!/usr/bin/env bash
# run.sh VERB...: what is done with the Python SDK. Python packages are installed into .venv of the repository.
#
#   install    installs what the other verbs need, and the SDK itself as it stands here
#   generate   writes src/transcriptd/v1 from the protos, and src/transcriptd/_sync from src/transcriptd/_async
#   check      fails where what generate writes differs from what is there
#   lint       ruff: rules and format
#   types      mypy --strict
#   test       pytest; arguments behind "test" are pytest's
#   realdata   the tests of real transcripts, all of them; TRANSCRIPTS_DIR names where they are (docs/data.md)
#   bench      bench/figures.py with the arguments behind it, for tools/limits/sdks
#   wheel      builds dist/*.whl, installs it into an empty environment and uses it from there
#   all        check, lint, types, test, wheel
#
# PYTHON names the interpreter, 3.10 or later; python3 without.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
python=${PYTHON:-python3}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
venv="$root/.venv/sdk-$version"
generator="$root/.venv/sdk-generate-$version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fresh VENV FILE [ARGUMENT...]: an environment with what FILE lists; made anew where the list has changed.
fresh() {
  if ! cmp -s "$2" "$1/requirements.txt"; then
    rm -rf "$1"
    "$python" -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2" "${@:3}"
    cp "$2" "$1/requirements.txt"
  fi
}

install() {
  fresh "$venv" requirements.txt
  if ! cmp -s pyproject.toml "$venv/pyproject.toml"; then
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
    cp pyproject.toml "$venv/pyproject.toml"
  fi
}

# write FOLDER: the generated packages v1 and _sync into FOLDER, which has the hand-written module of _sync.
write() {
  fresh "$generator" requirements-generate.txt
  mkdir -p "$1/v1" "$1/_sync"
  "$generator/bin/python" tools/generate.py "$1/v1"
  "$generator/bin/python" tools/unasync.py "$1/_sync"
  "$venv/bin/ruff" format --quiet "$1/_sync"
  "$venv/bin/ruff" check --quiet --select I --fix "$1/_sync"
}

generate() { install; write src/transcriptd; }

check() {
  install
  cp pyproject.toml "$work"
  write "$work/src/transcriptd"
  cp src/transcriptd/_sync/runtime.py "$work/src/transcriptd/_sync"
  local package
  for package in v1 _sync; do
    diff -r -x __pycache__ "src/transcriptd/$package" "$work/src/transcriptd/$package" || {
      echo "src/transcriptd/$package is stale: run sdk/python/run.sh generate" >&2
      return 1
    }
  done
  cmp LICENSE "$root/LICENSE"
}

lint() {
  install
  "$venv/bin/ruff" check .
  "$venv/bin/ruff" format --check .
}

types() {
  install
  "$venv/bin/mypy"
  "$venv/bin/mypy" tests tools bench
}

tests() {
  install
  "$venv/bin/pytest" -q "$@"
}

realdata() {
  install
  TRANSCRIPTS_DIR=${TRANSCRIPTS_DIR:?docs/data.md tells what it names} TRANSCRIPTS_ALL=1 "$venv/bin/pytest" -q tests/test_realdata*.py
}

bench() {
  install >&2
  "$venv/bin/python" bench/figures.py "$@"
}

wheel() {
  install
  rm -rf dist
  "$venv/bin/python" -m build --no-isolation --outdir dist . >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  "$python" -m venv "$work/empty"
  "$work/empty/bin/pip" install --quiet --disable-pip-version-check dist/*.whl
  "$work/empty/bin/python" tests/installed.py
}

while [ $# -gt 0 ]; do
  case $1 in
  install | generate | check | lint | types | realdata | wheel) "$1" ;;
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
  all) check && lint && types && tests && wheel ;;
  *)
    sed -n '2,/^set/s/^# \{0,1\}//p' run.sh >&2
    exit 2
    ;;
  esac
  shift
done
