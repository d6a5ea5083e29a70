"""`duecourse next`: show when a schedule fires. Without --calendar it needs neither AWS nor a running stack nor any
configuration.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import click

from duecourse.cli.cases import DEFAULT_COUNT, MAX_COUNT, answer_cases
from duecourse.cli.terminal import Command, UsageError, form, outputs
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.exclusions import ExclusionError
from duecourse_schedules.instant import iso
from duecourse_schedules.schedule import counted_from, joined, read_instant

if TYPE_CHECKING:
    from duecourse.cli.output.documents import Document

EXAMPLE = 'duecourse next "30 2 * * *" --tz America/New_York --after 2026-03-07T00:00:00Z --count 3'
QUOTED = 'duecourse next "0 9 * * 1"'
OPTIONS = {"timezone": "--tz", "dst_gap": "--dst-gap", "dst_fold": "--dst-fold", "on_excluded": "--on-excluded"}
"""The options of the engine's fields with another name."""


# click receives the values as plain text, so that the schedule engine reports all errors, in one line.
@click.command("next", cls=Command, example=EXAMPLE)
@click.argument("schedules", metavar="SCHEDULE...", nargs=-1)
@click.option(
    "--tz",
    "--timezone",
    "tz",
    default="UTC",
    show_default=True,
    metavar="ZONE",
    help="IANA time zone, such as Europe/Berlin.",
)
@click.option("--after", metavar="INSTANT", help="Only occurrences after this instant (ISO-8601).  [default: now]")
@click.option(
    "--count",
    default=str(DEFAULT_COUNT),
    show_default=True,
    metavar="N",
    help=f"The number of occurrences, 1 to {MAX_COUNT}.",
)
@click.option("--start", metavar="INSTANT", help="The window starts at this instant.")
@click.option("--end", metavar="INSTANT", help="The window ends before this instant.")
@click.option(
    "--dst-gap",
    default="next",
    show_default=True,
    metavar="next|skip",
    help="How to handle times that the clock skips.",
)
@click.option(
    "--dst-fold",
    default="first",
    show_default=True,
    metavar="first|second|both",
    help="How to handle times that the clock shows twice.",
)
@click.option(
    "--anchor", metavar="INSTANT", help="The starting point of a rate.  [default: --start, otherwise --after]"
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="DAYS",
    help="A date, a range of dates (2026-12-24/2027-01-01), a cron expression or an instant at which the job does not "
    "run; repeatable.",
)
@click.option(
    "--calendar",
    "calendars",
    multiple=True,
    metavar="CALENDAR",
    help="Also exclude the days of this calendar, which is read from the API; repeatable.",
)
@click.option(
    "--on-excluded",
    default="skip",
    show_default=True,
    metavar="skip|previous|next",
    help="Skip an occurrence on an excluded day, or move it to the previous or next day.",
)
@outputs()
@click.option("--jsonl", is_flag=True, help="Read cases from standard input, one JSON object per line.")
def next_command(
    schedules: tuple[str, ...],
    after: str | None,
    count: str,
    exclude: tuple[str, ...],
    calendars: tuple[str, ...],
    as_json: bool,
    jsonl: bool,
    **more: str,
) -> None:
    """Show the next occurrences of a schedule, and the effects of daylight saving.

    SCHEDULE is cron such as "0 9 * * 1", "rate(5 minutes)", "at(2026-01-31T09:00:00)" or another form, in quotes. A
    job can have several. The output also describes the schedule in words. The command needs neither AWS nor a running
    stack, except for --calendar.

    With --jsonl each line of standard input is a case {"expr", "tz"?, "after", "count"?, "anchor"?, "start"?, "end"?,
    "dst_gap"?, "dst_fold"?}. The output has one line for each case, in the same order: {"next": [instants]} or
    {"error": "..."}. A line that is not a case, even an empty line, results in an error.
    """
    if jsonl:
        if schedules:
            raise UsageError("--jsonl reads schedules from standard input; remove SCHEDULE")
        _answer_cases()
        return
    if not schedules:
        raise UsageError(f"schedule: is missing; run a command such as {QUOTED}")
    from duecourse.cli.preview_text import preview_text
    from duecourse_schedules.preview import preview_schedule

    try:
        since = int(time.time()) if after is None else read_instant("after", after)
        spec = counted_from(_spec(schedules, **more), since)
        if calendars:
            exclude = (*exclude, *_days(calendars))
        preview = preview_schedule(spec, since, _count(count), exclude)
    except ExclusionError as error:
        raise UsageError(f"--exclude: {error.detail}") from None
    except ScheduleError as error:
        name = OPTIONS.get(error.field, _named(error.field))
        split = name == "schedule" and len(schedules) > 1 and not any(" " in each for each in schedules)
        quotes = f"; put each schedule in quotes: {QUOTED}" if split else ""
        raise UsageError(
            f"{name if error.index is None else f'{name}[{error.index}]'}: {error.detail}{quotes}"
        ) from None
    if form() == "name":
        for entry in preview.entries:
            if entry.instant is not None and entry.mark != "excluded":
                click.echo(f"{iso(entry.instant)}Z")
    elif as_json:
        from duecourse.cli.output.values import print_json

        print_json(cast("Document", preview.document()))
    else:
        click.echo(preview_text(preview, spec, since))


def _days(calendars: Sequence[str]) -> list[str]:
    """Return the days of calendars. The API is that of the environment or of a profile."""
    from duecourse.cli.commands.options import connected

    with connected(os.environ.get("DUECOURSE_API"), None) as client:
        return [day for each in calendars for day in client.get_calendar(each).exclude]


def _spec(
    schedules: tuple[str, ...],
    tz: str,
    dst_gap: str,
    dst_fold: str,
    anchor: str | None,
    start: str | None,
    end: str | None,
    on_excluded: str,
) -> ScheduleSpec:
    def instant(field: str, text: str | None) -> int | None:
        return None if text is None else read_instant(field, text)

    times = instant("anchor", anchor), instant("start", start), instant("end", end)
    return ScheduleSpec(
        joined(schedules[0] if len(schedules) == 1 else schedules), tz, dst_gap, dst_fold, *times, on_excluded
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_COUNT):
        raise ScheduleError("count", f"must be a whole number from 1 to {MAX_COUNT}")
    return int(text)


def _named(field: str) -> str:
    return field if field == "schedule" else f"--{field}"


def _answer_cases() -> None:
    try:
        answer_cases(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, the interpreter prints an error when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
