"""`duecourse explain`: why a job ran or did not run at some time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import click

from duecourse.cli.commands.listing import instant_option
from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, plain
from duecourse.cli.when import last_night, moment, zone_of
from duecourse.client import Client
from duecourse.client.models import Explained, Job

MAX_OCCURRENCES = 20
"""The maximum number of occurrences of a night that are explained."""


@click.command(cls=Command, example='duecourse explain nightly --at "02:30"')
@click.argument("job_id", metavar="JOB")
@click.option("--at", metavar="TIME", help="02:30, yesterday, 2026-11-21 02:30 (in the job's time zone), or ISO-8601.")
@click.option(
    "--last-night", "night", is_flag=True, help="Every occurrence from 18:00 to 08:00 in the job's time zone."
)
@answer_options
def explain(job_id: str, at: str | None, night: bool, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Explain why a job ran or did not run at an instant, in the time zone of the job. The default is its last
    occurrence.
    """
    if at and night:
        raise UsageError("--at and --last-night cannot be combined; use one of them")
    with connected(api, sign) as client:
        job = client.get_job(job_id)
        zone = zone_of(job.timezone)
        now = datetime.now(UTC)
        if night:
            begin, end = last_night(zone, now)
            found = [client.explain_job(job_id, at=each) for each in _between(client, job, begin, end)]
            found = found or [client.explain_job(job_id, at=begin)]
        elif at:
            found = [client.explain_job(job_id, at=instant_option("at", at, zone))]
        else:
            found = [_last(client, job_id, now)]
    if as_json:
        print_json({"items": [each.document for each in found], "next_cursor": None})
        return
    for each in found:
        # The sentence has the time that the clock does not show, which no instant has.
        head = "" if each.verdict == "gap" else f"{moment(each.at, zone)}  "
        click.echo(plain(f"{head}{each.verdict}: {each.sentence}"))
        if each.run is not None:
            click.echo(plain(f"    duecourse runs show {each.run.id}"))
        elif each.verdict == "not_an_occurrence":
            nearest = [moment(one, zone) for one in (each.nearest.before, each.nearest.after) if one is not None]
            click.echo(plain(f"    nearest occurrences: {', '.join(nearest) or 'none'}"))


def _last(client: Client, job_id: str, now: datetime) -> Explained:
    """Return the explanation of the last occurrence, or of the current time if there is none."""
    here = client.explain_job(job_id, at=now.replace(microsecond=0))
    return here if here.nearest.before is None else client.explain_job(job_id, at=here.nearest.before)


def _between(client: Client, job: Job, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the first occurrences of the job's schedule in a range."""
    if job.schedule is None:
        return
    shown = client.preview_schedule(
        job.schedule,
        timezone=job.timezone,
        dst_gap="skip" if job.dst_gap == "skip" else "next",
        dst_fold="both" if job.dst_fold == "both" else "second" if job.dst_fold == "second" else "first",
        anchor=job.anchor,
        start=job.start,
        end=job.end,
        exclude=job.exclude,
        on_excluded=job.on_excluded,
        after=begin - timedelta(seconds=1),
        count=MAX_OCCURRENCES,
    )
    for each in shown.occurrences:
        if each.at is not None and each.at < end:
            yield each.at
