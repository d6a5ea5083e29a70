#!/bin/sh
# Finds a Python that is new enough and lets scripts/setup.py do the rest. POSIX sh, no other needs.
set -eu
cd "$(dirname "$0")/.."

suitable() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    if suitable "$PYTHON"; then
        exec "$PYTHON" -m scripts.setup
    fi
    echo "setup: PYTHON=$PYTHON is no Python 3.11 or newer" >&2
    exit 1
fi
for python in .venv/bin/python python3 python3.14 python3.13 python3.12 python3.11 python; do
    if suitable "$python"; then
        exec "$python" -m scripts.setup
    fi
done
echo "setup: Python 3.11 or newer is needed and was not found; install it, or name it: make setup PYTHON=/path/to/python3" >&2
exit 1
