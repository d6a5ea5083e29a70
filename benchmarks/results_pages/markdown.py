"""Plain Markdown: cells and tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

SPREAD = {"median", "min", "max"}


def cell(value: object) -> str:
    """A value in a table: figures to four digits, a spread as its median with its ends."""
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
    """Whether it is a figure that was taken several times."""
    return isinstance(value, Mapping) and value.keys() >= SPREAD and len(value) <= len(SPREAD) + 2


def title(name: str) -> str:
    """A key of JSON, to be read."""
    return name.replace("_", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table; its first column is text, the others stand to the right where all of theirs are figures."""
    body = list(rows)
    columns = range(1, len(head))
    right = [all(isinstance(row[number], int | float | None) for row in body) for number in columns]
    rule = ["---", *("---:" if figures else "---" for figures in right)]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, rule, *([cell(one) for one in row] for row in body))]
    return [*lines, ""]


def bullets(notes: Iterable[object]) -> list[str]:
    """A list, with the empty line after it."""
    lines = [f"- {cell(note)}" for note in notes]
    return [*lines, ""] if lines else []
