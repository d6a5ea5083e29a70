"""What the fields of domain types declare in addition to their types: limits, texts, and the sentences of errors.

A declaration is an annotation: `limit: Annotated[int, Ge(1), Le(100), Doc("…")] = 10`. `Ge`, `Le`, `MinLen` and
`MaxLen` are those of `annotated_types`. Annotations stay text at run time: `api/bodies/posted.py` evaluates them and
builds the request bodies and their OpenAPI schemas. Workers neither evaluate them nor import this module, so domain
types import it only for type checkers. `Annotated` must be the outermost type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Doc:
    """The description of the field in the OpenAPI document, and an example of it."""

    text: str
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Needed:
    """Completes the error "is required: …" of a missing field."""

    remedy: str


@dataclass(frozen=True, slots=True)
class Form:
    """The regular expression of a text, and the error of another text ("must be …")."""

    pattern: str
    error: str


@dataclass(frozen=True, slots=True)
class Error:
    """The error of a text that does not have the form that its body declares ("must be …")."""

    text: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """The text can be posted as a number, which is not less than `low`."""

    low: int


@dataclass(frozen=True, slots=True)
class Key:
    """The text is a template that names a group of runs by their payloads."""


@dataclass(frozen=True, slots=True)
class Name:
    """The name of the field in requests and responses, if it differs."""

    name: str


@dataclass(frozen=True, slots=True)
class Default:
    """The default of the field in requests, if it differs. `...`: the field is required. A function of the fields
    before this one and the stage (as in `Rule`) returns the value instead of null.
    """

    value: Any


@dataclass(frozen=True, slots=True)
class Line:
    """The text is one line without control characters."""


@dataclass(frozen=True, slots=True)
class Like:
    """The declarations are those of another field of the type."""

    field: str


class Each:
    """The declarations of each entry of a list."""

    def __init__(self, *declared: object) -> None:
        """`declared`: limits and declarations of this module."""
        self.declared = declared


class Without:
    """The values of an enumeration that cannot be posted."""

    def __init__(self, *values: str) -> None:
        """`values` are values of the enumeration."""
        self.values = values


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that depends on other fields: `problem(value, given, stage)` returns an error, or None.

    `given` has the fields before this one, without those that are invalid; `stage` has the rules of the stage. Rules
    are not applied to null.
    """

    problem: Callable[[Any, Mapping[str, Any], Any], str | None]
