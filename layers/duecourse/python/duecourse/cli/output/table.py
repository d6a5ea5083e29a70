"""Tables with one line per row. Ids and times are never wrapped or truncated; other long values are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from types import MappingProxyType

import click
from rich.console import Console
from rich.text import Text

from duecourse.cli.terminal import form, plain
from duecourse.cli.when import local_zone

PIPE_WIDTH = 200
"""The width of a table in a pipe, in columns."""

CUT = {
    "state": 25,
    "code": 12,
    **dict.fromkeys(
        (
            "schedule",
            "tags",
            "after",
            "waits for",
            "also",
            "jobs",
            "what",
            "paused because",
            "name",
            "progress",
            "error",
        ),
        16,
    ),
}
"""The columns whose text can be truncated (in a state, its reason), and the width that each keeps as long as a spare
column can be omitted instead. The first columns get free space first.
"""

MIN_CUT = 10
"""The minimum width of a truncated text, in columns; a state without its reason fits."""

LAST = ("waits for", "error", "code", "schedule", "next occurrence")
"""The columns that are omitted, in this order, if the ids would not fit otherwise."""

SHORT = frozenset({"time"})
"""The columns whose times have no year: ids beside them show it."""

GAP = 2
"""The number of columns between two cells."""

Cell = str | Text | datetime | None
"""A time is shown in the zone of the table; None is an unknown time."""


READABLE = 48
"""The minimum width of a truncated error in a row, in columns. If the row has less space, the error is printed below
it.
"""

INDENT = 4


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    spare: Sequence[str] = (),
    wide: bool = False,
    zone: tzinfo | None = None,
    jobs: Sequence[str] | None = None,
    frame: dict[str, int] | None = None,
) -> None:
    """Print a table that fits the terminal, if its ids and times do. A `wide` table (also with `-o wide`) has all
    values, in lines of any length. See `table`.

    On a terminal, the last line lists the omitted columns, or says that values are cut, and a table without rows has no
    header. `jobs`: the table has runs of these jobs. On a terminal without enough space, their errors are printed on
    separate lines, and the jobs replace the ids (the first column). `frame`: the rows are a page of a table. The first
    page has the header, and adds the widths of the columns.
    """
    rows, begins = list(rows), not frame
    console = Console(highlight=False)
    if not rows and console.is_terminal:
        click.echo("No entries.")
        return
    width = None if wide or form() == "wide" else table_width(console)
    text, widths, wanted = _laid_out(columns, rows, spare, width, zone, frame=frame)
    below: Sequence[Cell] = ()
    if width is not None and console.is_terminal and jobs is not None:
        if widths.get("error", 0) < min(wanted.get("error", 0), READABLE):
            place = columns.index("error")
            below = [row[place] for row in rows]
            columns = [*columns[:place], *columns[place + 1 :]]
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
            text, widths, _ = _laid_out(columns, rows, spare, width, zone)
        if _total(widths) > width:
            rows = [[job, *row[1:]] for job, row in zip(jobs, rows, strict=True)]
            text, widths, _ = _laid_out(["job", *columns[1:]], rows, spare, width, zone, {"job": 24, **CUT})
    for number, line in enumerate(text.split()):
        if number or begins:
            console.print(line, soft_wrap=True)
        if number and below and (error := _text(below[number - 1])):
            room = max(MIN_CUT, (width or 0) - INDENT)
            console.print(Text(" " * INDENT) + _fitted(error, min(error.cell_len, room)), soft_wrap=True)
    omitted = [name for name in wanted if name not in widths and not (name == "error" and below)]
    is_cut = any(widths.get(name, size) < size for name, size in wanted.items())
    if (omitted or is_cut) and begins and console.is_terminal:
        ids = ", -o name only the ids" if "run" in omitted else ""
        what = f"not shown in {width} columns: {', '.join(omitted)}" if omitted else f"cut to {width} columns: …"
        click.echo(f"{what}; -o wide shows all{ids}", err=True)


def table_width(console: Console) -> int:
    """Return the number of columns of the terminal, or a larger number if the output is a pipe."""
    return console.width if console.is_terminal else PIPE_WIDTH


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    spare: Sequence[str] = (),
    width: int | None = None,
    zone: tzinfo | None = None,
) -> Text:
    """Return a table: a header with the zone of its times (by default this machine's), and a line for each row.

    Empty columns are omitted. To fit the width, values are truncated and columns are omitted in the order of
    `spare`, then of LAST.
    """
    return _laid_out(columns, rows, spare, width, zone)[0]


def _laid_out(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    spare: Sequence[str],
    width: int | None,
    zone: tzinfo | None,
    cut: Mapping[str, int] = MappingProxyType(CUT),
    frame: dict[str, int] | None = None,
) -> tuple[Text, Mapping[str, int], Mapping[str, int]]:
    """Return a table, the widths of its columns, and the widths that all columns need."""
    listed = [[_at(cell, zone or local_zone()) for cell in row] for row in rows]
    shown = [
        (name, [_title(name, cells), *(_text(cell, short=name in SHORT) for cell in cells)])
        for name, cells in zip(columns, zip(*listed, strict=True) if listed else [()] * len(columns), strict=True)
        if not listed or frame is not None or any(map(_text, cells))
    ]
    wanted = {name: max(cell.cell_len for cell in cells) for name, cells in shown}
    if frame:
        widths = {each: size if width and each in cut else max(size, wanted[each]) for each, size in frame.items()}
    else:
        widths = dict(wanted) if width is None else _widths(wanted, spare, width, cut)
    if frame is not None:
        frame |= widths
    kept = [(widths[name], cells) for name, cells in shown if name in widths]
    lines = zip(*([_fitted(cell, size) for cell in cells] for size, cells in kept), strict=True)
    return Text("\n").join(_joined(line) for line in lines), widths, wanted


def _widths(wanted: Mapping[str, int], spare: Sequence[str], width: int, cut: Mapping[str, int]) -> dict[str, int]:
    """Return the widths of the columns that fit, by name."""
    widths = {name: min(size, cut.get(name, size)) for name, size in wanted.items()}
    _leave_out(spare, widths, width)
    if _total(widths) > width:
        widths |= {name: min(widths[name], MIN_CUT) for name in cut if name in widths}
    _leave_out(LAST, widths, width)
    for limits in (cut, wanted):
        for name in cut:
            if name in widths:
                room = width - _total(widths)
                widths[name] += max(0, min(limits[name] - widths[name], wanted[name] - widths[name], room))
    return widths


def _leave_out(names: Sequence[str], widths: dict[str, int], width: int) -> None:
    """Remove columns until the others fit."""
    for name in names:
        if _total(widths) > width:
            widths.pop(name, None)


def _at(cell: Cell, zone: tzinfo) -> Cell:
    return cell.astimezone(zone) if isinstance(cell, datetime) else cell


def _title(name: str, cells: Sequence[Cell]) -> Text:
    """Return the column's name, with the short names of the zone that its times have, such as CET and CEST."""
    zones = dict.fromkeys(cell.tzname() or "" for cell in cells if isinstance(cell, datetime))
    return Text(f"{name} ({'/'.join(zones)})" if zones else name, "bold")


def _text(cell: Cell, *, short: bool = False) -> Text:
    match cell:
        case Text():
            return cell
        case datetime():
            return Text(f"{cell:%m-%d %H:%M:%S}" if short else f"{cell:%Y-%m-%d %H:%M:%S}")
        case None:
            return Text("-")
        case str():
            return Text(plain(cell))


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def _fitted(cell: Text, size: int) -> Text:
    fitted = cell.copy()
    fitted.truncate(size, overflow="ellipsis", pad=True)
    return fitted


def _joined(cells: Sequence[Text]) -> Text:
    line = Text(" " * GAP).join(cells)
    line.rstrip()
    return line
