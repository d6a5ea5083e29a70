"""The pages of `benchmarks.dispatch` and `benchmarks.execute`: a column for each case. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results_pages.generic import HEAD, columns, nested, rows
from benchmarks.results_pages.markdown import bullets

FIRST = ("cpu_ms_per_firing", "cpu_ms_per_run", "cpu_ratio_vs_textbook", "cpu_ratio_vs_textbook_spread")
ASIDE = frozenset({"says", "textbook", "notes", "requests", "profile_top"})


def page(document: Mapping[str, Any]) -> list[str]:
    """Return the cases, their description, the textbook's figures, and the rest of the document."""
    cases: Mapping[str, Mapping[str, Any]] = document["cases"]
    lines = bullets(f"{name.replace('_', ' ')}: {case['says']}" for name, case in cases.items() if "says" in case)
    shown = {name: {key: value for key, value in case.items() if key not in ASIDE} for name, case in cases.items()}
    lines += columns(shown, FIRST)
    beside = {name: case["textbook"] for name, case in cases.items() if isinstance(case.get("textbook"), Mapping)}
    if beside:
        lines += ["**the textbook loop, in the same run**", "", *columns(beside)]
    asked = {name: case["requests"] for name, case in cases.items() if isinstance(case.get("requests"), Mapping)}
    if asked:
        lines += ["**requests by operation**", "", *rows(asked)]
    rest = {name: value for name, value in document.items() if name not in HEAD | {"cases", "notes"}}
    return [*lines, *nested(rest), *bullets(document.get("notes", ()))]
