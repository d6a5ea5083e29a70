"""`duecourse tzdata-report`: list the jobs whose occurrences change with other time zone data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import chain

import click
from rich.progress import MofNCompleteColumn

from duecourse.cli.commands.apply import DIFFERENT, Applying
from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.night import calendars_of, exclusions_of
from duecourse.cli.output.documents import ChangedJob, TzdataReport, utc
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.progress import bar
from duecourse.cli.terminal import CliError, say
from duecourse.cli.zone_data import ZoneData, zone_data
from duecourse.client import Client
from duecourse.client.models import Job
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.schedule import joined
from duecourse_schedules.zones.data_changes import ChangedOccurrences, changed_occurrences

PAGE = 100
YEAR_SECONDS = 366 * 86_400


@dataclass(frozen=True, slots=True)
class Found:
    """A job whose occurrences change. `error`: the reason why its schedule is not valid with the new data."""

    job: Job
    changed: ChangedOccurrences | None
    error: str | None = None

    @property
    def document(self) -> ChangedJob:
        """The JSON of this job."""
        found = ChangedJob(job=self.job.id, timezone=self.job.timezone)
        if self.changed is None:
            return {**found, "error": self.error}
        old, new = (None if at is None else utc(at) for at in (self.changed.old, self.changed.new))
        return {**found, "old": old, "new": new, "count": self.changed.count, "complete": self.changed.complete}


@click.command(
    "tzdata-report", cls=Applying, example="duecourse tzdata-report\nduecourse tzdata-report --tzdata 2026.7"
)
@click.option(
    "--tzdata",
    "new",
    metavar="PATH|VERSION",
    help="The new data: a folder, a wheel, or a version of the package tzdata.  [default: the package on this machine]",
)
@click.option("--from", "old", metavar="PATH|VERSION", help="The old data.  [default: the version of the stage]")
@named_options
def tzdata_report(new: str | None, old: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """List the jobs whose occurrences in the next year change with new time zone data.

    Run it in the checkout of a new release before you deploy it. Jobs without a change are not listed. If a version is
    not on this machine, pip or uv downloads it. Exit codes: 0 no change, 2 a change, 1 an error.
    """
    with connected(api, sign) as client:
        old = old or client.preview_schedule("@daily", count=1).tzdata
        with zone_data(old) as before, zone_data(new) as after:
            found = [] if before.version == after.version else list(_examined(client, before, after, quiet=as_json))
    if as_json:
        items = [each.document for each in found]
        print_json(TzdataReport({"from": before.version, "to": after.version, "items": items, "next_cursor": None}))
    else:
        _print(found)
        jobs = f"{len(found) or 'no'} job{'s' * (len(found) != 1)} change{'s' * (len(found) == 1)}"
        same = before.version == after.version
        say(jobs + (f": both versions are {after.version}" if same else f" from {before.version} to {after.version}"))
    if found:
        raise SystemExit(DIFFERENT)


def _examined(client: Client, before: ZoneData, after: ZoneData, *, quiet: bool) -> Iterator[Found]:
    now = int(time.time())
    days = cache(lambda calendar: client.get_calendar(calendar).exclude)
    total = client.get_stats().jobs.count
    with bar("[progress.description]{task.description}", MofNCompleteColumn(), quiet=quiet) as progress:
        shown = progress.add_task("jobs", total=total)
        for job in client.list_jobs(limit=PAGE):
            progress.advance(shown)
            if job.schedule is None or job.state == "COMPLETED":
                continue
            exclude = (*exclusions_of(job), *chain.from_iterable(map(days, calendars_of(job))))
            try:
                changed = changed_occurrences(
                    _spec(job), tuple(exclude), before.zones, after.zones, after=now, until=now + YEAR_SECONDS
                )
            except (ScheduleError, ExclusionError) as error:
                yield Found(job, None, str(error))
                continue
            except (ValueError, OSError) as error:
                raise CliError(f"{job.timezone}: the time zone data cannot be read: {error}") from error
            if changed.count:
                yield Found(job, changed)


def _spec(job: Job) -> ScheduleSpec:
    anchor, start, end = (None if at is None else int(at.timestamp()) for at in (job.anchor, job.start, job.end))
    return ScheduleSpec(
        joined(job.schedule), job.timezone, job.dst_gap, job.dst_fold, anchor, start, end, job.on_excluded
    )


def _print(found: list[Found]) -> None:
    def cell(at: int | None) -> datetime | str:
        return "none" if at is None else datetime.fromtimestamp(at, UTC)

    rows = [
        (each.job.id, each.job.timezone, "", "", "", each.error or "")
        if (changed := each.changed) is None
        else (
            each.job.id,
            each.job.timezone,
            cell(changed.old),
            cell(changed.new),
            f"{changed.count:,}{'' if changed.complete else ' or more'}",
            "",
        )
        for each in found
    ]
    if rows:
        print_table(("job", "zone", "first change", "new time", "changes", "error"), rows)
