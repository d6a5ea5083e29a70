"""Reads the API's documents into the models, according to the annotations of the models' fields.

A stage can run an older or a newer release than the client. A missing field is therefore None (or an empty tuple or
mapping), except for fields that identify the document (NEEDED). Unknown fields remain in `document`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints

NEEDED = frozenset({"id", "items", "job_id", "redriven", "run", "state"})
FINAL_STATES = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"})

A = TypeVar("A", bound="Answer")
Read = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A document of the API. `document` is the complete document. `etag` (for `if_match`) and `answered_at` (by the
    API's clock) belong to the whole response and are None in nested documents.
    """

    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    etag: str | None = field(default=None, compare=False)
    answered_at: datetime | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], **more: Any) -> Self:
        """Read a document. Raises KeyError, TypeError, ValueError or AttributeError if it does not match the model."""
        kind: Any = cls
        read = {name: reader(document) for name, reader in _readers(kind)}
        return cls(**{"document": document, **more, **read})


class RunExtras:
    """The methods of a run."""

    state: str

    @property
    def is_final(self) -> bool:
        """Whether the run has ended. A final run changes only if a caller requests it."""
        return self.state in FINAL_STATES


class HeartbeatExtras:
    """The methods of the response to a heartbeat."""

    heartbeat_until: datetime | None
    answered_at: datetime | None

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the next heartbeat is due, by the API's clock; None if the job has no heartbeats."""
        if self.heartbeat_until is None:
            return None
        return (self.heartbeat_until - (self.answered_at or datetime.now(UTC))).total_seconds()


def instant(text: str | None) -> datetime | None:
    """Return an instant such as `2026-11-21T06:47:00Z`, or None for None."""
    if text is None:
        return None
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@cache
def _readers(cls: Any) -> tuple[tuple[str, Read], ...]:
    """Return, for each field of a document, the function that reads it."""
    hints = get_type_hints(cls)
    kinds = [each for each in cls.__mro__ if issubclass(each, Answer) and each is not Answer]
    own = {name for each in kinds for name in get_annotations(each)}
    return tuple((name, _field(name.removesuffix("_"), hints[name])) for name in hints if name in own)


def _field(key: str, kind: Any) -> Read:
    needed = key in NEEDED and NoneType not in get_args(kind)
    read = _reader(kind, needed=needed)
    return (lambda document: read(document[key])) if needed else lambda document: read(document.get(key))


def _reader(kind: Any, *, needed: bool = False) -> Read:
    if get_origin(kind) in (Union, UnionType):
        some = [each for each in get_args(kind) if each is not NoneType]
        if len(some) == 1:
            return _optional(_reader(some[0]))
        return _one_or_many if any(get_origin(each) is tuple for each in some) else _as_it_is
    if kind is datetime:
        return instant
    if get_origin(kind) is tuple:
        return _many(_reader(get_args(kind)[0]))
    if get_origin(kind) is Mapping:
        return _by_name(_reader(get_args(kind)[1]))
    if isinstance(kind, type) and issubclass(kind, Answer):
        return kind.from_document if needed else _optional(kind.from_document)
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _one_or_many(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _many(read: Read) -> Read:
    return lambda values: tuple(read(value) for value in values or ())


def _by_name(read: Read) -> Read:
    return lambda values: {name: read(value) for name, value in (values or {}).items()}


def _optional(read: Read) -> Read:
    return lambda value: None if value is None else read(value)
