"""Tables that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from duecourse.cli.terminal import plain

PIPE_WIDTH = 200
"""Columns of a table whose number of rows is unknown."""

MIN_ERROR_STATUS = 20
"""Columns that an error keeps before ids are folded for it, too."""

GAP = 2
"""Columns between two cells."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, spare: str = "") -> None:
    """Columns that say nothing are left out, and the `spare` one where there is no room. Nothing is cut off: what does
    not fit is folded, errors first.
    """
    listed = [[cell if isinstance(cell, Text) else Text(plain(cell)) for cell in row] for row in rows]
    widths = {index: max((row[index].cell_len for row in listed), default=1) for index in range(len(columns))}
    wanted = [index for index, width in widths.items() if width]
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH

    def whole() -> bool:
        """Whether each column fits as it is, and the error in some lines."""
        least = [MIN_ERROR_STATUS if columns[index] == "error" else widths[index] for index in wanted]
        titles = [len(columns[index]) for index in wanted]
        return sum(GAP + max(pair) for pair in zip(least, titles, strict=True)) - GAP <= console.width

    if not whole():
        wanted = [index for index in wanted if columns[index] != spare]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    fits = whole()
    for index in wanted:
        table.add_column(columns[index], no_wrap=fits and columns[index] != "error", overflow="fold")
    for row in listed:
        table.add_row(*(row[index] for index in wanted))
    console.print(table)
