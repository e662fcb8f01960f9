#!/usr/bin/env bash
# Installs the protobuf runtime into .venv/vectors of the repository (not here: it brings .proto files of its own, which
# buf would take for ours), generates the Python code from the protos, and checks the vectors.
set -euo pipefail
cd "$(dirname "$0")"
venv=../../../.venv/vectors

if ! cmp -s requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
  cp requirements.txt "$venv/requirements.txt"
fi
rm -rf build
mkdir build
"$venv/bin/python" -m grpc_tools.protoc -I ../.. --python_out=build transcript/v1/message.proto transcript/v1/node.proto
PYTHONPATH=build exec "$venv/bin/python" check.py
