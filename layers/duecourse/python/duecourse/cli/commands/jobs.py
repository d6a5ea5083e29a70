"""`duecourse jobs`: create, get, list, pause, resume, delete and history.

Job documents are parsed as strictly as by the API, so that no part of them is silently lost.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeVar, cast

import click

from duecourse.cli.commands.apply import apply, settle
from duecourse.cli.commands.edit import edit
from duecourse.cli.commands.export import export
from duecourse.cli.commands.job_actions import backfill, ping, run, skip_next, test_notice
from duecourse.cli.commands.listing import print_page, print_pages
from duecourse.cli.commands.options import (
    answer_options,
    confirm,
    connected,
    list_options,
    named_options,
    page_options,
    yes_option,
)
from duecourse.cli.commands.patch import patch
from duecourse.cli.commands.watch import zone_of_job
from duecourse.cli.manifests.documents import read_object
from duecourse.cli.manifests.plan import SIDE_BY_SIDE, every_job, patient, removal, workflows_first
from duecourse.cli.night import preview
from duecourse.cli.output.documents import JobsChanged
from duecourse.cli.output.jobs import durations_text, print_changes, print_job, print_jobs, starts_others
from duecourse.cli.output.values import print_json
from duecourse.cli.preview_text import mark_text, with_counts
from duecourse.cli.progress import awaited, spinner
from duecourse.cli.terminal import CliError, Command, Group, InterruptedCliError, UsageError, plain, say
from duecourse.cli.when import UNITS, coming, duration_of, local_zone, moment, zone_of
from duecourse.client import Client, ForbiddenError
from duecourse.client.bodies import JobRequest
from duecourse.client.models import ChangedJobs, Job
from duecourse_schedules import ScheduleSpec
from duecourse_schedules.preview import PreviewEntry
from duecourse_schedules.schedule import joined

F = TypeVar("F", bound=Callable[..., Any])

OCCURRENCES = 5
"""The number of next occurrences that are shown with a job."""

CREATE_EXAMPLE = """\
duecourse jobs create hello --every 10s --http https://example.com/hook
duecourse jobs create job.yaml
echo '{"id": "hello", "schedule": "rate(10 seconds)",
       "target": {"type": "http", "url": "https://example.com/hook"}}' | duecourse jobs create"""


@click.group(cls=Group, example="duecourse jobs create job.json\nduecourse jobs run nightly --wait")
def jobs() -> None:
    """Create, show, list, run, pause and delete jobs."""


@jobs.command(cls=Command, example=CREATE_EXAMPLE)
@click.argument("document", metavar="[FILE|ID]", default="-")
@click.option("--http", "url", metavar="URL", help="Create the job ID, which calls this URL (POST), without a file.")
@click.option("--every", metavar="TIME", help="With --http, the interval of the runs: 90s, 15m, 2h, 3d.")
@click.option("--schedule", help="With --http, a schedule such as '0 9 * * 1'.  [default: only on demand]")
@click.option("--timezone", metavar="ZONE", help="With --http, the zone of the schedule.  [default: UTC]")
@click.option("--dry-run", is_flag=True, help="Show the job; write nothing. The job must have an id.")
@named_options
def create(
    document: str,
    url: str | None,
    every: str | None,
    schedule: str | None,
    timezone: str | None,
    dry_run: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Create a job from a JSON or YAML file, or from standard input; or a simple job with --http. For all fields, see
    duecourse fields.
    """
    if url is None:
        if every or schedule or timezone:
            raise UsageError("--every, --schedule and --timezone require --http; add it, or write them in a file")
        job = read_object(document)
    elif document == "-":
        raise UsageError("--http requires the ID of the job; add it")
    else:
        job = {"id": document, "schedule": _schedule(every, schedule), "target": {"type": "http", "url": url}}
        job |= {"timezone": timezone} if timezone else {}
    if dry_run and not job.get("id"):
        raise CliError("--dry-run needs a job with an id; add an id")
    with connected(api, sign) as client:
        if dry_run:
            shown = client.put_job(job["id"], cast("JobRequest", job), dry_run=True, if_none_match="*")
            coming_up = () if as_json else next_occurrences(client, shown)
            print_json(shown) if as_json else print_job(shown, coming_up, zone_of(shown.timezone))
            return
        created = client.create_job(cast("JobRequest", job))
        warnings = client.get_job_warnings(created.id).items if starts_others(created.document) else ()
    _show(created, as_json)
    for warning in warnings:
        click.echo(plain(f"{warning.says} {warning.do}"), err=True)


def _schedule(every: str | None, schedule: str | None) -> str | None:
    """Return the schedule of a job. Raises UsageError."""
    if every is None:
        return schedule
    if schedule is not None:
        raise UsageError("--every and --schedule cannot be combined; use one of them")
    try:
        duration_of(every)
    except ValueError as error:
        raise UsageError(f"--every: {error}") from None
    number, unit = int(every[:-1]), UNITS[every[-1]]
    return f"rate({number} {unit if number > 1 else unit[:-1]})"


@jobs.command(cls=Command, example="duecourse jobs get nightly -o yaml")
@click.argument("job_id", metavar="JOB")
@named_options
def get(job_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show one job, its next occurrences, and how long its runs take. -o yaml and -o json (--json) print the complete
    definition, which can be applied again.
    """
    with connected(api, sign) as client:
        job = client.get_job(job_id)
        coming_up = () if as_json else next_occurrences(client, job)
        warnings = () if as_json else client.get_job_warnings(job_id).items
        durations = None if as_json else durations_text(client.list_runs(job_id, state="SUCCEEDED", limit=100).items)
    if as_json:
        print_json(job)
    else:
        print_job(job, coming_up, zone_of(job.timezone), durations)
        for warning in warnings:
            say(f"{warning.says} {warning.do}")


def next_occurrences(client: Client, job: Job) -> Sequence[tuple[datetime, str]]:
    """Return the next occurrences of an existing job, OCCURRENCES at most, and the excluded ones between them. Each has
    the effect of a rule, such as `excluded and 1 more`.
    """
    if job.schedule is None or job.next_occurrence is None:
        return ()
    found = preview(client, job, job.next_occurrence - timedelta(seconds=1), OCCURRENCES)
    if not found or job.max_runs is not None:  # the number of runs that are left is not known
        return [(job.next_occurrence, "")]
    anchor, start, end = (None if at is None else int(at.timestamp()) for at in (job.anchor, job.start, job.end))
    spec = ScheduleSpec(joined(job.schedule), job.timezone, job.dst_gap, job.dst_fold, anchor, start, end)
    entries = [
        PreviewEntry(int(at.timestamp()), each.wall[:19], None, each.mark, each.named, each.count) for at, each in found
    ]
    marks = map(mark_text, with_counts(entries, spec))
    return [(at, mark) for (at, _), mark in zip(found, marks, strict=True)]


@jobs.command("list", cls=Command, example="duecourse jobs list --tag billing --state PAUSED")
@click.option("--prefix", help="Only jobs with an id that starts with this text.")
@click.option(
    "--search", help="Only jobs with an id or a name that contains this text; also prints the number of jobs."
)
@click.option("--tag", help="Only jobs with this tag.")
@click.option("--state", type=click.Choice(["ACTIVE", "PAUSED", "COMPLETED"]), help="Only jobs in this state.")
@click.option("--owner", help="Only jobs of this owner.")
@click.option("--limit", type=click.IntRange(1, 100), help="Print one page of this size.  [default: all jobs]")
@click.option("--cursor", help="Continue after an earlier page (its next_cursor).")
@list_options
def list_jobs(
    prefix: str | None,
    search: str | None,
    tag: str | None,
    state: Literal["ACTIVE", "PAUSED", "COMPLETED"] | None,
    owner: str | None,
    limit: int | None,
    cursor: str | None,
    output: str,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """List all jobs, or one page of them."""
    with connected(api, sign) as client:
        first = client.list_jobs(
            prefix=prefix,
            search=search,
            tag=tag,
            state=state,
            owner=owner,
            limit=limit,
            cursor=cursor,
            total=True if search else None,
        )
        if limit is not None:
            print_page(first, "jobs", as_json=as_json, output=output, name="id", table=print_jobs)
            return
        print_pages(
            first,
            "jobs",
            as_json=as_json,
            output=output,
            name="id",
            table=lambda found, frame: print_jobs(found, frame=frame),
        )


IDS = 100
"""The API's maximum number of ids in a request."""


def _choice(command: F) -> F:
    """Add the options that choose jobs. The command receives them as `job_ids`, `tag` and `everything`."""
    command = click.option("--all", "everything", is_flag=True, help="All jobs of the tenant (scope ops).")(command)
    command = click.option("--tag", help="All jobs with this tag (scope ops).")(command)
    return click.argument("job_ids", metavar="[JOB]...", nargs=-1, callback=_once)(command)


def _once(_context: click.Context, _parameter: click.Parameter, ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


@jobs.command(cls=Command, example='duecourse jobs pause --tag billing --note "the bank is down"')
@_choice
@click.option("--note", help="The reason; it is shown as paused_because.")
@click.option(
    "--until",
    metavar="TIME",
    help="The end of the pause: 2026-12-01T06:00, or 06:00, in the job's zone (with several JOBs, --tag and --all: "
    "this machine's).",
)
@click.option("--from", "begin", metavar="TIME", help="Plan a pause that starts then, in the form of --until.")
@click.option("--for", "length", metavar="TIME", help="The length of the pause: 90s, 15m, 2h, 3d.")
@click.option(
    "--catch-up", is_flag=True, help="With --until or --for: when the pause ends, treat its occurrences as missed."
)
@yes_option
@answer_options
def pause(
    job_ids: tuple[str, ...],
    tag: str | None,
    everything: bool,
    note: str | None,
    until: str | None,
    begin: str | None,
    length: str | None,
    catch_up: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Stop jobs, or all jobs with a tag, from firing; running runs continue. With --until or --for the jobs resume
    automatically. Repeat the command with one JOB, --tag or --all to change the end of a pause. Several JOBs that are
    already paused keep their pause. With --from, the pause is planned: it is an excluded window of the jobs.
    """
    if until is not None and length is not None:
        raise UsageError("--until and --for cannot be combined; use one of them")
    if catch_up and until is None and length is None:
        raise UsageError("--catch-up requires --until or --for; without an end, use jobs resume --catch-up")
    if begin is not None and until is None and length is None:
        raise UsageError("--from requires --until or --for; add one of them")
    with connected(api, sign) as client:
        named = until is not None or begin is not None
        zone = zone_of_job(client, job_ids[0]) if named and len(job_ids) == 1 else local_zone()
        start = None if begin is None else _end(begin, None, zone, option="--from")
        end = _end(until, length, zone, start)
        stored = list[Job]()

        def pause_one(name: str) -> Job:
            stored.append(
                client.pause_job(name, note=note, from_=start, until=end, catch_up=catch_up or None),
            )
            return stored[-1]

        changed = _change(
            client,
            "pause",
            (job_ids, tag, everything),
            pause_one,
            lambda cursor, ids: client.pause_jobs(
                tag=tag,
                ids=ids,
                all=everything or None,
                cursor=cursor,
                note=note,
                from_=start,
                until=end,
                catch_up=catch_up or None,
            ),
            yes=yes,
            as_json=as_json,
            planned=start is not None,
        )
    if end is None or not changed or as_json:
        return
    if stored and start is not None:
        if (plan := stored[0].planned_pause) is None:
            return  # it has no more occurrences
        start, end = map(datetime.fromisoformat, plan.split("/")[:2])  # it may extend another planned pause
    elif stored and stored[0].state != "PAUSED":
        return  # it is completed
    starts = "" if start is None else f"starts at {moment(start, zone)} and "
    say(f"The pause {starts}ends automatically at {moment(end, zone)}.")


def _end(
    until: str | None, length: str | None, zone: tzinfo, start: datetime | None = None, option: str = "--until"
) -> datetime | None:
    """Return the end of a pause that begins at `start` (None: now), in whole seconds. Raises UsageError."""
    since = datetime.now(UTC) if start is None else start
    try:
        if length is not None:
            return (since + duration_of(length)).replace(microsecond=0)
        return None if until is None else coming(until, zone, since)
    except ValueError as error:
        raise UsageError(f"{'--for' if until is None else option}: {error}") from None


@jobs.command(cls=Command, example="duecourse jobs resume nightly --catch-up")
@_choice
@click.option(
    "--catch-up", is_flag=True, help="Treat occurrences during the pause as missed, according to the job's policy."
)
@click.option(
    "--others",
    is_flag=True,
    help="With --tag or --all: also resume jobs that were paused individually, with another tag or after failures.",
)
@click.option("--note", help="The reason; it is kept in the job's history.")
@yes_option
@answer_options
def resume(
    job_ids: tuple[str, ...],
    tag: str | None,
    everything: bool,
    catch_up: bool,
    others: bool,
    note: str | None,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Resume paused jobs, or all jobs with a tag. Occurrences during the pause are skipped, unless --catch-up is
    used.

    --tag resumes the jobs that were paused with the same --tag or with --all; --all resumes the jobs that were paused
    with --all.
    """
    with connected(api, sign) as client:
        _change(
            client,
            "resume",
            (job_ids, tag, everything),
            lambda name: client.resume_job(name, catch_up=catch_up, note=note),
            lambda cursor, ids: client.resume_jobs(
                tag=tag,
                ids=ids,
                all=everything or None,
                cursor=cursor,
                catch_up=catch_up,
                others=others or None,
                note=note,
            ),
            yes=yes,
            as_json=as_json,
            only_bulk=not others and not job_ids,
        )


def _change(
    client: Client,
    action: Literal["pause", "resume"],
    choice: tuple[tuple[str, ...], str | None, bool],
    one: Callable[[str], Job],
    page: Callable[[str | None, list[str] | None], ChangedJobs],
    *,
    yes: bool,
    as_json: bool,
    only_bulk: bool = False,
    planned: bool = False,
) -> int:
    """Change the chosen job, several jobs, or the jobs of all pages after a confirmation. Return the number of changed
    jobs; a single job counts as changed.

    With `only_bulk`, only the jobs that were paused with the same choice are changed. `planned`: a pause begins later.
    Raises UsageError unless there is exactly one choice. Raises CliError if there is no such job, or if some jobs could
    not be changed.
    """
    job_ids, tag, _ = choice
    if sum(map(bool, choice)) != 1:
        raise UsageError("select jobs by exactly one of JOB, --tag and --all")
    if len(job_ids) == 1:
        _show(one(job_ids[0]), as_json)
        return 1
    if not yes and not job_ids:
        count = _count(client, tag, "PAUSED" if action == "resume" else None)
        if count != 0:
            confirm(f"{action.capitalize()} {_chosen(tag, count, only_bulk)}?")
        elif action == "resume" and _count(client, tag, None, most=1) != 0:
            confirm(f"No job is paused. Remove the planned pauses of {_chosen(tag, None, only_bulk=False)}?")
    changed, failed = 0, list[str]()
    parts: list[list[str] | None] = [list(job_ids[at : at + IDS]) for at in range(0, len(job_ids), IDS)]
    try:
        with spinner(f"{action.removesuffix('e')}ing …") as status:
            for ids in parts or [None]:
                cursor: str | None = None
                while True:
                    found = page(cursor, ids)
                    changed, failed, cursor = changed + found.changed, [*failed, *found.failed], found.next_cursor
                    if cursor is None:
                        break
                    status.update(f"{_done(action, f'{changed:,} jobs', 'are', planned=planned)} …")
    except KeyboardInterrupt:
        done = _done(action, f"{changed:,} jobs or more", "are", planned=planned)
        raise InterruptedCliError(f"interrupted; {done}; repeat the command to continue") from None
    if not changed and not failed and not job_ids and _count(client, tag, None, most=1) == 0:
        jobs = f"no job has the tag {tag}" if tag else "there is no job"
        raise CliError(plain(f"{jobs}, so nothing was changed; check the jobs with duecourse jobs list"))
    if as_json:
        print_json(JobsChanged(changed=changed, failed=failed))
    else:
        others = _count(client, tag, "PAUSED", most=1) if only_bulk else 0
        rest = "" if others == 0 else f"; others {'may ' if others is None else ''}stay paused: {_paused(tag)}"
        kept = len(job_ids) - changed - len(failed)
        if kept > 0:
            before = "not paused" if action == "resume" else "already planned" if planned else "already paused"
            rest = f"; {_jobs(kept)} needed no change ({before}, or completed)"
        done = _done(action, _jobs(changed), "is" if changed == 1 else "are", planned=planned)
        say(f"{done if changed else 'no job was changed'}{rest}")
    if failed:
        reason, remedy = _REASONS["plan" if planned else action], "repeat the command"
        if job_ids:
            reason, remedy = f"{reason}, or because there is no such job", "check the ids, or repeat the command"
        named = ", ".join(failed)
        raise CliError(plain(f"{_jobs(len(failed))} could not be changed because of {reason}: {named}; {remedy}"))
    return changed


_REASONS = {
    "pause": "concurrent changes, unreadable data, or the end of the pause (a shadow job cannot have one)",
    "plan": "concurrent changes, unreadable data, their schedules (none, or no occurrence is left) or planned pauses",
    "resume": "concurrent changes, unreadable data, an invalid schedule, or a shadow job (duecourse shadow promote)",
}
"""Why the API may not pause a job, plan its pause or resume it."""


def _jobs(count: int) -> str:
    return f"{count:,} job{'s' * (count != 1)}"


def _done(action: Literal["pause", "resume"], jobs: str, verb: str, *, planned: bool) -> str:
    """Return what a change of many jobs did."""
    return f"the pause of {jobs} is planned" if planned else f"{jobs} {verb} {action}d"


def _count(client: Client, tag: str | None, state: Literal["PAUSED"] | None, most: int | None = None) -> int | None:
    """Return the number of jobs with this tag and state, at most `most`; None for a caller who cannot list them."""
    try:
        if most is None:
            total = client.list_jobs(tag=tag, state=state, limit=1, total=True).total
            if total is not None and total.complete:
                return total.matching
        found = client.list_jobs(tag=tag, state=state, limit=most or 100)
        return sum(1 for _ in islice(found, most))
    except ForbiddenError:
        return None


def _chosen(tag: str | None, count: int | None, only_bulk: bool) -> str:
    """Return the jobs that a bulk change concerns, in words. `count` is their number, or the number of all
    paused jobs.
    """
    number = "" if count is None else f"{count:,} "
    if only_bulk:
        paused = "" if count is None else f" (at most {count:,})"
        return f"the jobs that a pause of {f'the tag {plain(tag)}' if tag else 'ALL jobs'} paused{paused}"
    if tag is None:
        return f"ALL {number}jobs"
    return f"the job tagged {plain(tag)}" if count == 1 else f"all {number}jobs tagged {plain(tag)}"


def _paused(tag: str | None) -> str:
    return shlex.join(["duecourse", "jobs", "list", *(["--tag", tag] if tag else []), "--state", "PAUSED"])


@jobs.command(cls=Command, example="duecourse jobs delete nightly --yes\nduecourse jobs delete --tag trial")
@click.argument("job_ids", metavar="[JOB]...", nargs=-1, callback=_once)
@click.option("--tag", help="All jobs with this tag.")
@yes_option
@named_options
def delete(
    job_ids: tuple[str, ...], tag: str | None, yes: bool, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Delete jobs, or all jobs with a tag. Their runs that have not started will never start. For several jobs, the
    plan is shown first. A job that has changed after the plan was made is not deleted.
    """
    if bool(job_ids) == bool(tag):
        raise UsageError("select jobs either by their ids (JOB …), or by --tag")
    with connected(api, sign) as client:
        if len(job_ids) != 1 or as_json:
            with awaited("making the plan …"):
                names = job_ids or [job.id for job in every_job(client, tag)]
                if not names:
                    raise CliError(plain(f"no job has the tag {tag}; check the jobs with duecourse jobs list"))
                with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
                    steps = [*map(removal, threads.map(lambda name: patient(partial(client.get_job, name)), names))]
            settle(client, workflows_first(steps), dry_run=False, yes=yes, as_json=as_json)
            return
        if not yes:
            confirm(f"Delete {job_ids[0]}, and its runs that have not started?")
        client.delete_job(job_ids[0])
    say(f"{job_ids[0]} deleted")


@jobs.command(cls=Command, example="duecourse jobs history nightly")
@click.argument("job_id", metavar="JOB")
@page_options("changes")
@list_options
def history(
    job_id: str, limit: int, cursor: str | None, output: str, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Show the changes to a job and who made them, newest first."""
    with connected(api, sign) as client:
        page = client.get_job_history(job_id, limit=limit, cursor=cursor)
    print_page(
        page,
        "changes",
        as_json=as_json,
        output=output,
        name="at",
        table=print_changes,
    )


def _show(job: Job, as_json: bool) -> None:
    if as_json:
        print_json(job)
    else:
        print_jobs([job])


for action in (apply, backfill, edit, export, patch, ping, run, skip_next, test_notice):
    jobs.add_command(action)
