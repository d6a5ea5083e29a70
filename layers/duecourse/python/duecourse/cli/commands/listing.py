"""The common parts of all list commands: pages and their output."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, Generic, TypedDict, TypeVar

import click
from click.core import ParameterSource

from duecourse.cli.output.documents import Listed, Total
from duecourse.cli.output.values import print_items, print_json
from duecourse.cli.terminal import CliError, InterruptedCliError, UsageError, form, plain, say
from duecourse.cli.when import instant_of, local_zone
from duecourse.client import Client, Page
from duecourse.client.reading import Answer

A = TypeVar("A", bound=Answer)
F = TypeVar("F", bound=Callable[..., Any])


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
    omitted = ["enqueued occurrences"] * ("QUEUED" in states)
    omitted += ["calls of less than ten seconds"] * ("RUNNING" in states and "SUCCEEDED" not in states)
    if not omitted:
        return None
    return f"Not listed across jobs: {', '.join(omitted)}. To list them for a job, name the JOB."


def check_tag(client: Client, tag: str | None) -> None:
    """Raise CliError if no job has the tag. A command calls this if it has found nothing."""
    if tag is not None and next(iter(client.list_jobs(tag=tag, limit=1)), None) is None:
        raise CliError(
            plain(f"no job has the tag {tag}, so nothing was changed; check the jobs with duecourse jobs list")
        )


def print_page(
    page: Page[A], items: str, *, as_json: bool, output: str, name: str, table: Callable[[Sequence[A]], None]
) -> None:
    """Print a page in the requested format. A table is followed by the command for the next page. `items` names what is
    listed, for an empty table.
    """
    if as_json:
        listed = Listed(items=[item.document for item in page.items], next_cursor=page.next_cursor)
        if (total := total_of(page)) is not None:
            listed["total"] = total
        if page.complete is not None:
            listed["complete"] = page.complete
        if page.unreadable:
            listed["unreadable"] = list(page.unreadable)
        print_json(listed)
        return
    if output == "name":
        for item in page.items:
            click.echo(plain(str(getattr(item, name))))
        return
    if page.items:
        table(page.items)
    elif items:
        say(f"No {items} on this page match." if page.next_cursor else f"No {items} match.")
    if page.total is not None:
        say(f"{page.total.matching:,} of {page.total.searched:,} jobs{'' if page.total.complete else ', and more'}")
    if page.unreadable:
        say(f"Not listed, because the stage's release cannot read them: {', '.join(page.unreadable)}")
    if page.next_cursor:
        say(f"more: {shlex.join([*_given(), '--cursor', page.next_cursor])}")


def print_pages(
    first: Page[A],
    items: str,
    *,
    as_json: bool,
    output: str,
    name: str,
    table: Callable[[Sequence[A], dict[str, int] | None], None],
) -> None:
    """Print a page and all later ones like `print_page`, each before the next is read. `table` also receives the frame
    of a table with several pages. Raises InterruptedCliError after Ctrl-C, with the command that continues.
    """
    read = _Reading(first)
    frame: dict[str, int] | None = {} if first.next_cursor else None
    try:
        if as_json:
            rest: dict[str, object] = {"next_cursor": None}
            if (counted := total_of(first)) is not None:
                rest["total"] = counted
            print_items({}, read.documents(rest), rest)
            return
        for page in read.pages():
            is_last = page.next_cursor is None
            print_page(
                Page(
                    page.items,
                    None,
                    total=first.total if is_last else None,
                    unreadable=tuple(read.unreadable) if is_last else (),
                ),
                items if is_last and not read.count else "",
                as_json=False,
                output=output,
                name=name,
                table=lambda found: table(found, frame),
            )
    except KeyboardInterrupt:
        raise InterruptedCliError(plain(f"interrupted after {read.count:,} {items}{read.rest()}")) from None


@dataclass
class _Reading(Generic[A]):
    """Reads pages, and knows how many items of them were printed."""

    first: Page[A]
    count: int = 0
    cursor: str | None = None
    unreadable: list[str] = field(default_factory=list)

    def pages(self) -> Iterator[Page[A]]:
        """Yield the pages."""
        for page in self.first.pages():
            self.unreadable += page.unreadable
            yield page
            self.count, self.cursor = self.count + len(page.items), page.next_cursor

    def documents(self, rest: dict[str, object]) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the documents of the items, page by page. Then add the unreadable jobs, if any, to `rest`."""
        for page in self.pages():
            yield [item.document for item in page.items]
        if self.unreadable:
            rest["unreadable"] = self.unreadable

    def rest(self) -> str:
        """Return the command that prints the other items, if any were printed."""
        return "" if self.cursor is None else f"; the others: {shlex.join([*_given(), '--cursor', self.cursor])}"


def total_of(page: Page[Any]) -> Total | None:
    """Return the number of matching jobs of a list, and whether all jobs were searched; None if it was not counted."""
    total = page.total
    if total is None:
        return None
    return Total(matching=total.matching, searched=total.searched, complete=total.complete)


def _given() -> Iterator[str]:
    """Yield the words of this command, without its cursor and token."""
    context = click.get_current_context()
    yield from context.command_path.split()
    for param in context.command.params:
        name = param.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name in ("cursor", "token"):
            continue
        value = context.params.get(name, form())
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(param, click.Argument):
                yield str(each)
            elif isinstance(each, bool):
                yield param.opts[0] if each else param.secondary_opts[0]
            else:
                yield from (max(param.opts, key=len), str(each))


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
