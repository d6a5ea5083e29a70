r"""Small safe templates: `report-{{week}}`. Names and nothing else: no expressions, no attributes, no nesting.

Values are put in once and never read again as a template, whatever they contain. A literal `{{` is written `\{{`, a
literal `}}` is written `\}}`. Where secrets are allowed, `{{secret:name}}` stands for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from duecourse.domain.instants import to_basic, to_iso
from duecourse.domain.job import Job
from duecourse.domain.run import Run
from duecourse.domain.schedule import load_zone
from duecourse.domain.schedule.error import printable

TEMPLATE_NAMES = (
    "job_id",
    "run_id",
    "tenant",
    "scheduled_at",
    "due_at",
    "occurrence",
    "date",
    "week",
    "month",
    "attempt",
    "job_name",
)
"""Every name that speaks of the run alone."""

IDEMPOTENCY_NAMES = tuple(name for name in TEMPLATE_NAMES if name not in ("attempt", "job_name"))
"""Those of an idempotency key, which has to be the same on every attempt of a run: a job may be renamed in between."""

CALL_NAMES = (*TEMPLATE_NAMES, "idempotency_key")
"""Those of what a call carries: payload, headers, parameters, group, subject."""

CALLBACK_NAMES = (*CALL_NAMES, "callback_token")
"""The same for a job whose runs wait for their callback."""

_SECRET = "secret:"
_SECRET_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_BRACES = re.compile(r"\\\{\{|\\\}\}|\{\{(?P<inside>[^{}]*)\}\}|\{\{|\}\}")


class TemplateError(ValueError):
    """A template that cannot be rendered: `check_template` would have said so."""


def check_template(text: str, allowed: tuple[str, ...] = TEMPLATE_NAMES, *, secrets: bool = False) -> tuple[str, ...]:
    """What is wrong with a template, one sentence each; nothing when it is good. `secrets`: may it name secrets?"""
    problems: dict[str, None] = {}  # each once, in order
    for match in _BRACES.finditer(text):
        if problem := _problem(match, allowed, secrets=secrets):
            problems[problem] = None
    return tuple(problems)


def check_document(value: Any, allowed: tuple[str, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The path and the problem of each bad template among the strings of a JSON value, in the order of the document.

    Keys of objects are no templates. A string with several problems comes up once for each.
    """
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:  # not by recursion: what is checked may be nested as deeply as a client likes
        path, here = pending.pop()
        match here:
            case str():
                for problem in check_template(here, allowed):
                    yield path, problem
            case dict():
                pending.extend(reversed([((*path, key), inside) for key, inside in here.items()]))
            case list() | tuple():
                pending.extend(reversed([((*path, index), inside) for index, inside in enumerate(here)]))


def secret_names(text: str) -> tuple[str, ...]:
    """The secrets that a template names, each once, in order."""
    names = (match["inside"].strip() for match in _BRACES.finditer(text) if match["inside"] is not None)
    return tuple(dict.fromkeys(secret for name in names if (secret := _secret_of(name)) is not None))


def render_template(text: str, values: Mapping[str, str], secrets: Mapping[str, str] | None = None) -> str:
    """The text with every placeholder replaced by its value, or its secret.

    Raises TemplateError for a name without a value and for stray braces; its text shows names only, no values.
    """
    if "{{" not in text and "}}" not in text:
        return text
    known = secrets or {}
    if problems := check_template(text, tuple(values), secrets=bool(known)):
        raise TemplateError("; ".join(problems))
    if missing := [name for name in secret_names(text) if name not in known]:
        raise TemplateError("; ".join(f"there is no secret {name}" for name in missing))
    return _BRACES.sub(lambda match: _rendered(match, values, known), text)


def render_document(value: Any, values: Mapping[str, str]) -> Any:
    """A JSON value with every string in it rendered (keys of objects stay as they are). Raises TemplateError."""
    match value:
        case str():
            return render_template(value, values)
        case dict():
            return {key: render_document(inside, values) for key, inside in value.items()}
        case list() | tuple():
            return [render_document(inside, values) for inside in value]
        case _:
            return value


def _rendered(match: re.Match[str], values: Mapping[str, str], secrets: Mapping[str, str]) -> str:
    if match["inside"] is None:
        return match[0].removeprefix("\\")
    name = match["inside"].strip()
    secret = _secret_of(name)
    return values[name] if secret is None else secrets[secret]


def _secret_of(name: str) -> str | None:
    secret = name.removeprefix(_SECRET)
    return secret if secret != name and _SECRET_NAME.fullmatch(secret) else None


def _problem(match: re.Match[str], allowed: tuple[str, ...], *, secrets: bool) -> str | None:
    inside, braces = match["inside"], match[0]
    if inside is None:
        if braces.startswith("\\"):
            return None
        place = f"{braces} at character {match.start() + 1} has no partner"
        return f"{place}; a placeholder is {{{{name}}}}, a literal {braces} is written \\{braces}"
    name = inside.strip()
    if name in allowed:
        return None
    if name.startswith(_SECRET):
        return _secret_problem(name, secrets=secrets)
    return _unknown(name, allowed)


def _secret_problem(name: str, *, secrets: bool) -> str | None:
    if not secrets:
        return f"{{{{{_shown(name)}}}}} may not be used here; secrets may stand in header values of HTTP targets only"
    if _secret_of(name) is None:
        return f"{{{{{_shown(name)}}}}} names no secret; its name is 1 to 64 letters, digits, _ . and -"
    return None


def _unknown(name: str, allowed: tuple[str, ...]) -> str:
    known = ", ".join(allowed)
    if not name:
        return f"{{{{}}}} is empty; known names: {known}"
    if name in CALLBACK_NAMES:
        return f"{{{{{name}}}}} may not be used here; known names: {known}"
    return f"{{{{{_shown(name)}}}}} is unknown; known names: {known}"


def _shown(name: str) -> str:
    return printable(name if len(name) <= 40 else f"{name[:37]}...")


def values_for(run: Run, job: Job) -> dict[str, str]:
    """The values of TEMPLATE_NAMES for a run's current attempt.

    All of them speak of the occurrence, never of the present. `date` (2026-11-21), `week` (ISO, 2026-W47) and `month`
    (2026-11) are read on the calendar of the schedule's time zone, so that a report of Monday 00:30 in Tokyo is
    Monday's; `scheduled_at` (2026-11-21T06:47:00Z), `due_at` (the same with jitter) and `occurrence`
    (20261121T064700Z) are UTC. A job without a name is named by its id.
    """
    wall = datetime.fromtimestamp(load_zone(job.schedule.timezone).wall(run.occurrence), UTC)
    year, week, _ = wall.isocalendar()
    return {
        "job_id": run.job_id,
        "run_id": str(run.name),
        "tenant": run.tenant,
        "scheduled_at": to_iso(run.occurrence),
        "due_at": to_iso(run.due),
        "occurrence": to_basic(run.occurrence),
        "date": wall.date().isoformat(),
        "week": f"{year:04d}-W{week:02d}",
        "month": f"{wall.year:04d}-{wall.month:02d}",
        "attempt": str(run.attempt),
        "job_name": job.name or job.id,
    }


def idempotency_key(run: Run, job: Job) -> str:
    """What makes attempts of a run recognisable as one: the key that it was first called with (Run.idempotency_key), or
    what the job's template makes of it, or the run's id.
    """
    if run.idempotency_key is not None or job.idempotency_key is None:
        return run.idempotency_key or str(run.name)
    values = values_for(run, job)
    return render_template(job.idempotency_key, {name: values[name] for name in IDEMPOTENCY_NAMES})
