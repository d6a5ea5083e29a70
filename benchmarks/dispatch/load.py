"""Load the jobs of a case into a wire: python -m benchmarks.dispatch.load URL SECURE_URL CASE FIRINGS."""

from __future__ import annotations

import sys

from benchmarks.dispatch.cases import named
from benchmarks.dispatch.sides import load
from benchmarks.wire.client import WireAt

if __name__ == "__main__":
    _, url, secure_url, name, firings = sys.argv
    load(WireAt(url, secure_url), named(name), int(firings))
