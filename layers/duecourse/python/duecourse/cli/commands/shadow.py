"""`duecourse shadow`: compare jobs with the pings of another scheduler, and promote them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

import click
from rich.progress import MofNCompleteColumn

from duecourse.cli.commands.options import confirm, connected, named_options, yes_option
from duecourse.cli.manifests.plan import patient
from duecourse.cli.output.documents import Listed, PromotedJob, PromotedJobs
from duecourse.cli.output.table import Cell, print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.progress import bar
from duecourse.cli.terminal import Command, Group, UsageError, plain, say
from duecourse.cli.when import local_zone, moment
from duecourse.client import ApiError, Client, NotFoundError
from duecourse.client.models import Job, Shadow

NOT_AGREED = 3
"""The exit code if a job does not agree, or is not promoted."""

SHOWN = 10
"""The maximum number of disagreements that a report of several jobs lists for each."""

_KINDS = {"missing": "no ping: only Duecourse would run", "extra": "ping: only the other scheduler ran"}


@click.group(cls=Group, example="duecourse shadow report")
def shadow() -> None:
    """Compare jobs with another scheduler before the switch.

    A shadow job (`duecourse import --shadow`, or `shadow: true` in a file) calls nothing. The other scheduler still
    does the work, and pings the job.
    """


@shadow.command(cls=Command, example="duecourse shadow report\nduecourse shadow report nightly --days 30")
@click.argument("job_ids", metavar="[JOB]...", nargs=-1)
@click.option("--tag", help="Only shadow jobs with this tag.")
@click.option("--days", type=click.IntRange(1, 35), default=7, show_default=True, help="The number of days to compare.")
@click.option(
    "--tolerance",
    type=click.IntRange(5, 3600),
    default=120,
    show_default=True,
    help="How far a ping may be from its occurrence, in seconds.",
)
@named_options
def report(
    job_ids: tuple[str, ...],
    tag: str | None,
    days: int,
    tolerance: int,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """List every disagreement between shadow jobs (by default all) and the other scheduler.

    The comparison begins at the last change of the schedule. The exit code is 3 if a job does not agree: if there are
    disagreements, no pings, or nothing to compare yet.
    """
    _reject_both(job_ids, tag)
    with connected(api, sign) as client:
        found: list[Shadow] = []
        for job_id in _with_progress(list(_chosen(client, job_ids, tag)), "comparing", quiet=as_json):
            try:
                found.append(patient(partial(client.get_shadow_report, job_id, days=days, tolerance=tolerance)))
            except (ApiError, NotFoundError) as error:
                if job_ids or error.type not in ("not-shadow", "unknown-job"):  # promoted or deleted since the list
                    raise
    if as_json:
        print_json(Listed(items=[each.document for each in found], next_cursor=None))
    elif not found:
        say(f"{_none(tag)}; create some with duecourse import … --shadow")
    else:
        _print_reports(found, whole=len(job_ids) == 1)
    if any(each.status != "agrees" for each in found):
        raise SystemExit(NOT_AGREED)


@shadow.command(cls=Command, example="duecourse shadow promote nightly\nduecourse shadow promote --all --yes")
@click.argument("job_ids", metavar="[JOB]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Promote all shadow jobs that agree.")
@click.option("--tag", help="With --all: only shadow jobs with this tag.")
@click.option("--days", type=click.IntRange(1, 35), default=7, show_default=True, help="The number of days to compare.")
@click.option("--force", is_flag=True, help="Promote also jobs that do not agree, or have no pings.")
@yes_option
@named_options
def promote(
    job_ids: tuple[str, ...],
    everything: bool,
    tag: str | None,
    days: int,
    force: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Start shadow jobs whose report agrees. They run from their next occurrence on.

    Switch off the entry of the old scheduler at the same time. A job that is not a shadow does not change, so the
    command can be repeated. The exit code is 3 if a job was not promoted.
    """
    if everything == bool(job_ids):
        raise UsageError("name the jobs to promote, or use --all")
    _reject_both(job_ids, tag)
    with connected(api, sign) as client:
        chosen = list(_chosen(client, job_ids, tag))
        if chosen and not yes:
            names = ", ".join(chosen[:SHOWN]) + (f" and {len(chosen) - SHOWN:,} more" if len(chosen) > SHOWN else "")
            confirm(f"Promote {names}?")
        said = _quiet if as_json else say
        promoting = _with_progress(chosen, "promoting", quiet=as_json)
        items = [_promoted(client, job_id, days=days, force=force, say=said) for job_id in promoting]
    if as_json:
        print_json(PromotedJobs(items=items, next_cursor=None))
    elif not items:
        say(_none(tag))
    if any(item["error"] is not None for item in items):
        raise SystemExit(NOT_AGREED)


def _with_progress(job_ids: Sequence[str], text: str, *, quiet: bool) -> Iterator[str]:
    """Yield the ids, and show how many are done: each takes a request that costs several tokens."""
    with bar("[progress.description]{task.description}", MofNCompleteColumn(), quiet=quiet) as progress:
        yield from progress.track(job_ids, description=text)


def _reject_both(job_ids: Sequence[str], tag: str | None) -> None:
    """Raise UsageError if jobs and a tag are given: the tag would have no effect."""
    if job_ids and tag is not None:
        raise UsageError("--tag cannot be combined with jobs; remove one of them")


def _none(tag: str | None) -> str:
    return "there are no shadow jobs" + ("" if tag is None else plain(f" with the tag {tag}"))


def _quiet(_text: str) -> None:
    """Print nothing."""


def _chosen(client: Client, job_ids: Sequence[str], tag: str | None) -> Iterator[str]:
    """Yield the given ids, or those of all shadow jobs (with a tag). They are among the paused jobs, which have an
    index.
    """
    if job_ids:
        yield from dict.fromkeys(job_ids)
        return
    cursor = None
    while True:
        page = patient(partial(client.list_jobs, state="PAUSED", tag=tag, limit=100, cursor=cursor))
        yield from (job.id for job in page.items if job.shadow_since is not None)
        if not (cursor := page.next_cursor):
            return


def _promoted(client: Client, job_id: str, *, days: int, force: bool, say: Callable[[str], None]) -> PromotedJob:
    """Promote a job, and say what is stored."""
    try:
        was = patient(partial(client.get_job, job_id)).shadow_since is not None
        job: Job = patient(partial(client.promote_job, job_id, days=days, force=force or None))
    except ApiError as error:
        text = plain(str(error.problem.get("detail") or error))
        say(text)
        return {"id": job_id, "promoted": False, "job": None, "error": text}
    following = "it has no further occurrence" if job.next_occurrence is None else "its next occurrence is at "
    at = "" if job.next_occurrence is None else moment(job.next_occurrence, local_zone())
    if was:
        say(f"{job_id} is promoted ({job.state}): {following}{at}; switch off its old entry now")
    else:
        say(f"{job_id} is not a shadow ({job.state}): {following}{at}; nothing was changed")
    return {"id": job_id, "promoted": was, "job": job.document, "error": None}


def _print_reports(found: Sequence[Shadow], *, whole: bool) -> None:
    zone = local_zone()
    print_table(
        ("job", "result", "agreed", "missing", "extra", "latest", "pings since"),
        [_row(each) for each in found],
        spare=("pings since", "latest"),
        zone=zone,
    )
    for each in found:
        for line in _lines(each, whole=whole):
            say(line)


def _row(each: Shadow) -> tuple[Cell, ...]:
    latest = "" if each.lateness is None else f"{each.lateness.most_seconds} s"
    first = "" if each.first_ping_at is None else each.first_ping_at.astimezone(UTC).strftime("%Y-%m-%d")
    return each.job_id, each.status, str(each.agreed), str(each.missing), str(each.extra), latest, first


def _lines(each: Shadow, *, whole: bool) -> Iterator[str]:
    """Yield what a report says below the table."""
    zone = local_zone()

    def at(instant: datetime) -> str:
        return moment(instant, zone)

    if not each.complete:
        yield f"{each.job_id}: only the time since {at(each.begin)} is compared, because there are too many occurrences"
    if each.status == "no_pings":
        said = f"no ping since {at(each.begin)} ({each.before_first_ping:,} occurrences)"
        yield f"{each.job_id}: {said}; the old scheduler is probably not connected"
        return
    if each.status == "waits":
        said = f"no occurrence since {at(each.begin)} could be compared yet"
        yield f"{each.job_id}: {said}; more --days include earlier ones"
    if each.before_first_ping:
        first = "" if each.first_ping_at is None else f" at {at(each.first_ping_at)}"
        yield f"{each.job_id}: {each.before_first_ping:,} occurrences before the first ping{first} are not compared"
    if each.undecided:
        yield f"{each.job_id}: {each.undecided:,} occurrences or pings are undecided"
    shown = each.disagreements if whole else each.disagreements[:SHOWN]
    for one in shown:
        yield f"{each.job_id}: {at(one.at)}  {_KINDS.get(one.kind, one.kind)}"
    if more := each.missing + each.extra - len(shown):
        yield f"{each.job_id}: {more:,} more disagreements"
