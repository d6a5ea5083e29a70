"""`duecourse limits`: list, show, set, delete and release."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from duecourse.cli.commands.listing import print_page
from duecourse.cli.commands.options import api_options, confirm, connected, named_options, page_options, yes_option
from duecourse.cli.fields import number_option
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, Group, UsageError, fitted, plain, say
from duecourse.client import Client
from duecourse.client.bodies import LimitBreaker, LimitRate
from duecourse.client.models import ListedLimit, Run, SingleLimit

NEWEST = 100
SHOWN = 10
"""The number of waiting runs that `show` prints."""
COUNTED = 1000
"""The maximum number of runs that wait for a place which the API counts."""


@click.group(cls=Group, example="duecourse limits set crm-eu 5")
def limits() -> None:
    """List, show, set and delete the limits of keys, release places, and hold and close keys."""


@limits.command("list", cls=Command, example="duecourse limits list")
@page_options("keys")
@named_options
def list_limits(limit: int, cursor: str | None, api: str | None, sign: bool | None, as_json: bool) -> None:
    """List the keys with a stored limit or with waiting runs."""
    with connected(api, sign) as client:
        page = client.list_limits(limit=limit, cursor=cursor)
    print_page(page, "limits", as_json=as_json, output="table", name="key", table=_print_limits)
    if page.complete is False and not as_json:
        say("Only the newest waiting runs were examined: other keys may have waiting runs, and these keys more.")


def _print_limits(found: Sequence[ListedLimit]) -> None:
    rows = [
        (
            *(each.key, _limit(each.concurrency), _rate(each)),
            *(str(each.waiting), str(each.waiting_for_rate), str(each.waiting_for_breaker), each.updated_by or ""),
        )
        for each in found
    ]
    print_table(
        ("key", "limit", "rate", "waiting", "waiting for rate", "for breaker", "set by"), rows, spare=("set by",)
    )


@limits.command(cls=Command, example="duecourse limits show crm-eu")
@click.argument("key", metavar="KEY")
@named_options
def show(key: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Show the limit of a key, its active runs, and the first runs that wait."""
    with connected(api, sign) as client:
        found = client.get_limit(key)
        guarded = [] if as_json or not found.waiting_for_breaker else _guarded(client, key)
    _show(found, as_json=as_json)
    if as_json:
        return
    if found.active:
        print_table(
            ("active", "state", "started"),
            [(each.id, each.state or "STARTING", each.started_at) for each in found.active],
        )
    if found.queue:
        print_table(("place", "waiting", "due"), [(str(each.place), each.id, each.due) for each in found.queue[:SHOWN]])
    if found.rate_queue:
        rated = [(each.id, each.next_attempt_at) for each in found.rate_queue[:SHOWN]]
        print_table(("waiting for the rate", "until"), rated)
    if guarded:
        print_table(
            ("waiting for the circuit breaker", "until"), [(each.id, each.next_attempt_at) for each in guarded[:SHOWN]]
        )
    if guarded or found.breaker_state == "open":
        say(f"close the circuit breaker: {shlex.join(['duecourse', 'limits', 'close', key])}")


def _guarded(client: Client, key: str) -> list[Run]:
    """Return the runs that wait for the circuit breaker, among the newest NEWEST waiting runs of all jobs."""
    waiting = client.find_runs(state=["QUEUED", "RETRYING"], limit=NEWEST).items
    return [run for run in waiting if run.waiting_for == "breaker" and run.breaker_key == key]


@limits.command("set", cls=Command, example="duecourse limits set crm-eu 5")
@click.argument("key", metavar="KEY")
@click.argument("concurrency", metavar="[NUMBER]", type=int, required=False)
@number_option("--per-minute", "LimitRate", "per_minute")
@number_option("--burst", "LimitRate", "burst")
@number_option("--failures", "LimitBreaker", "failures")
@number_option("--open-seconds", "LimitBreaker", "open_seconds")
@named_options
def set_limit(
    key: str,
    concurrency: int | None,
    per_minute: int | None,
    burst: int | None,
    failures: int | None,
    open_seconds: int | None,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Set the limit of active runs with a key (0: no run starts), the rate of its attempts, and its circuit breaker.
    These values replace the values of the jobs.
    """
    breaker: LimitBreaker | None = None
    if failures is not None:
        breaker = {"failures": failures}
        if open_seconds is not None:
            breaker["open_seconds"] = open_seconds
    elif open_seconds is not None:
        raise UsageError("--open-seconds requires --failures; set both")
    rate: LimitRate | None = None
    if per_minute is not None:
        rate = {"per_minute": per_minute}
        if burst is not None:
            rate["burst"] = burst
    elif burst is not None:
        raise UsageError("--burst requires --per-minute; set both")
    elif concurrency is None and breaker is None:
        raise UsageError("no limit is given; add a NUMBER of active runs, --per-minute or --failures")
    with connected(api, sign) as client:
        found = client.put_limit(key, concurrency=concurrency, rate=rate, breaker=breaker)
    _show(found, as_json=as_json)


@limits.command(cls=Command, example="duecourse limits delete crm-eu")
@click.argument("key", metavar="KEY")
@yes_option
@api_options
def delete(key: str, yes: bool, api: str | None, sign: bool | None) -> None:
    """Delete the limit of a key: the limits of its jobs apply again."""
    with connected(api, sign) as client:
        if not yes:
            confirm(plain(f"Delete the limit of {key}?"))
        client.delete_limit(key)
    say(plain(f"the limit of {key} is deleted"))


@limits.command(cls=Command, example="duecourse limits release crm-eu report.20261121T064700Z")
@click.argument("key", metavar="KEY")
@click.argument("run_id", metavar="RUN")
@yes_option
@named_options
def release(key: str, run_id: str, yes: bool, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Give the place of a run to the next waiting run. The run itself is not stopped."""
    with connected(api, sign) as client:
        if not yes:
            confirm(plain(f"Release the place of {run_id}? If it still works, more runs than the limit are active."))
        found = client.release_place(key, run_id)
    _show(found, as_json=as_json)


@limits.command(cls=Command, example="duecourse limits hold crm-eu 600")
@click.argument("key", metavar="KEY")
@click.argument("seconds", metavar="SECONDS", type=int)
@named_options
def hold(key: str, seconds: int, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Start no attempt with the key for this time. Active runs continue."""
    with connected(api, sign) as client:
        found = client.hold_key(key, seconds)
    _show(found, as_json=as_json)


@limits.command(cls=Command, example="duecourse limits close crm-eu")
@click.argument("key", metavar="KEY")
@named_options
def close(key: str, api: str | None, sign: bool | None, as_json: bool) -> None:
    """Close the circuit breaker of the key, and end its hold or its pause. Runs that wait for the circuit breaker start
    within 30 seconds. Runs that wait for the rate keep their planned instant.
    """
    with connected(api, sign) as client:
        found = client.close_breaker(key)
    _show(found, as_json=as_json)


def _show(found: SingleLimit, *, as_json: bool) -> None:
    print_json(found) if as_json else click.echo("\n".join(fitted(f"{found.key}: {_said(found)}", 4)))


def _limit(concurrency: int | None) -> str:
    return "of its jobs" if concurrency is None else str(concurrency)


def _rate(found: ListedLimit | SingleLimit) -> str:
    rate = found.rate
    return "of its jobs" if rate is None else f"{rate.per_minute}/min, burst {rate.burst}"


def _said(found: SingleLimit) -> str:
    rate = "" if found.rate is None else f", rate {_rate(found)}"
    paused = "" if found.paused_until is None else f", paused until {found.paused_until}"
    least, capped = "at least " if found.complete is False else "", "at least " if found.waiting >= COUNTED else ""
    rated = f", {least}{found.waiting_for_rate} waiting for the rate" if found.waiting_for_rate else ""
    behind = found.waiting_for_breaker
    guarded = f", {least}{behind} waiting for the circuit breaker" if behind else ""
    limit = f"limit {_limit(found.concurrency)}{rate}{_stored_breaker(found)}"
    waiting = f"{len(found.active)} active, {capped}{found.waiting} waiting{rated}{guarded}"
    newest = "; only the newest runs that wait for the rate or the circuit breaker were examined" if least else ""
    return f"{limit}, {waiting}{paused}{_breaker(found)}{newest}"


def _stored_breaker(found: SingleLimit) -> str:
    stored = found.breaker
    return "" if stored is None else f", circuit breaker {stored.failures} failures, {stored.open_seconds} s"


def _breaker(found: SingleLimit) -> str:
    """Return the state of the circuit breaker unless it is closed without failures."""
    match found.breaker_state:
        case "open":
            count = found.breaker_failures
            after = f" after {count} failure{'s' * (count != 1)}" if count else ""
            return f"; the circuit breaker is open until {found.breaker_open_until}{after}"
        case "half_open":
            return "; the circuit breaker is half open: one attempt tests the target"
        case _:
            return ""
