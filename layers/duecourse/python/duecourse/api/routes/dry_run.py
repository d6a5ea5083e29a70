"""The query parameter `dry_run` of PUT."""

from __future__ import annotations

from typing import Annotated

from duecourse.api.bodies.models import refuse
from duecourse.api.query import Parameter, Query


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise refuse("must be true or false")
    return text == "true"


class DryRunQuery(Query):
    """`dry_run`: whether nothing is to be written; a misspelt parameter must not write."""

    dry_run: Annotated[
        bool,
        Parameter(
            component="DryRun",
            description="Write nothing; say what would be.",
            schema={"type": "string", "enum": ["true", "false"]},
            example="true",
            read=_flag,
        ),
    ] = False
