"""Small safe templates: `report-{{week}}`. Names and nothing else: no expressions, no attributes, no nesting.

Values are put in once and never read again as a template, whatever they contain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from duecourse.domain.instants import to_basic, to_iso
from duecourse.domain.job import Job
from duecourse.domain.run import Run
from duecourse.domain.schedule import load_zone

TEMPLATE_NAMES = ("job_id", "run_id", "tenant", "scheduled_at", "occurrence", "date", "week", "month", "attempt")
"""Every name that a template may use."""

IDEMPOTENCY_NAMES = tuple(name for name in TEMPLATE_NAMES if name != "attempt")
"""Those of an idempotency key, which has to be the same on every attempt of a run."""

_BRACES = re.compile(r"\{\{(?P<inside>[^{}]*)\}\}|\{\{|\}\}")


class TemplateError(ValueError):
    """A template that cannot be rendered: `check_template` would have said so."""


def check_template(text: str, allowed: tuple[str, ...] = TEMPLATE_NAMES) -> tuple[str, ...]:
    """What is wrong with a template, one sentence each; nothing when it is good."""
    problems: dict[str, None] = {}
    for match in _BRACES.finditer(text):
        inside = match["inside"]
        if inside is None:
            problems[f"{match[0]} at character {match.start() + 1} has no partner; a placeholder is {{{{name}}}}"] = (
                None
            )
        elif (name := inside.strip()) not in allowed:
            problems[_unknown(name, allowed)] = None
    return tuple(problems)


def _unknown(name: str, allowed: tuple[str, ...]) -> str:
    known = ", ".join(allowed)
    if not name:
        return f"{{{{}}}} is empty; known names: {known}"
    shown = name if len(name) <= 40 else f"{name[:37]}..."
    if name in TEMPLATE_NAMES:
        return f"{{{{{shown}}}}} may not be used here; known names: {known}"
    return f"{{{{{shown}}}}} is unknown; known names: {known}"


def render_template(text: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced. Raises TemplateError for a name without a value or stray braces."""
    if problems := check_template(text, tuple(values)):
        raise TemplateError("; ".join(problems))
    return _BRACES.sub(lambda match: values[match["inside"].strip()], text)


def values_for(run: Run, job: Job) -> dict[str, str]:
    """The values of TEMPLATE_NAMES for a run's current attempt.

    All of them speak of the occurrence, never of the present. `date` (2026-11-21), `week` (ISO, 2026-W47) and `month`
    (2026-11) are read on the calendar of the schedule's time zone, so that a report of Monday 00:30 in Tokyo is
    Monday's; `scheduled_at` (2026-11-21T06:47:00Z) and `occurrence` (20261121T064700Z) are UTC.
    """
    wall = datetime.fromtimestamp(load_zone(job.schedule.timezone).wall(run.occurrence), UTC)
    year, week, _ = wall.isocalendar()
    return {
        "job_id": run.job_id,
        "run_id": str(run.name),
        "tenant": run.tenant,
        "scheduled_at": to_iso(run.occurrence),
        "occurrence": to_basic(run.occurrence),
        "date": wall.date().isoformat(),
        "week": f"{year:04d}-W{week:02d}",
        "month": f"{wall.year:04d}-{wall.month:02d}",
        "attempt": str(run.attempt),
    }


def idempotency_key(run: Run, job: Job) -> str:
    """What makes attempts of a run recognisable as one: the job's template, or the run's id."""
    if job.idempotency_key is None:
        return str(run.name)
    values = values_for(run, job)
    return render_template(job.idempotency_key, {name: values[name] for name in IDEMPOTENCY_NAMES})
