"""The numbers in README and docs/, computed from the results of the benchmarks and the prices of the cost model.

    python -m benchmarks.results --only          write them all, and RESULTS.md (`make numbers`)

A page marks each number: `<!-- n:idle -->$10.62<!-- /n -->`. The name is one of `figures.FIGURES`, and the text between
the two comments is replaced. The same applies to the table between `<!-- requests -->` and `<!-- /requests -->`.
Renderers of Markdown do not show comments. Pure, except for `pages` and `write`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import FIGURES, Results
from benchmarks.requests.cost import Cost, table

ROOT = Path(__file__).resolve().parents[1]
REQUESTS = re.compile(r"(<!-- requests -->\n)(.*?)(\n<!-- /requests -->)", re.DOTALL)
MARK = re.compile(r"(<!-- n:([\w.]+) -->)(.*?)(<!-- /n -->)")


class UnknownFigureError(Exception):
    """A page refers to a figure that does not exist or is missing from its result."""


def filled(text: str, results: Results) -> str:
    """Return a page with the current values of the marked numbers and table. Raises UnknownFigureError."""

    def costs(found: re.Match[str]) -> str:
        begin, _, end = found.groups()
        return begin + table(Cost(**case) for case in results["requests"]["cases"]) + end

    def fresh(found: re.Match[str]) -> str:
        begin, name, _, end = found.groups()
        if name not in FIGURES:
            raise UnknownFigureError(f"no figure is called {name!r}: add it to FIGURES in benchmarks/figures.py")
        figure = FIGURES[name]
        try:
            return begin + (figure if isinstance(figure, str) else figure(results)) + end
        except (KeyError, TypeError, StopIteration) as lack:
            raise UnknownFigureError(f"{name}: not in benchmarks/results ({type(lack).__name__}: {lack})") from lack

    return MARK.sub(fresh, REQUESTS.sub(costs, text))


def pages(root: Path = ROOT) -> Iterator[Path]:
    """Yield the pages that publish numbers. benchmarks/RESULTS.md is generated completely."""
    yield from (root / name for name in ("README.md", "ARCHITECTURE.md", "benchmarks/README.md"))
    yield from sorted((root / "docs").rglob("*.md"))


def write(results: Results, root: Path = ROOT) -> list[Path]:
    """Replace the marked numbers in all pages. Return the changed pages. Raises UnknownFigureError."""
    changed = []
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        fresh = filled(text, results)
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            changed.append(page)
    return changed
