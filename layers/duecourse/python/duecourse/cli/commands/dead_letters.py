"""`duecourse dead-letters`: runs that used up their attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from duecourse.cli.commands.options import answer_options, confirm, connected, page_options, yes_option
from duecourse.cli.output import print_dead_letters, print_json
from duecourse.cli.terminal import Command, Group, UsageError, say
from duecourse.client import Client
from duecourse.client.models import Run
from duecourse.domain.schedules import ScheduleError
from duecourse.domain.schedules.parsed_input import read_instant

MAX_PER_CALL = 100
"""How many runs one call redrives: some seconds of the API's time."""

MAX_PAGES = 10
"""Pages of dead runs that are counted for a question."""

job_option = click.option("--job", "job_id", metavar="JOB", help="Only the runs of this job.")


@click.group("dead-letters", cls=Group, example="duecourse dead-letters list --job nightly")
def dead_letters() -> None:
    """List and redrive dead runs."""


@dead_letters.command("list", cls=Command, example="duecourse dead-letters list --job nightly --limit 5")
@job_option
@page_options("runs")
@answer_options
def list_dead(
    job_id: str | None, limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Show dead runs, the latest death first."""
    with connected(api, sign) as client:
        page = client.list_dead_runs(job_id=job_id, limit=limit, cursor=cursor)
    if as_json:
        print_json({"items": [run.document for run in page.items], "next_cursor": page.next_cursor})
        return
    print_dead_letters(page.items)
    if page.next_cursor:
        of_job = f" --job {job_id}" if job_id else ""
        say(f"more: duecourse dead-letters list{of_job} --cursor {page.next_cursor}")


@dead_letters.command(
    cls=Command, example="duecourse dead-letters redrive --job nightly --since 2026-11-21T00:00:00Z --yes"
)
@job_option
@click.option("--since", metavar="INSTANT", help="Only what died from this instant on (ISO-8601).")
@click.option("--until", metavar="INSTANT", help="Only what died before this instant (ISO-8601).")
@click.option("--limit", type=click.IntRange(1), help="How many runs at most.  [default: all]")
@yes_option
@answer_options
def redrive(
    job_id: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    yes: bool,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Give dead runs a fresh allowance of attempts."""
    died = _Died(_instant("since", since), _instant("until", until))
    with connected(api, sign) as client:
        if not yes and (count := _count(client, job_id, died)):
            confirm(_question(count, job_id, since, until, limit))
        done = _redriven(client, job_id, since, until, limit)
    if as_json:
        print_json(done)
        return
    refused = f", {done['refused']} could not be" if done["refused"] else ""
    click.echo(f"{done['redriven']} redriven{refused}" + ("; there are more of them" if done["more"] else ""))


def _redriven(
    client: Client, job_id: str | None, since: str | None, until: str | None, limit: int | None
) -> dict[str, Any]:
    """The sums of as many calls as it takes. Each goes on where the one before ended: a run stays in the list until its
    worker has started it again.
    """
    redriven = refused = 0
    cursor = None
    while True:
        left = MAX_PER_CALL if limit is None else min(limit - redriven - refused, MAX_PER_CALL)
        done = client.redrive_dead_runs(job_id=job_id, since=since, until=until, limit=left, cursor=cursor)
        redriven, refused, cursor = redriven + done.redriven, refused + done.refused, done.next_cursor
        if cursor is None or (limit is not None and redriven + refused >= limit):
            return {"redriven": redriven, "refused": refused, "more": done.more}


@dataclass(frozen=True, slots=True)
class _Died:
    """From when on and before when (UTC seconds), as far as that is asked for."""

    since: int | None
    until: int | None

    def includes(self, run: Run) -> bool:
        """Whether the run died then; one that does not say so may have."""
        at = None if run.finished_at is None else run.finished_at.timestamp()
        return at is None or ((self.since is None or self.since <= at) and (self.until is None or at < self.until))


def _instant(option: str, text: str | None) -> int | None:
    try:
        return None if text is None else read_instant(option, text)
    except ScheduleError as error:
        raise UsageError(f"--{option}: {error.detail}") from None


def _count(client: Client, job_id: str | None, died: _Died) -> str:
    """How many runs those are; of very many not all are counted. Empty for none."""
    count, cursor = 0, None
    for _ in range(MAX_PAGES):
        page = client.list_dead_runs(job_id=job_id, limit=MAX_PER_CALL, cursor=cursor)
        count, cursor = count + sum(map(died.includes, page.items)), page.next_cursor
        if cursor is None:
            return str(count or "")
    return f"at least {count}"


def _question(count: str, job_id: str | None, since: str | None, until: str | None, limit: int | None) -> str:
    some = limit is not None and (not count.isdigit() or limit < int(count))
    runs = f"dead run{'s' * (count != '1')} of {job_id or 'ALL jobs'}"
    when = (f" since {since}" if since else "") + (f" until {until}" if until else "")
    return f"Redrive {f'{limit} of ' if some else ''}{count} {runs}{when}?"
