"""Prints values that all responses have: JSON for programs, fields, states and lateness."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import click
from rich.text import Text

from duecourse.cli.output.documents import Document
from duecourse.cli.terminal import escaped, form, plain
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


IDS = ("id", "run", "key", "name", "job", "tenant", "place", "at")
"""The fields that can identify a document, in order of precedence."""


def print_json(document: Answer | Document, more: Document | None = None) -> None:
    """Print a document to standard output, with the fields of `more`: as JSON, as YAML, or only its ids. Every document
    has a type, because its fields are stable.
    """
    found: Mapping[str, Any] = document.document if isinstance(document, Answer) else document
    added: Mapping[str, Any] = more or {}
    text = _json({**found, **added})
    match form():
        case "name":
            _print_ids(found["items"] if isinstance(found.get("items"), Sequence) else [found])
        case "yaml":
            click.echo(_yaml(text), nl=False)
        case _:
            click.echo(text)


def print_items(before: Mapping[str, object], pages: Iterable[Sequence[object]], after: Mapping[str, object]) -> None:
    """Print a document with the fields of `before`, `items` and `after`, in the format of `print_json`. Each page of
    items is printed before the next is read.
    """
    if form() == "name":
        for page in pages:
            _print_ids(page)
        return
    is_yaml = form() == "yaml"
    if is_yaml:
        click.echo(_yaml(_json(before)) if before else "", nl=False)
        click.echo("items:", nl=False)
    else:
        click.echo((_json(before)[:-2] + ",\n" if before else "{\n") + '  "items": [', nl=False)
    printed = 0
    for page in pages:
        if page and is_yaml:
            click.echo(("" if printed else "\n") + _yaml(_json(page)), nl=False)
        elif page:
            inner = _json(page)[2:-2].replace("\n", "\n  ")
            click.echo(("," if printed else "") + f"\n  {inner}", nl=False)
        printed += len(page)
    rest = _json(after)
    if is_yaml:
        click.echo(("" if printed else " []\n") + _yaml(rest), nl=False)
    else:
        click.echo(("\n  ]" if printed else "]") + f",{rest[1:]}")


def _print_ids(items: Iterable[object]) -> None:
    for item in items:
        fields: Mapping[str, Any] = item if isinstance(item, Mapping) else asdict(cast("Any", item))
        found = next((fields[name] for name in IDS if isinstance(fields.get(name), str)), None)
        if found is not None:
            click.echo(plain(found))


def _json(value: object) -> str:
    return escaped(json.dumps(value, indent=2, ensure_ascii=False, default=asdict))


def _yaml(text: str) -> str:
    """Return JSON as YAML."""
    from duecourse.cli.manifests.yaml_text import to_yaml

    return to_yaml([json.loads(text)])


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
