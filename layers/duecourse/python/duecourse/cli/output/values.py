"""Prints values that all responses have: JSON for programs, fields, states and lateness."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.text import Text

from duecourse.cli.output.documents import Document
from duecourse.cli.terminal import escaped, plain
from duecourse.client.reading import Answer

STATE_COLOURS = {
    "SUCCEEDED": "green",
    "ACTIVE": "green",
    "DEAD": "red",
    "CANCELLED": "red",
    "RETRYING": "yellow",
    "WAITING": "cyan",
    "SKIPPED": "yellow",
    "PAUSED": "yellow",
    "RUNNING": "cyan",
    "DUE": "cyan",
}


def print_json(document: Answer | Document, more: Document | None = None) -> None:
    """Print a document as JSON to standard output, with the fields of `more`. Every document has a type, because its
    fields are stable.
    """
    found: Mapping[str, Any] = document.document if isinstance(document, Answer) else document
    added: Mapping[str, Any] = more or {}
    click.echo(escaped(json.dumps({**found, **added}, indent=2, ensure_ascii=False, default=asdict)))


def coloured(state: str, reason: str | None = None) -> Text:
    """Return a state in its colour, followed by its reason."""
    return Text.assemble((plain(state), STATE_COLOURS.get(state, "")), plain(f" ({reason})" if reason else ""))


def lateness(seconds: float | None) -> str:
    """Return the lateness of a run's start: `+0.042 s`."""
    return "-" if seconds is None else f"{seconds:+.3f} s"


def print_fields(document: Mapping[str, Any]) -> None:
    """Print a document with one field per line: `jobs.active  12`."""
    fields = dict(_fields(document))
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        click.echo(plain(f"{name:<{width}}  {value if isinstance(value, str) else json.dumps(value)}"))


def _fields(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields that are not null, with their paths."""
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _fields(value, f"{path}{name}.")
        elif value is not None:
            yield path + name, value


def schedule_text(schedule: str | Sequence[str] | None) -> str:
    """Return a job's schedule as text; several are separated by semicolons."""
    if schedule is None:
        return "on demand"
    return schedule if isinstance(schedule, str) else "; ".join(schedule)
