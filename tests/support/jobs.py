"""Jobs as tests want them: everything has a default, times are given."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.cursor import Cursor, cursor_for
from duecourse.domain.jobs.job import Job
from duecourse.domain.targets.targets import HttpTarget
from duecourse.stores.jobs import JobStore
from duecourse_schedules import ScheduleSpec

NOON = from_iso("2026-11-21T12:00:00Z")


def job(expression: str = "rate(10 seconds)", *, id: str = "tick-tock", at: float = NOON, **changes: Any) -> Job:
    """A job created at `at`, which has a seat; its rate is anchored there."""
    timezone = changes.pop("timezone", "UTC")
    made = Job(
        tenant="default",
        id=id,
        schedule=ScheduleSpec(expression, timezone, anchor=int(at)),
        target=HttpTarget("http://127.0.0.1:9/hook"),
        generation=int(at * 1000),
        created_at=at,
        updated_at=at,
        changed_at=at,
        created_generation=int(at * 1000),
        revision=1,
        seated=True,
    )
    return replace(made, **changes)


def stored_job(store: JobStore, expression: str = "rate(10 seconds)", **changes: Any) -> Job:
    """A job that is stored, with its cursor."""
    made = job(expression, **changes)
    assert store.create(made, cursor(made))
    return made


def followed(read: Callable[[str | None], Any]) -> Iterator[Any]:
    """The entries of all pages; `read` returns the page after a position."""
    page = read(None)
    yield from page.items
    while page.following is not None:
        page = read(page.following)
        yield from page.items


def cursor(of: Job, after: float | None = None) -> Cursor:
    """The job's cursor, standing at its first occurrence after `after` (its creation unless given)."""
    return cursor_for(of, of.created_at if after is None else after)


def moved(standing: Cursor, occurrence: int | None) -> Cursor:
    """The cursor after a claim that passed everything before `occurrence`; None: all there was."""
    last = standing.occurrence if occurrence is None else None
    after = standing.occurrence if standing.occurrence is not None else standing.after
    return replace(standing, occurrence=occurrence, due=occurrence, after=after, last=last)
