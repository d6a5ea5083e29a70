"""Plain Markdown: cells and tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

SPREAD = {"median", "min", "max"}


def cell(value: object) -> str:
    """Return a value as the text of a cell: figures with four digits, a spread as its median with minimum
    and maximum.
    """
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        case str():
            return value.replace("|", "\\|").replace("\n", " ")
        case Mapping() if is_spread(value):
            return f"{cell(value['median'])} ({cell(value['min'])} to {cell(value['max'])})"
        case Mapping():
            return "; ".join(f"{title(str(name))} {cell(part)}" for name, part in value.items())
        case Iterable():
            return ", ".join(map(cell, value))
        case _:
            return str(value)


def is_spread(value: object) -> bool:
    """Return whether the value is a figure that was measured several times."""
    return isinstance(value, Mapping) and value.keys() >= SPREAD and len(value) <= len(SPREAD) + 2


def title(name: str) -> str:
    """Return a JSON key as a title."""
    return name.replace("_", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table. The first column is text; other columns are aligned right if all their values are
    figures.
    """
    body = list(rows)
    columns = range(1, len(head))
    right = [all(isinstance(row[number], int | float | None) for row in body) for number in columns]
    rule = ["---", *("---:" if figures else "---" for figures in right)]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, rule, *([cell(one) for one in row] for row in body))]
    return [*lines, ""]


def bullets(notes: Iterable[object]) -> list[str]:
    """Return a list, followed by an empty line."""
    lines = [f"- {cell(note)}" for note in notes]
    return [*lines, ""] if lines else []
