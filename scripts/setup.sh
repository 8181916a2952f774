#!/usr/bin/env bash
# The Python environment in .venv, from requirements.lock by hash. Safe to run again; run through `make`.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3.11 python3.12 python3.13 python3; do
        if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            python=$candidate
            break
        fi
    done
fi
[ -n "$python" ] || { echo "error: no Python 3.11 or later found; install python3, or set PYTHON" >&2; exit 3; }

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "==> installing python3-venv, which this Python lacks" >&2
    sudo=""; [ "$(id -u)" = 0 ] || sudo="sudo -n"
    $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends python3-venv >&2 ||
        { echo "error: $python cannot make virtual environments; run: apt-get install python3-venv" >&2; exit 3; }
fi

if [ ! -x .venv/bin/python ]; then
    echo "==> creating .venv with $("$python" --version)" >&2
    "$python" -m venv .venv
fi
if [ ! -x .venv/bin/uv ]; then
    echo "==> installing uv" >&2
    awk '/^[a-z]/ {wanted = /^uv==/} wanted' requirements.lock > .venv/uv.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .venv/uv.txt
fi
echo "==> installing the locked dependencies" >&2
# Wheels, except for PySpark, which has none: it is built with the locked setuptools.
VIRTUAL_ENV=$PWD/.venv .venv/bin/uv pip sync --quiet --require-hashes --only-binary :all: --no-binary pyspark \
    --build-constraints requirements.lock requirements.lock
VIRTUAL_ENV=$PWD/.venv .venv/bin/uv pip install --quiet --no-deps --no-build-isolation --editable .
