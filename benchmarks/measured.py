"""The source files that each benchmark measures, and their fingerprints.

Each result records the fingerprint of its run (`measured` in its head). A result whose fingerprint differs from that of
the current files is stale: benchmarks/RESULTS.md marks it until the benchmark runs again. Docstrings, comments and
empty lines of Python files do not count, because they do not change a measurement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from hashlib import sha256
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, generate_tokens
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORE = "layers/duecourse/python/duecourse"
ENGINE = "schedules/src/duecourse_schedules"
SUFFIXES = {".py", ".ts", ".tsx", ".txt", ".json"}

_DISPATCH = (
    ENGINE,
    *(f"{CORE}/domain/jobs/{module}.py" for module in ("cursor", "job")),
    *(f"{CORE}/stores/{module}.py" for module in ("cursor_item", "cursors", "timers")),
    *(f"{CORE}/{part}" for part in ("usecases/dispatch", "adapters/dynamodb/tables.py", "adapters/sqs")),
)
_EXECUTE = tuple(
    f"{CORE}/{part}"
    for part in (
        *("domain/runs", "domain/targets", "usecases/worker", "adapters/dynamodb/tables.py", "adapters/targets"),
        *(f"stores/{module}.py" for module in ("inputs", "run_item", "runs", "waits")),
    )
)
_WORKFLOWS = tuple(
    f"{CORE}/{part}"
    for part in ("domain/workflows", "usecases/workflows", "adapters/dynamodb/tables.py", "stores/workflows.py")
)
_JOBS = tuple(
    f"{CORE}/{part}"
    for part in (
        *("usecases/jobs", "usecases/tenants.py", "adapters/dynamodb/tables.py", "domain/jobs", "domain/tenants"),
        *(f"stores/{module}.py" for module in ("calendars", "job_item", "jobs", "tenants")),
    )
)
_PEAKS = tuple(f"{CORE}/domain/maintenance/{module}.py" for module in ("peaks", "prescale"))
_CARETAKERS = tuple(
    f"{CORE}/{part}" for part in ("domain/maintenance", "usecases/maintenance", "stores/maintenance.py")
)
_STAGE = ("infra/stages.py", "infra/settings")
_COUNTS = ("benchmarks/results/dispatch.json", "benchmarks/results/execute.json")

SOURCES: Mapping[str, tuple[str, ...]] = {
    "schedule": (ENGINE, "benchmarks/schedule.py"),
    "cold": (CORE, ENGINE, "functions", "layers/dependencies/requirements.txt", "benchmarks/cold"),
    "dispatch": (*_DISPATCH, f"{CORE}/adapters/aws", "benchmarks/dispatch", "benchmarks/wire"),
    "execute": (*_EXECUTE, f"{CORE}/adapters/aws", "functions/execute", "benchmarks/execute", "benchmarks/wire"),
    "workflows": (*_WORKFLOWS, *_EXECUTE, "benchmarks/workflows.py", "benchmarks/wire"),
    "creation": (*_JOBS, "infra/stores", "benchmarks/creation.py", "benchmarks/wire"),
    "burst": (*_DISPATCH, *_PEAKS, *_STAGE, *_COUNTS, "benchmarks/burst"),
    "local": (*_DISPATCH, *_EXECUTE, f"{CORE}/adapters/aws", *_STAGE, "functions", "benchmarks/local"),
    "cost": (*_DISPATCH, *_CARETAKERS, *_STAGE, *_COUNTS, "functions/dispatch", "benchmarks/cost"),
    "lanes": (*_EXECUTE, *_STAGE, "benchmarks/lanes.py", "benchmarks/lanes_load.py", "benchmarks/lanes_report.py"),
    "wait_queue": (*_EXECUTE, "benchmarks/wait_queue.py"),
    "limits": (*_EXECUTE, "benchmarks/limits.py"),
    "hops": (*_WORKFLOWS, *_EXECUTE, "benchmarks/hops"),
    "flood": (f"{CORE}/api", *_JOBS, *_STAGE, "benchmarks/flood.py"),
    "requests": (f"{CORE}/api", *_JOBS, *_WORKFLOWS, "benchmarks/requests"),
    "seats": (f"{CORE}/domain/jobs", f"{CORE}/domain/tenants", *_STAGE, "benchmarks/seats"),
    "slow": (*_EXECUTE, f"{CORE}/domain/jobs", *_STAGE, "benchmarks/slow.py"),
    "console": ("console/src", f"{CORE}/api", "benchmarks/console.py"),
}
"""Files and folders by benchmark. For a result that is computed from other results, they include their files."""


def fingerprint(name: str, root: Path = ROOT) -> str:
    """Return a hash of the current content of a benchmark's files: 16 hexadecimal digits. Missing files are omitted."""
    digest = sha256()
    for path in sorted(_files(SOURCES.get(name, ()), root)):
        source = path.read_bytes()
        content = sha256(code(source.decode()).encode() if path.suffix == ".py" else source).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]


def stale(documents: Mapping[str, Mapping[str, Any]], root: Path = ROOT) -> frozenset[str]:
    """Return the results with a fingerprint that differs from the current files, and those without a fingerprint."""
    return frozenset(
        name
        for name, document in documents.items()
        if name in SOURCES and document.get("measured") != fingerprint(name, root)
    )


def code(source: str) -> str:
    """Return the lines of a Python file without docstrings, comments and empty lines.

    The result depends only on the text, and not on the version of Python, as `ast.dump` does.
    """
    lines = source.splitlines()
    for token in generate_tokens(StringIO(source).readline):
        if token.type == COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [lines[first][: node.col_offset], *[""] * (last - first - 1)]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _files(sources: Iterable[str], root: Path) -> set[Path]:
    found: set[Path] = set()
    for source in sources:
        path = root / source
        found |= {path} if path.is_file() else {each for each in path.rglob("*") if each.suffix in SUFFIXES}
    return found
