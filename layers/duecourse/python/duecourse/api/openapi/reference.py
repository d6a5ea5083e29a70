"""The table of all routes in docs/api.md, between two marks."""

from __future__ import annotations

from duecourse.api.api import Route
from duecourse.api.openapi.document import braces, described
from duecourse.api.routes.table import ROUTES

BEGIN, END = "<!-- routes: written by make openapi -->", "<!-- end of routes -->"


def table() -> str:
    """A row for each route."""
    rows = [
        f"| `{route.method} {braces(route.path)}` | {described(route)[0]} | {_opened_by(route)} |" for route in ROUTES
    ]
    return "\n".join(["| route | what | scope |", "|---|---|---|", *rows])


def with_table(text: str) -> str:
    """A page with the table as it should be. Raises ValueError where the marks are missing."""
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page lacks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _opened_by(route: Route) -> str:
    if route.run_token:
        return "the run's token"
    return " or ".join(f"`{scope}`" for scope in sorted(route.scopes)) or "open to all"
