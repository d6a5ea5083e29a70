"""The table of all routes in docs/api.md, between two marks."""

from __future__ import annotations

from duecourse.http.openapi.operations import OPERATIONS
from duecourse.http.scopes import scopes_of

BEGIN, END = "<!-- routes: written by make openapi -->", "<!-- end of routes -->"


def table() -> str:
    """A row for each route."""
    rows = [
        f"| `{method} {path.replace('<', '{').replace('>', '}')}` | {operation.summary} | {_opened_by(method, path)} |"
        for (method, path), operation in OPERATIONS.items()
    ]
    return "\n".join(["| route | what | scope |", "|---|---|---|", *rows])


def with_table(text: str) -> str:
    """A page with the table as it should be. Raises ValueError where the marks are missing."""
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page lacks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _opened_by(method: str, path: str) -> str:
    if OPERATIONS[method, path].run_token:
        return "the run's token"
    return " or ".join(f"`{scope}`" for scope in sorted(scopes_of(method, path))) or "open to all"
