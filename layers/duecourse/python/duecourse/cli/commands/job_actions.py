"""`duecourse jobs run|backfill|skip-next`: runs outside a job's schedule."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import click

from duecourse.cli.commands.listing import instant_option
from duecourse.cli.commands.options import answer_options, confirm, connected, named_options, yes_option
from duecourse.cli.commands.watch import POLL_SECONDS, finish, followed, timeout_option, zone_of_job
from duecourse.cli.fields import number_option
from duecourse.cli.manifests.json_text import read_json
from duecourse.cli.output.runs import print_found_runs
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import CliError, Command, UsageError, plain, read_text, say
from duecourse.cli.when import duration_of, local_zone, moment
from duecourse.client.models import WorkflowRun


@click.command(cls=Command, example="duecourse jobs run nightly --wait")
@click.argument("job_id", metavar="JOB")
@click.option(
    "--payload", help="JSON that replaces the job's payload for this run; @FILE reads it from a file, @- from stdin."
)
@click.option("--key", help="An idempotency key: a repeated request with the same key returns the same run.")
@click.option("--at", help="The start: an instant with an offset, or a time in the job's zone (2026-12-24T18:00:00).")
@click.option("--in", "delay", metavar="TIME", help="The delay until the start: 90s, 15m, 2h, 3d.")
@click.option(
    "--wait", is_flag=True, help="Wait for the end of the run; the exit code is 0 if it succeeds, otherwise 1."
)
@timeout_option
@named_options
def run(
    job_id: str,
    payload: str | None,
    key: str | None,
    at: str | None,
    delay: str | None,
    wait: bool,
    timeout: float | None,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Run a job now or later, independently of its schedule and even if it is paused. A paused step of a workflow runs
    after it is resumed.
    """
    seconds = None if delay is None else seconds_of(delay)
    if at is not None and seconds is not None:
        raise UsageError("--at and --in cannot be combined; use one of them")
    given = None if payload is None else payload_of(payload)
    with connected(api, sign) as client:
        started = client.run_job(job_id, payload=given, idempotency_key=key, at=at, delay_seconds=seconds)
        due = "" if at is None and seconds is None else f", due {moment(started.due, local_zone())}"
        if not as_json:
            say(f"{started.id} is {started.state}{due}")
        if wait:
            ended = followed(client, started.id, POLL_SECONDS, timeout, quiet=as_json)
            ended = client.get_run(started.id) if as_json and isinstance(ended, WorkflowRun) else ended
            finish(client, ended, timeout, as_json=as_json)
        elif as_json:
            print_json(started)


@click.command("test-notice", cls=Command, example="duecourse jobs test-notice nightly")
@click.argument("job_id", metavar="JOB")
@answer_options
def test_notice(job_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Send a test notice as configured in the job's notify field."""
    with connected(api, sign) as client:
        sent = client.send_test_notice(job_id)
    if as_json:
        print_json(sent)
    else:
        for run in sent.runs:
            say(f"{run.id} delivers the test notice")
    if not sent.runs and not sent.missing:
        raise CliError(plain(f"{job_id} has no notify field, so no notice was sent; set it first"))
    if sent.missing:
        missing = ", ".join(sent.missing)
        raise CliError(plain(f"notify names jobs that do not exist: {missing}; create them, or correct notify"))


def payload_of(text: str) -> Any:
    """Return the payload in a JSON text, or in the file after an `@`, which no JSON begins with. Raises UsageError,
    also for null, which the client does not send.
    """
    try:
        payload = read_json(read_text(text[1:]) if text.startswith("@") else text)
    except ValueError as error:
        remedy = "correct it, or write @FILE for the JSON in a file"
        raise UsageError(plain(f"--payload: {error}; {remedy}")) from error
    if payload is None:
        raise UsageError("--payload: null is not possible here; send it with POST or PATCH over HTTP")
    return payload


def seconds_of(text: str) -> int:
    """Return the seconds of `2h`. Raises UsageError."""
    try:
        return int(duration_of(text).total_seconds())
    except ValueError as error:
        raise UsageError(f"--in: {error}") from None


@click.command("skip-next", cls=Command, example="duecourse jobs skip-next nightly --count 2")
@click.argument("job_id", metavar="JOB")
@click.option("--count", type=click.IntRange(1, 100), default=1, show_default=True, help="The number of occurrences.")
@named_options
def skip_next(job_id: str, count: int, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Skip the next occurrences of a job; later occurrences run."""
    with connected(api, sign) as client:
        skipped = client.skip_next(job_id, count=count)
    if as_json:
        print_json(skipped)
    else:
        print_found_runs(skipped.items)


@click.command(cls=Command, example="duecourse jobs ping backup-silent")
@click.argument("job_id", metavar="JOB")
@click.option("--occurrence", metavar="TIME", help="For a shadow job: the occurrence, such as 2026-11-21T12:00Z.")
@named_options
def ping(job_id: str, occurrence: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Ping a job that expects pings (expect_every), so that it does not run for another interval, or a shadow of
    another scheduler (see `duecourse shadow`).
    """
    with connected(api, sign) as client:
        pinged = client.ping_job(job_id, occurrence=occurrence)
    if as_json:
        print_json(pinged)
    elif pinged.shadow_since is not None:
        say(f"the ping of {job_id} is stored; compare it: duecourse shadow report {job_id}")
    else:
        say(f"{job_id} runs at {moment(pinged.next_occurrence, local_zone())} unless another ping arrives")


BACKFILL_EXAMPLE = """\
duecourse jobs backfill nightly --from 2026-11-01 --to 2026-11-08
duecourse jobs backfill hourly --from yesterday --to today"""


@click.command(cls=Command, example=BACKFILL_EXAMPLE)
@click.argument("job_id", metavar="JOB")
@click.option(
    "--from",
    "begin",
    metavar="TIME",
    required=True,
    help="The first instant, in the job's zone: 2026-11-01, yesterday, yesterday 09:00, 3h, ISO-8601.",
)
@click.option("--to", "end", metavar="TIME", required=True, help="The instant at which the range ends (exclusive).")
@number_option("--pace", "BackfillRequest", "pace_seconds", "Seconds between two starts.")
@number_option("--at-once", "BackfillRequest", "at_once")
@click.option("--newest-first", is_flag=True, help="Start with the newest occurrence.")
@click.option(
    "--only",
    type=click.Choice(["missing", "failed", "all"]),
    default="missing",
    show_default=True,
    help="The occurrences to run. missing: without a run, or skipped because they were late; failed: with a dead run; "
    "all: every occurrence.",
)
@click.option("--force-new-key", is_flag=True, help="Use idempotency keys other than those of the scheduled runs.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the number of runs, the end time and the estimated cost, without starting runs.",
)
@yes_option
@answer_options
def backfill(
    job_id: str,
    begin: str,
    end: str,
    pace: int | None,
    at_once: int | None,
    newest_first: bool,
    only: Literal["missing", "failed", "all"],
    force_new_key: bool,
    dry_run: bool,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Run the occurrences of a range in the past. The number of runs and the estimated cost are shown first.

    The default is to run only occurrences that have no run, or were skipped because they were late. Each run has the
    idempotency key of the scheduled run, so that a handler does not repeat completed work.
    """
    with connected(api, sign) as client:
        zone = zone_of_job(client, job_id)
        first, last = instant_option("from", begin, zone), instant_option("to", end, zone)
        assert first is not None and last is not None  # noqa: PT018, S101 - both are required
        ask = partial(
            client.backfill_job,
            job_id,
            first,
            last,
            pace_seconds=pace,
            at_once=at_once,
            newest_first=newest_first,
            only=only,
            force_new_key=force_new_key,
        )
        found = ask(dry_run=True)
        dollars = found.estimated_cost_usd
        price = "less than $0.01" if dollars < 0.01 else f"about ${dollars:,.2f}"
        number = f"{found.count:,} run{'s' * (found.count != 1)}"
        most = "" if found.at_once is None else f", at most {found.at_once} at a time"
        told = f"{number} of {job_id}, the last one at {moment(found.ends_at, zone)}{most}, {price}"
        if not as_json and found.results is not None:
            counts = [f"{count:,} {name}" for name, count in found.results.document.items() if count]
            say(f"Occurrences in the range: {', '.join(counts) or 'none'}.")
        if dry_run or not found.count:
            which = "" if only == "all" else f"{only} "
            said = told if found.count else f"{job_id} has no {which}occurrence in this range"
            print_json(found) if as_json else say(f"{said}; nothing was started")
            return
        if not yes:
            confirm(f"Start {told}?")
        found = ask(dry_run=False)
    if as_json:
        print_json(found)
    else:
        are = "s are" if found.count != 1 else " is"
        say(f"{found.count:,} run{are} started; follow them: duecourse runs watch {job_id}{found.suffix}")
