"""Measure the memory of one dispatcher in a separate process: python -m benchmarks.dispatch.memory CASE FIRINGS."""

from __future__ import annotations

import json
import sys

from benchmarks.dispatch.cases import named
from benchmarks.dispatch.measure import memory

if __name__ == "__main__":
    _, name, firings = sys.argv
    print(json.dumps(memory(named(name), int(firings))))
