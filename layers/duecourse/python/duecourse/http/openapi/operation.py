"""What is said of a route in the document: one `Operation` per method and path, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What is sent. `schema` names a component; `types` are media types that are read alike."""

    schema: str
    examples: Mapping[str, Any]
    required: bool = True
    types: tuple[str, ...] = ("application/json",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where a client may go from an answer: to which operation, with which parts of the answer."""

    operation: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A good answer. `schema` names a component, None where there is no body; `headers` name components, too."""

    description: str
    schema: str | None = None
    example: Any = None
    headers: tuple[str, ...] = ()
    links: Mapping[str, Link] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`id` is the operationId. `run_token`: the token of a run opens it. Whatever else it needs is in `scopes`.

    `parameters` name components. `refusals` are the kinds of problem by status that are this route's own; what every
    route may answer (`document.COMMON`) is added.
    """

    id: str
    tag: str
    summary: str
    description: str
    replies: Mapping[int, Reply]
    parameters: tuple[str, ...] = ()
    body: Body | None = None
    run_token: bool = False
    refusals: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


BODY_REFUSALS: Mapping[int, tuple[str, ...]] = {
    400: ("malformed-body",),
    413: ("body-too-large",),
    415: ("unsupported-content-type",),
}
"""What may be wrong with any body."""


VERSION: Mapping[int, tuple[str, ...]] = {400: ("bad-header",), 412: ("etag-mismatch",)}
"""What If-Match and If-None-Match bring along."""

BUSY: Mapping[int, tuple[str, ...]] = {503: ("busy",)}
"""What every write to the jobs table may answer."""


def refusals(*parts: Mapping[int, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
    """Several such mappings as one."""
    merged: dict[int, tuple[str, ...]] = {}
    for part in parts:
        for status, kinds in part.items():
            merged[status] = tuple(dict.fromkeys((*merged.get(status, ()), *kinds)))
    return merged
