"""The common parts of all list commands: pages and their output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, TypedDict, TypeVar

import click

from duecourse.cli.output.documents import Listed, Total
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import CliError, UsageError, plain, say
from duecourse.cli.when import instant_of, local_zone
from duecourse.client import Client, Page
from duecourse.client.reading import Answer

A = TypeVar("A", bound=Answer)
F = TypeVar("F", bound=Callable[..., Any])

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "name"]),
    default="table",
    show_default=True,
    help="`wide`: all columns, and values are not truncated; `name`: only ids, one per line.",
)


wide_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide"]),
    default="table",
    show_default=True,
    help="`wide`: values are not truncated.",
)


class RunFilters(TypedDict):
    """The filter of runs for the API."""

    job_id: str | None
    since: datetime | None
    until: datetime | None
    tag: str | None
    error: str | None


def run_filter(event: str) -> Callable[[F], F]:
    """Return a decorator that adds the options that filter runs, which ChosenRuns takes. `event`: what the runs did at
    the filtered time.
    """
    options = (
        click.option("--job", "job_id", metavar="JOB", help="Only runs of this job."),
        click.option(
            "--since", metavar="TIME", help=f"Only runs that {event} at this time or later: today, 3h, 02:30, ISO-8601."
        ),
        click.option("--until", metavar="TIME", help=f"Only runs that {event} before this time."),
        click.option("--tag", help="Only runs of jobs with this tag."),
        click.option("--error", metavar="TEXT", help="Only runs with this text in the error."),
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The filter of runs, with the values of the options."""

    job_id: str | None
    since: str | None
    until: str | None
    tag: str | None
    error: str | None

    def options(self) -> list[str]:
        """Return the names of the options that have a value."""
        return [f"--{name.removesuffix('_id')}" for name, text in asdict(self).items() if text]

    def filters(self) -> RunFilters:
        """Return the filter for the API. Raises UsageError for an invalid time."""
        since, until = instant_option("since", self.since), instant_option("until", self.until)
        return {"job_id": self.job_id, "since": since, "until": until, "tag": self.tag, "error": self.error}

    def __str__(self) -> str:
        said = (("since", self.since), ("until", self.until), ("tagged", self.tag), ("with the error", self.error))
        return (self.job_id or "ALL jobs") + "".join(f" {word} {text}" for word, text in said if text)


def unlisted(states: Sequence[str], job_id: str | None) -> str | None:
    """Return a sentence about the runs in these states that a list across jobs omits, or None if it omits none."""
    if job_id is not None:
        return None
    omitted = ["delayed runs and enqueued occurrences"] * ("QUEUED" in states)
    omitted += ["calls of less than ten seconds"] * ("RUNNING" in states and "SUCCEEDED" not in states)
    if not omitted:
        return None
    return f"Not listed across jobs: {', '.join(omitted)}. To list them for a job, name the JOB."


def check_tag(client: Client, tag: str | None) -> None:
    """Raise CliError if no job has the tag. A command calls this if it has found nothing."""
    if tag is not None and not client.list_jobs(tag=tag, limit=1).items:
        raise CliError(
            plain(f"no job has the tag {tag}, so nothing was changed; check the jobs with duecourse jobs list")
        )


def print_page(
    page: Page[A], *, as_json: bool, output: str, name: str, table: Callable[[Sequence[A]], None], more: str
) -> None:
    """Print a page in the requested format. A table is followed by the command for the next page (`more`, without the
    cursor).
    """
    if as_json:
        listed = Listed(items=[item.document for item in page.items], next_cursor=page.next_cursor)
        if (total := page.total) is not None:
            listed["total"] = Total(matching=total.matching, searched=total.searched, complete=total.complete)
        print_json(listed)
        return
    if output == "name":
        for item in page.items:
            click.echo(plain(str(getattr(item, name))))
        return
    table(page.items)
    if page.total is not None:
        say(f"{page.total.matching:,} of {page.total.searched:,} jobs{'' if page.total.complete else ', and more'}")
    if page.next_cursor:
        say(f"more: {more} --cursor {page.next_cursor}")


def instant_option(option: str, text: str | None, zone: tzinfo | None = None) -> datetime | None:
    """Return the instant of an option. A time of day is in `zone`, or else in this machine's time zone. Raises
    UsageError.
    """
    if text is None:
        return None
    try:
        return instant_of(text, zone or local_zone(), datetime.now(UTC))
    except ValueError as error:
        raise UsageError(f"--{option}: {error}") from None
