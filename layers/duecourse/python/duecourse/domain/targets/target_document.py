"""A target as a JSON document, the same in requests, answers and the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duecourse.domain.targets.kinds import TARGETS, Document
from duecourse.domain.targets.targets import Target

_WORDS: Mapping[type[Target], str] = {kind.model: word for word, kind in TARGETS.items()}


def type_of(target: Target) -> str:
    """The word that names a target's kind in documents, logs and metrics."""
    return _WORDS[type(target)]


def target_document(target: Target) -> Document:
    """`{"type": "http", "url": …, "headers": {…}}` and so on: the type and the fields of the target."""
    word = type_of(target)
    return {"type": word} | TARGETS[word].document(target)


def target_of(document: Mapping[str, Any]) -> Target:
    """The inverse; missing fields have their defaults. Raises KeyError, TypeError, ValueError."""
    word = document["type"]
    if word not in TARGETS:
        raise ValueError(f"unknown target type {word!r}")
    return TARGETS[word].target(document)
