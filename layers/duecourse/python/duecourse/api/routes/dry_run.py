"""The query parameter `dry_run` of PUT."""

from __future__ import annotations

from duecourse.api.problems.problems import bad_parameter
from duecourse.api.request import Request


def dry_run_in(request: Request) -> bool:
    """Whether nothing is to be written; a misspelt parameter must not write. Raises Problem (400)."""
    query = request.query or {}
    for name in query:
        if name != "dry_run":
            raise bad_parameter(name, "is not known here; the parameter is dry_run")
    text = query.get("dry_run", "false")
    if text not in ("true", "false"):
        raise bad_parameter("dry_run", "must be true or false")
    return text == "true"
