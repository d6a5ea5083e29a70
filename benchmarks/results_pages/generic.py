"""Formats any document as tables, for benchmarks without a separate page. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results_pages.markdown import bullets, cell, is_spread, table, title

HEAD = frozenset({"benchmark", "command", "date", "machine", "versions", "measured", "budgets", "failed"})
"""The fields that the page shows for every document."""

DEEPEST = 4


def page(document: Mapping[str, Any]) -> list[str]:
    """Return lines of Markdown for all fields that are not in the head."""
    return nested({name: value for name, value in document.items() if name not in HEAD})


def nested(value: Mapping[str, Any], depth: int = 1) -> list[str]:
    """Return single figures in one table, rows of the same kind as a table, and other values one level down."""
    single = {name: one for name, one in value.items() if _is_single(one)}
    lines = table(["", ""], ((title(name), one) for name, one in single.items())) if single else []
    for name, one in value.items():
        if name not in single:
            lines += [f"**{title(name)}**", "", *_one(one, depth)]
    return lines


def rows(cases: Mapping[str, Mapping[str, Any]], columns: Sequence[str] | None = None, what: str = "") -> list[str]:
    """Return one table of documents of the same kind, with one row each. A column without values is omitted."""
    names = columns or list(dict.fromkeys(name for case in cases.values() for name in case))
    there = [name for name in names if any(name in case for case in cases.values())]
    body = ([title(name), *(case.get(column) for column in there)] for name, case in cases.items())
    return table([what, *map(title, there)], body)


def columns(cases: Mapping[str, Mapping[str, Any]], first: Sequence[str] = ()) -> list[str]:
    """Return the table with one column for each document, for documents with many values. `first` are the names of the
    first rows.
    """
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    ordered = [*(name for name in first if name in names), *(name for name in names if name not in first)]
    body = ([title(name), *(case.get(name) for case in cases.values())] for name in ordered)
    return table(["", *map(title, cases)], body)


def _one(value: object, depth: int) -> list[str]:
    match value:
        case Mapping() if value and all(isinstance(one, Mapping) and _is_row(one) for one in value.values()):
            return rows(value)
        case Mapping() if depth < DEEPEST:
            return nested(value, depth + 1)
        case [Mapping(), *_]:
            numbered = {str(number): one for number, one in enumerate(value, 1) if isinstance(one, Mapping)}
            return rows(numbered, what="#")
        case [str(), *_]:
            return bullets(value)
        case _:
            return [cell(value), ""]


def _is_single(value: object) -> bool:
    if isinstance(value, Mapping):
        return is_spread(value)
    return isinstance(value, str) or not isinstance(value, Sequence)


def _is_row(value: Mapping[str, Any]) -> bool:
    return not is_spread(value) and all(_is_single(one) for one in value.values())
