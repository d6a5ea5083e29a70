"""`duecourse upcoming`: show the number of runs that are due in each hour, as a chart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

import click
from rich.text import Text

from duecourse.cli.commands.options import connected, wide_options
from duecourse.cli.output.documents import Interval, JobLoad, Upcoming, UpcomingByJob, UpcomingRun, utc
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, say
from duecourse.cli.when import UNITS, local_zone, moment
from duecourse.client import Client
from duecourse.client.models import DelayedRun

MOST_HOURS = 48
JOBS_SHOWN = 3
MOST_NAMED, MOST_JOBS = 10_000, 1000
"""The maximum number of jobs that the API lists in all intervals of a page, and in one interval."""
NAMED = 10
BAR_COLUMNS = 16


@dataclass
class Named:
    """A number of jobs, with the names of some of them."""

    count: int = 0
    jobs: list[str] = field(default_factory=list)

    def add(self, count: int | None, jobs: Iterable[str] | None) -> None:
        """Add the jobs of a page."""
        self.count += count or 0
        self.jobs += jobs or ()

    def tell(self, what: str) -> None:
        """Print the jobs if there are any."""
        if self.count:
            named = ", ".join(self.jobs[:NAMED]) + (", ..." if self.count > NAMED else "")
            click.echo(f"{self.count} {what}{': ' if named else ''}{named}", err=True)


@dataclass
class Load:
    """The number of due runs by the start of their interval, and the jobs with the most runs in each."""

    runs: Counter[datetime] = field(default_factory=Counter)
    jobs: dict[datetime, Counter[str]] = field(default_factory=dict)
    delayed: list[DelayedRun] = field(default_factory=list)
    late: Named = field(default_factory=Named)
    uncounted: Named = field(default_factory=Named)

    def by_job(self) -> list[tuple[str, int]]:
        """Return the number of runs of each named job, the largest first."""
        runs = sum(self.jobs.values(), Counter[str]())
        return sorted(runs.items(), key=lambda each: (-each[1], each[0]))

    def tell(self) -> None:
        """Print the jobs that are late or do not fire, if there are any."""
        self.late.tell("jobs are late (a run is due and not enqueued yet)")
        self.uncounted.tell("jobs do not fire (their cursor cannot be read)")


@click.command(cls=Command, example="duecourse upcoming --hours 24 --hot 10")
@click.option(
    "--hours",
    type=click.FloatRange(0.1, MOST_HOURS),
    default=24,
    show_default=True,
    help="The length of the forecast, in hours.",
)
@click.option(
    "--step",
    default="1h",
    show_default=True,
    metavar="STEP",
    help="The interval that each line covers: 1m, 10m or 1h.",
)
@click.option("--hot", type=click.IntRange(1, 100), metavar="N", help="Show the N minutes with the most runs.")
@click.option("--by-job", is_flag=True, help="Show the number of runs of each job.")
@wide_options
def upcoming(
    hours: float,
    step: str,
    hot: int | None,
    by_job: bool,
    output: str,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Show the number of runs that are due in the next hours, and their jobs.

    Occurrences of schedules and delayed runs are counted, but not other manual runs, backfills and steps of workflows.
    """
    if hot and by_job:
        raise UsageError("--hot and --by-job cannot be combined; use one of them")
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    seconds = 60 if hot else MOST_HOURS * 3600 if by_job else _seconds(step)
    begin = now if by_job else aligned(now, seconds, local_zone())
    end = min(now + timedelta(hours=hours), begin + timedelta(hours=MOST_HOURS))
    intervals = math.ceil((end - begin).total_seconds() / seconds)
    largest = min(MOST_NAMED // intervals, MOST_JOBS) if by_job or as_json or output == "wide" else JOBS_SHOWN
    with connected(api, sign) as client:
        load = counted(client, begin, end, seconds, largest)
    listed = [UpcomingRun(id=run.id, job=run.job_id, due=utc(run.due)) for run in load.delayed]
    late, uncounted = load.late.count, load.uncounted.count
    if by_job:
        total, counts = load.runs.total(), load.by_job()
        if as_json:
            by_jobs = UpcomingByJob(
                items=[JobLoad(job=job, runs=count) for job, count in counts],
                runs=total,
                not_named=total - sum(count for _, count in counts),
                delayed_runs=listed,
                next_cursor=None,
                late=late,
                uncounted=uncounted,
            )
            print_json(by_jobs)
            return
        _print_jobs(load, counts, wide=output == "wide")
        _print_total(load, end)
        return
    chosen = sorted(load.runs, key=lambda at: (-load.runs[at], at))[:hot] if hot else sorted(load.runs)
    if as_json:
        items = [
            Interval(at=moment(at).replace(" ", "T"), runs=load.runs[at], jobs=dict(load.jobs[at])) for at in chosen
        ]
        print_json(Upcoming(items=items, delayed_runs=listed, next_cursor=None, late=late, uncounted=uncounted))
        return
    _print(load, chosen, "minute" if hot else "from", wide=output == "wide")
    if not hot:
        _print_total(load, end)


def aligned(now: datetime, step: int, zone: tzinfo) -> datetime:
    """Return the beginning of the interval of `step` seconds that contains `now`, on a zone's clock."""
    offset = now.astimezone(zone).utcoffset() or timedelta()
    seconds = int((now + offset).timestamp())
    return now - timedelta(seconds=seconds % step)


def counted(client: Client, begin: datetime, end: datetime, step: int, largest: int = JOBS_SHOWN) -> Load:
    """Return the sum of all pages. Each page counts some of the jobs, and names the `largest` in each interval; the
    last pages have the delayed runs.
    """
    load, cursor = Load(), None
    while True:
        page = client.list_upcoming(from_=begin, to=end, step=step, largest=largest, cursor=cursor)
        for bucket in page.buckets:
            load.runs[bucket.at] += bucket.runs
            load.jobs.setdefault(bucket.at, Counter()).update({job.id: job.runs for job in bucket.jobs})
        load.delayed += page.delayed_runs or ()
        load.late.add(page.late, page.late_jobs)
        load.uncounted.add(page.uncounted, page.uncounted_jobs)
        cursor = page.next_cursor
        if cursor is None:
            return load


def _print_jobs(load: Load, counts: list[tuple[str, int]], *, wide: bool) -> None:
    """Print the number of runs of each named job."""
    print_table(("job", "runs"), [(job, f"{count:,}") for job, count in counts], wide=wide)
    if others := load.runs.total() - sum(count for _, count in counts):
        say(f"{others:,} more runs, of jobs that are not named: the API names {MOST_JOBS:,} jobs on each page")
    load.tell()


def _print_total(load: Load, end: datetime) -> None:
    delayed = f", {len(load.delayed):,} of them delayed (duecourse runs list --state QUEUED)" if load.delayed else ""
    say(f"{load.runs.total():,} runs until {moment(end, local_zone())}{delayed}")


def _print(load: Load, chosen: list[datetime], begin: str, *, wide: bool) -> None:
    if not chosen:
        click.echo("no runs are due")
    most = max((load.runs[at] for at in chosen), default=1)
    rows: list[tuple[Cell, ...]] = []
    for at in chosen:
        runs = load.runs[at]
        shown = load.jobs[at].most_common(None if wide else JOBS_SHOWN)
        more = runs - sum(count for _, count in shown)
        named = ", ".join([*(f"{job} ({count:,})" for job, count in shown), *([f"+{more:,} more"] if more else [])])
        colour = "red" if runs == most and len(chosen) > 1 else "cyan"
        rows.append((at, f"{runs:,}", Text(_bar(runs, most), colour), named))
    print_table((begin, "runs", "", "jobs"), rows, wide=wide)
    load.tell()


def _bar(part: int, whole: int) -> str:
    """Return a bar in eighths of a column, of at least one eighth."""
    eighths = max(1, round(8 * BAR_COLUMNS * part / whole))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _seconds(text: str) -> int:
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in UNITS):
        raise UsageError(f"--step: {text!r} is not an interval; write 1m, 10m or 1h")
    seconds = int(timedelta(**{UNITS[unit]: int(number)}).total_seconds())
    if not 60 <= seconds <= 86400:
        raise UsageError("--step: must be from 1m to 1d")
    return seconds
