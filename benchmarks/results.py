"""Run the benchmarks, store their results, and write RESULTS.md and the numbers in the documentation.

    python -m benchmarks.results                         all but those of OWN_TARGETS; what `make bench` does
    python -m benchmarks.results --only dispatch cost    these again; the page keeps the others' last results
    python -m benchmarks.results --skip local            all others
    python -m benchmarks.results --only                  none: the page and the published numbers; `make numbers`

Each benchmark runs in a separate process, one after the other, and writes benchmarks/results/NAME.json. If a benchmark
fails or misses a budget, the others still run. The page shows the failure, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.about import about
from benchmarks.measured import stale
from benchmarks.published import UnknownFigureError, write
from benchmarks.results_pages.page import results_page, whole

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PLOTS = HERE / "plots"
PAGE = HERE / "RESULTS.md"

BENCHMARKS: Mapping[str, Sequence[str]] = {
    "schedule": (),
    "cold": (),
    "dispatch": (),
    "execute": (),
    "workflows": (),
    "creation": (),
    "requests": (),
    "burst": ("--plots", "benchmarks/plots"),
    "local": ("--plots", "benchmarks/plots"),
    "cost": (),
    "lanes": (),
    "wait_queue": (),
    "limits": (),
    "hops": (),
    "flood": (),
    "seats": (),
    "slow": (),
    "console": (),
}
"""The benchmarks in their order, with their arguments in addition to --json. `cost` reads the results of `dispatch` and
`execute`.
"""

OWN_TARGETS = frozenset({"lanes", "wait_queue", "limits", "hops", "flood", "slow", "console"})
"""Benchmarks that run only if they are named, because each takes minutes on the local stack."""

MAX_SECONDS = 3600


def run(name: str, extra: Sequence[str]) -> dict[str, Any]:
    """Run a benchmark and return its document, or a document with only `failed` if it wrote none."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json", *extra]
    try:
        done = subprocess.run(
            command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, timeout=MAX_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return failure(name, extra, f"stopped after {MAX_SECONDS} s")
    return read(name, extra, done.stdout, done.returncode)


def read(name: str, extra: Sequence[str], written: str, status: int) -> dict[str, Any]:
    """Return the document that a benchmark wrote. With a document status 1 is a missed budget, otherwise a failure."""
    try:
        document = json.loads(written)
    except json.JSONDecodeError:
        return failure(name, extra, f"status {status}, and no JSON document")
    if not isinstance(document, dict):
        return failure(name, extra, f"status {status}, and JSON that is no document")
    if status not in (0, 1):
        return document | {"failed": f"status {status}"}
    if status and all(document.get("budgets", {}).values()):
        return document | {"failed": "status 1, though no budget was missed"}
    return document


def failure(name: str, extra: Sequence[str], reason: str) -> dict[str, Any]:
    """Return the document of a failed benchmark."""
    command = " ".join(["python", "-m", f"benchmarks.{name}", "--json", *extra])
    return about(name) | {"command": command, "failed": reason}


def kept(folder: Path) -> dict[str, dict[str, Any]]:
    """Return all documents in a folder by name. A document that cannot be read contains the error."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as problem:
            document = {"benchmark": path.stem, "failed": f"{path.name} cannot be read: {problem}"}
        found[path.stem] = document
    return found


def chosen(only: Sequence[str] | None, skip: Sequence[str]) -> list[str]:
    """Return the benchmarks to run, in their order."""
    wanted = set(BENCHMARKS) - OWN_TARGETS if only is None else set(only)
    return [name for name in BENCHMARKS if name in wanted and name not in skip]


def write_page(results: Path, plots: Path, page: Path) -> dict[str, dict[str, Any]]:
    """Write RESULTS.md from the stored documents, and return the documents."""
    documents = kept(results)
    drawn = sorted(path.name for path in plots.glob("*.png"))
    page.write_text(results_page(documents, drawn, stale(documents)), encoding="utf-8")
    return documents


def main(arguments: list[str]) -> int:
    """Run the benchmarks and write the results. Return 1 if a benchmark failed or missed a budget."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=[*BENCHMARKS], metavar="NAME", help="these, and no others")
    parser.add_argument("--skip", nargs="+", choices=[*BENCHMARKS], metavar="NAME", default=[], help="all but these")
    given = parser.parse_args(arguments)
    names = chosen(given.only, given.skip)
    RESULTS.mkdir(exist_ok=True)
    PLOTS.mkdir(exist_ok=True)
    good = True
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name} ...", file=sys.stderr, flush=True)
        began = monotonic()
        document = run(name, BENCHMARKS[name])
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
        write_page(RESULTS, PLOTS, PAGE)
        good &= whole(document)
        state = document.get("failed") or ("all kept" if whole(document) else "a budget is missed")
        print(f"[{number}/{len(names)}] {name}: {state}, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    documents = write_page(RESULTS, PLOTS, PAGE)
    try:
        written = [PAGE, *write(documents)]
    except UnknownFigureError as unknown:
        print(f"the numbers of README and docs are not all written: {unknown}", file=sys.stderr)
        return 1
    print(f"written: {', '.join(str(page.relative_to(HERE.parent)) for page in written)}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
