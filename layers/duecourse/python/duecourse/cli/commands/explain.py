"""`duecourse explain`: why a job ran or did not run at some time."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import click

from duecourse.cli.commands.listing import instant_option
from duecourse.cli.commands.options import answer_options, connected
from duecourse.cli.due_runs import last_due_run
from duecourse.cli.night import Group, Night, explain_night
from duecourse.cli.output.documents import ExplainedGroup, Listed, utc
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, fitted
from duecourse.cli.when import last_night, moment, zone_of, zoned
from duecourse.client import Client
from duecourse.client.models import Explained, Run


@click.command(cls=Command, example='duecourse explain nightly --at "02:30"')
@click.argument("job_id", metavar="JOB")
@click.option(
    "--at", metavar="TIME", help="02:30, yesterday 09:00, 2026-11-21 02:30 (in the job's time zone), or ISO-8601."
)
@click.option(
    "--last-night",
    "night",
    is_flag=True,
    help="Every occurrence from yesterday 18:00 to today 08:00 in the job's time zone; consecutive ones with the same "
    "outcome share a line.",
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
            found = explain_night(client, job, begin, end)
            if as_json:
                print_json(night_document(found))
            else:
                _print_night(found, job_id, begin, end, zone)
            return
        one = client.explain_job(job_id, at=instant_option("at", at, zone)) if at else _last(client, job_id, now)
        none_yet = not at and not as_json and one.verdict == "not_an_occurrence"
        run = last_due_run(client, job_id, now) if none_yet else None
    if as_json:
        print_json(Listed(items=[one.document], next_cursor=None))
    elif none_yet:
        _print_none_yet(one, run, zone)
    else:
        # The sentence contains the local time that the clock skips: no instant corresponds to it.
        _print("" if one.verdict == "gap" else moment(one.at, zone), one, zone)


def _say(text: str, indent: int = 4) -> None:
    click.echo("\n".join(fitted(text, indent)))


def _say_command(run_id: str) -> None:
    """Print the command that shows a run. If it is too long for a line, it is continued so that it can still be
    copied.
    """
    click.echo(" \\\n".join(fitted(f"    duecourse runs show {run_id}", 8)))


def _print(when: str, each: Explained, zone: tzinfo, count: int = 1) -> None:
    head = f"{when}  " if when else ""
    many = f" {count} times; the last time:" if count > 1 else ":"
    _say(f"{head}{each.verdict}{many} {zoned(each.sentence, zone)}")
    if each.run is not None:
        _say_command(each.run.id)
    elif each.verdict == "not_an_occurrence":
        nearest = [moment(one, zone) for one in (each.nearest.before, each.nearest.after) if one is not None]
        _say(f"    nearest occurrences: {', '.join(nearest) or 'none'}", indent=8)


def _print_none_yet(here: Explained, run: Run | None, zone: tzinfo) -> None:
    """Print the last manual run and the next occurrence of a job that has had no occurrence."""
    last = "" if run is None else f"; last manual run at {moment(run.due, zone)}: {run.state}"
    following = "" if here.nearest.after is None else f"; next occurrence at {moment(here.nearest.after, zone)}"
    _say(f"no occurrence yet{last}{following}")
    if run is not None:
        _say_command(run.id)


def _print_night(night: Night, job_id: str, begin: datetime, end: datetime, zone: tzinfo) -> None:
    counted = f"{night.count:,} occurrence{'s' * (night.count != 1)}" if night.count else "no occurrence"
    _say(f"{moment(begin, zone)} to {moment(end, zone)}: {counted}")
    if night.since is not None:
        _say(f"The job has existed since {moment(night.since, zone)}.")
    if not night.consecutive:
        _say(f"The outcomes alternate, so lines overlap. To see each run: duecourse runs list {job_id} --since ...")
    for each in night.groups:
        first, last = moment(each.first, zone), moment(each.last, zone)
        _print(first if each.count == 1 else f"{first} to {last}", each.explained, zone, each.count)
    if night.left_out is not None:
        _say(f"Occurrences from {moment(night.left_out, zone)} are omitted, because there are too many; use --at.")


def night_document(night: Night) -> Listed:
    """Return the explanations of a night, and from when on occurrences are left out."""
    listed = Listed(items=[_document(each) for each in night.groups], next_cursor=None)
    if night.left_out is not None:
        listed["left_out"] = utc(night.left_out)
    return listed


def _document(group: Group) -> dict[str, object]:
    """Return the explanation of the group's last occurrence, with the first one and their number."""
    more = ExplainedGroup(first=group.first.isoformat().replace("+00:00", "Z"), count=group.count)
    return {**group.explained.document, **more}


def _last(client: Client, job_id: str, now: datetime) -> Explained:
    """Return the explanation of the last occurrence, or of the current time if there is none."""
    here = client.explain_job(job_id, at=now.replace(microsecond=0))
    return here if here.nearest.before is None else client.explain_job(job_id, at=here.nearest.before)
