"""`duecourse rehearse`: run the definition of a job in memory, over days with outages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from duecourse.cli.commands.listing import instant_option
from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.manifests.documents import read_files
from duecourse.cli.manifests.exported import job_document
from duecourse.cli.manifests.plan import patient
from duecourse.cli.output.documents import Rehearsal, RehearsedOccurrence, utc
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.progress import awaited
from duecourse.cli.rehearsal import (
    MOST_OCCURRENCES,
    Rehearsed,
    Result,
    Row,
    Scenario,
    Window,
    calendars_of,
    daily,
    has_rate,
    merged,
    rehearse,
    rehearsed_document,
    rows,
    summary,
)
from duecourse.cli.terminal import CliError, Command, UsageError, plain, say
from duecourse.cli.when import duration_of, moment, zone_of, zoned
from duecourse.client import ApiError

if TYPE_CHECKING:
    from duecourse.client.bodies import JobRequest
    from duecourse.testing import Scheduler

MOST_DAYS = 366
FIRST_YEAR, LAST_YEAR = 2000, 2100
"""The years of a rehearsal. Earlier and later instants are outside the range of schedules and dates."""

_TIMES = re.compile(r"([0-2][0-9]:[0-5][0-9])/([0-2][0-9]:[0-5][0-9])")

EXAMPLE = """\
duecourse rehearse nightly --outage 02:00/03:00 --days 7
duecourse rehearse nightly -f nightly.yaml --target-down 10m"""


@click.command("rehearse", cls=Command, example=EXAMPLE)
@click.argument("job_id", metavar="JOB")
@click.option("-f", "file", metavar="FILE", help="Read the job from this file (YAML or JSON) instead of the API.")
@click.option("--days", type=click.IntRange(1, MOST_DAYS), default=7, show_default=True, help="The number of days.")
@click.option("--from", "begins", metavar="TIME", help="The beginning, such as 2026-03-28.  [default: now]")
@click.option(
    "--outage",
    "outages",
    multiple=True,
    metavar="WINDOW",
    help="Duecourse does nothing in this window: on each day (02:00/03:00, in the job's time zone), or between two "
    "instants (ISO-8601); repeatable.",
)
@click.option(
    "--target-down", metavar="DURATION", help="The target fails for this time after each run is due, such as 10m."
)
@answer_options
def rehearse_command(
    job_id: str,
    file: str | None,
    days: int,
    begins: str | None,
    outages: Sequence[str],
    target_down: str | None,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Run the definition of a job in memory over some days, and show which occurrences run on time, late, repeatedly or
    never.

    No target is called, and nothing is changed. Runs end with their calls, which take no time. Retries, overlap, missed
    runs, deadlines, exclusions and daylight saving have the same effects as in a stage. The payload, notices and
    concurrency with other jobs have no effect.
    """
    document, calendars = _from_file(job_id, file) if file else _from_api(job_id, api, sign)
    zone = zone_of(document.get("timezone"))
    begin = instant_option("from", begins, zone) or datetime.now(UTC).replace(second=0, microsecond=0)
    scenario = _scenario(begin, days, outages, target_down, zone)
    # A job has no occurrence at the instant at which it is created.
    with _scheduler(scenario.begin - timedelta(seconds=1)) as scheduler, awaited("rehearsing …"):
        try:
            for name, excluded in calendars.items():
                scheduler.client.put_calendar(name, list(excluded))
            scheduler.client.create_job(cast("JobRequest", rehearsed_document(document, begin) | {"id": job_id}))
        except ApiError as error:
            raise CliError(plain(f"{job_id} cannot be rehearsed: {error}")) from error
        due = [each for each in scheduler.occurrences(job_id, scenario.end, MOST_OCCURRENCES + 1) if each >= begin]
        if len(due) > MOST_OCCURRENCES:
            raise UsageError(f"{job_id} has over {MOST_OCCURRENCES:,} occurrences in {days} days; use fewer --days")
        found = rehearse(scheduler, job_id, due, scenario)
    if as_json:
        print_json(_document(job_id, scenario, found))
    else:
        _print(job_id, scenario, found, zone)


def _from_api(job_id: str, api: str | None, sign: bool | None) -> tuple[Mapping[str, Any], Mapping[str, Sequence[str]]]:
    """Return the document of a job, and the days of its calendars by their ids."""
    with connected(api, sign) as client:
        job = patient(partial(client.get_job, job_id))
        document: Mapping[str, Any] = job_document(job.document, {})
        _check_kind(job_id, job.target.get("type"), document)
        if job.runs_left == 0:
            raise UsageError(f"{job_id} has no runs left (max_runs), so there is nothing to rehearse")
        if job.runs_left is not None:
            document = {**document, "max_runs": job.runs_left}
        if job.anchor is None and job.next_occurrence is not None and has_rate(job.schedule):
            document = {**document, "anchor": utc(job.next_occurrence)}
        return document, {each: client.get_calendar(each).exclude for each in calendars_of(job.document)}


def _from_file(job_id: str, file: str) -> tuple[Mapping[str, Any], Mapping[str, Sequence[str]]]:
    found = [each for each in read_files([file]) if each.id == job_id]
    if not found:
        raise UsageError(f"{file} has no job {job_id}; name a job of the file")
    document: Mapping[str, Any] = found[0].body
    _check_kind(job_id, "workflow" if found[0].is_workflow else None, document)
    if named := calendars_of(document):
        raise UsageError(f"{job_id} uses the calendar {named[0]}, which is not in {file}; create the job and omit -f")
    return document, {}


def _check_kind(job_id: str, kind: str | None, document: Mapping[str, Any]) -> None:
    if kind == "workflow":
        raise UsageError(f"{job_id} is a workflow; rehearse a job, such as one with the same schedule")
    if document.get("expect_every") is not None:
        raise UsageError(f"{job_id} runs only if a ping is missing (expect_every); rehearse a job with a schedule")


def _scenario(begin: datetime, days: int, outages: Sequence[str], target_down: str | None, zone: tzinfo) -> Scenario:
    if not FIRST_YEAR <= begin.year <= LAST_YEAR:
        raise UsageError(f"--from: must be in the years from {FIRST_YEAR} to {LAST_YEAR}")
    plain_one = Scenario(begin, begin + timedelta(days=days))
    try:
        down = timedelta() if target_down is None else duration_of(target_down)
    except ValueError as error:
        raise UsageError(f"--target-down: {error}") from None
    if down > timedelta(days=MOST_DAYS):
        raise UsageError(f"--target-down: must be at most {MOST_DAYS}d")
    windows = [window for text in outages for window in _windows(text, plain_one, zone)]
    return Scenario(plain_one.begin, plain_one.end, merged(windows), down)


def _windows(text: str, scenario: Scenario, zone: tzinfo) -> Iterator[Window]:
    if times := _TIMES.fullmatch(text):
        try:
            yield from daily(times[1], times[2], zone, scenario)
        except ValueError:
            raise UsageError(f"--outage: {text!r} has no such time of day; write 02:00/03:00") from None
        return
    begin, _, end = text.partition("/")
    try:
        found = [datetime.fromisoformat(each) for each in (begin, end)]
    except ValueError:
        raise UsageError(f"--outage: {text!r} is not a window; write 02:00/03:00, or two ISO-8601 instants") from None
    first, last = ((each if each.tzinfo else each.replace(tzinfo=zone)).astimezone(UTC) for each in found)
    if not scenario.begin <= first < last <= scenario.end:
        raise UsageError(f"--outage: {text!r} must end after its begin, and be within the days of the rehearsal")
    yield Window(first, last)


@contextmanager
def _scheduler(begin: datetime) -> Iterator[Scheduler]:
    """Return a scheduler in memory. Raises CliError if its packages are not installed."""
    try:
        from duecourse.testing import Scheduler
    except ImportError as error:
        raise CliError(
            plain(f"{error.name} is not installed; install it with: pip install 'duecourse[cli,testing]'")
        ) from error
    with Scheduler(begin) as scheduler:
        yield scheduler


def _print(job_id: str, scenario: Scenario, found: Sequence[Rehearsed], zone: tzinfo) -> None:
    outages = len(scenario.outages)
    says = [
        f"{outages} outage{'s' * (outages != 1)} of Duecourse" if outages else "no outage of Duecourse",
        *([f"the target down for {_long(scenario.target_down)} after each due time"] if scenario.target_down else []),
    ]
    say(f"{job_id} from {moment(scenario.begin, zone)} to {moment(scenario.end, zone)}, with {' and '.join(says)}")
    if not found:
        say("no occurrences in this time")
        return
    print_table(("due", "result", "calls", "details"), [_row(each, zone) for each in rows(found)], zone=zone)
    counts = summary(found)
    by_result = ", ".join(f"{counts[each.value]:,} {each.value}" for each in Result if counts[each.value])
    repeated = f"; {counts['repeated']:,} called more than once" if counts["repeated"] else ""
    say(f"{len(found):,} due: {by_result}{repeated}")


def _row(row: Row, zone: tzinfo) -> Sequence[Cell]:
    one_run, details = row.first, list[str]()
    if row.count > 1:
        details.append(f"{row.count:,} occurrences until {moment(row.last.due, zone)}")
    if one_run.result is Result.LATE:
        details.append(f"started {_long(one_run.late_by)} late")
    if one_run.calls > 1 and one_run.why is None and one_run.ended_at is not None:
        details.append(f"succeeded {_long(one_run.ended_at - one_run.due)} after it was due")
    if one_run.why is not None:
        details.append(zoned(one_run.why, zone))
    return one_run.due, one_run.result.value, "" if row.count > 1 else str(one_run.calls), "; ".join(details)


def _long(duration: timedelta) -> str:
    """Return a duration for people: `30 min`, `1 h 5 min`, `12 s`."""
    seconds = int(duration.total_seconds())
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    if seconds < 60:
        return f"{seconds} s"
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "") if part)


def _document(job_id: str, scenario: Scenario, found: Sequence[Rehearsed]) -> Rehearsal:
    counts = summary(found)
    return Rehearsal(
        job_id=job_id,
        begin=utc(scenario.begin),
        end=utc(scenario.end),
        items=[
            RehearsedOccurrence(
                due=utc(each.due),
                result=each.result.value,
                called_at=None if each.called_at is None else utc(each.called_at),
                calls=each.calls,
                ended_at=None if each.ended_at is None else utc(each.ended_at),
                why=each.why,
            )
            for each in found
        ],
        counts=counts,
    )
