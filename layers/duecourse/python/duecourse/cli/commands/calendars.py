"""`duecourse calendars`: list, show, put, import and delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import click

from duecourse.checks.jobs import last_day
from duecourse.cli.commands.listing import print_page
from duecourse.cli.commands.options import api_options, confirm, connected, named_options, page_options, yes_option
from duecourse.cli.imports.calendar_days import country_days, file_days, with_weekends
from duecourse.cli.imports.entry import LEFT_OUT
from duecourse.cli.output.documents import CalendarDays, ChangedCalendar
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.progress import awaited
from duecourse.cli.terminal import CliError, Command, Group, InterruptedCliError, UsageError, plain, read_text, say
from duecourse.cli.when import local_zone, moment
from duecourse.client import Client, PreconditionError
from duecourse.client.models import Calendar, PutCalendar

description_option = click.option("--description", default="", metavar="TEXT", help="The purpose of the calendar.")


@click.group(cls=Group, example="duecourse calendars import de-bank --country DE --years 2026-2028 --weekends")
def calendars() -> None:
    """List, show, write and delete calendars: named lists of excluded days that jobs share."""


@calendars.command("list", cls=Command, example="duecourse calendars list")
@page_options("calendars")
@named_options
def list_calendars(limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """List calendars."""
    with connected(api, sign) as client:
        page = client.list_calendars(limit=limit, cursor=cursor)
    print_page(page, "calendars", as_json=as_json, output="table", name="id", table=_print_calendars)


def _print_calendars(found: Sequence[Calendar]) -> None:
    rows = [(each.id, str(each.version), str(len(each.exclude)), each.description) for each in found]
    print_table(("calendar", "version", "entries", "description"), rows)


@calendars.command(cls=Command, example="duecourse calendars show de-bank")
@click.argument("calendar_id", metavar="CALENDAR")
@named_options
def show(calendar_id: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show the days of a calendar, and the jobs that use it."""
    with connected(api, sign) as client:
        found = client.get_calendar(calendar_id)
    if as_json:
        print_json(found)
        return
    changed = moment(found.updated_at, local_zone())
    click.echo(plain(f"{found.id}, version {found.version}, changed {changed} by {found.updated_by}"))
    click.echo("\n".join(f"    {entry}" for entry in found.exclude))
    click.echo(f"jobs: {', '.join(found.jobs) or 'none'}{' and more' if found.more_jobs else ''}")


@calendars.command(cls=Command, example="duecourse calendars put closed 2026-12-24/2027-01-01 '* * * * SAT,SUN'")
@click.argument("calendar_id", metavar="CALENDAR")
@click.argument("days", nargs=-1, required=True, metavar="DAYS...")
@description_option
@named_options
def put(
    calendar_id: str, days: tuple[str, ...], description: str, api: str | None, sign: bool | None, as_json: bool
) -> None:
    """Create or replace a calendar with dates, ranges, maintenance windows and cron expressions. Jobs that use it are
    updated.
    """
    with connected(api, sign) as client:
        _follow(client, client.put_calendar(calendar_id, days, description=description), as_json=as_json)


@calendars.command(cls=Command, example="duecourse calendars add erp 2026-12-01T22:00:00Z/2026-12-02T02:00:00Z")
@click.argument("calendar_id", metavar="CALENDAR")
@click.argument("days", nargs=-1, required=True, metavar="DAYS...")
@named_options
def add(calendar_id: str, days: tuple[str, ...], api: str | None, sign: bool | None, as_json: bool) -> None:
    """Add dates, ranges, maintenance windows and cron expressions to a calendar. Jobs that use it are updated."""
    with connected(api, sign) as client:
        _change(client, calendar_id, lambda found: [*found, *days], as_json=as_json)


@calendars.command(cls=Command, example="duecourse calendars remove erp 2026-12-01T22:00:00Z/2026-12-02T02:00:00Z")
@click.argument("calendar_id", metavar="CALENDAR")
@click.argument("days", nargs=-1, required=True, metavar="DAYS...")
@named_options
def remove(calendar_id: str, days: tuple[str, ...], api: str | None, sign: bool | None, as_json: bool) -> None:
    """Remove entries from a calendar. Write them as `calendars show` prints them. Jobs that use it are updated."""

    def left(found: Sequence[str]) -> list[str]:
        if unknown := [each for each in days if each not in found]:
            raise CliError(
                plain(f"{calendar_id} has no entry {unknown[0]}; see duecourse calendars show {calendar_id}")
            )
        kept = [each for each in found if each not in days]
        if not kept:
            raise CliError(
                plain(f"a calendar must have an entry; to delete it, run duecourse calendars delete {calendar_id}")
            )
        return kept

    with connected(api, sign) as client:
        _change(client, calendar_id, left, as_json=as_json)


@calendars.command(
    "import", cls=Command, example="duecourse calendars import de-bank --country DE --subdivision BE --years 2026-2028"
)
@click.argument("calendar_id", metavar="CALENDAR")
@click.argument("file", required=False)
@click.option("--country", metavar="CODE", help="Import the public holidays of a country, such as DE.")
@click.option("--subdivision", metavar="CODE", help="Also import the holidays of a part of the country, such as BE.")
@click.option("--years", metavar="YEARS", help="The years of the holidays, such as 2026-2028.")
@click.option(
    "--timezone", metavar="ZONE", help="The time zone of times in UTC in FILE.  [default: X-WR-TIMEZONE of the file]"
)
@click.option("--weekends", is_flag=True, help="Also exclude all Saturdays and Sundays.")
@click.option("--dry-run", is_flag=True, help="Print the days; write nothing.")
@description_option
@named_options
def import_(
    calendar_id: str,
    file: str | None,
    country: str | None,
    subdivision: str | None,
    years: str | None,
    timezone: str | None,
    weekends: bool,
    dry_run: bool,
    description: str,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Create or replace a calendar from an iCalendar file, or with the public holidays of a country.

    Jobs that use it are updated. Needs the extra duecourse[calendars]. The exit code is 3 if an event was not imported.
    """
    if (file is None) == (country is None):
        raise UsageError("the days must come from one source; give either FILE or --country")
    if country is not None and years is None:
        raise UsageError("--years is missing; write for example --years 2026-2028")
    if country is None and (subdivision or years):
        raise UsageError("--subdivision and --years can be used only with --country; remove them")
    if country is not None and timezone is not None:
        raise UsageError("--timezone can be used only with FILE; remove it")
    left: list[str] = []
    if file is not None:
        days, left = file_days(read_text(file).encode(), zone=timezone, today=datetime.now(UTC).date())
        for reason in left:
            click.echo(plain(f"not imported: {reason}"), err=True)
    else:
        days = country_days(country or "", subdivision, years or "")
    if weekends:
        days = with_weekends(days)
    if not days:
        raise UsageError("there are no days to import, so nothing was written")
    if dry_run:
        print_json(CalendarDays(id=calendar_id, exclude=list(days))) if as_json else click.echo("\n".join(days))
    else:
        with connected(api, sign) as client:
            _follow(client, client.put_calendar(calendar_id, days, description=description), as_json=as_json)
    if left:
        raise SystemExit(LEFT_OUT)


@calendars.command(cls=Command, example="duecourse calendars delete de-bank")
@click.argument("calendar_id", metavar="CALENDAR")
@yes_option
@api_options
def delete(calendar_id: str, yes: bool, api: str | None, sign: bool | None) -> None:
    """Delete a calendar that no job uses."""
    with connected(api, sign) as client:
        if not yes:
            confirm(plain(f"Delete the calendar {calendar_id}?"))
        client.delete_calendar(calendar_id)
    say(plain(f"{calendar_id} is deleted"))


CHANGE_TRIES = 5


def _change(client: Client, calendar_id: str, change: Callable[[Sequence[str]], list[str]], *, as_json: bool) -> None:
    """Change the entries of a calendar. If another request changes them at the same time, read them again."""
    for left in reversed(range(CHANGE_TRIES)):
        found = client.get_calendar(calendar_id)
        try:
            made = client.put_calendar(
                calendar_id, change(found.exclude), description=found.description, if_match=found.etag
            )
        except PreconditionError:
            if not left:
                raise
        else:
            _follow(client, made, as_json=as_json)
            return


def _follow(client: Client, made: PutCalendar, *, as_json: bool) -> None:
    """Continue until all jobs of the calendar have its days, and print the calendar. Raises InterruptedCliError after
    Ctrl-C.
    """
    calendar_id, changed, failed = made.id, made.changed, list(made.failed)
    try:
        with awaited("changing the jobs of the calendar …"):
            while made.next_cursor is not None:
                made = client.put_calendar(
                    calendar_id, made.exclude, description=made.description, cursor=made.next_cursor
                )
                changed, failed = changed + made.changed, failed + list(made.failed)
    except KeyboardInterrupt:
        done = f"{calendar_id} is written, and {changed:,} of its jobs are changed"
        raise InterruptedCliError(plain(f"interrupted; {done}; repeat the command to change the others")) from None
    if as_json:
        print_json(made, ChangedCalendar(changed=changed, failed=failed))
        return
    end = last_day(made.exclude)
    ends = "" if end is None else f", the last date is {end}"
    entries = f"{len(made.exclude)} entr{'y' if len(made.exclude) == 1 else 'ies'}"
    say(plain(f"{calendar_id} has version {made.version} with {entries}{ends}; jobs changed: {changed:,}"))
    if failed:
        say(plain(f"not changed: {', '.join(failed)}; see duecourse jobs get, then repeat the command"))
