"""`duecourse runs reschedule`: change the time or the payload of a delayed run."""

from __future__ import annotations

import click

from duecourse.cli.commands.job_actions import payload_of, seconds_of
from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, UsageError, say
from duecourse.cli.when import local_zone, moment


@click.command(cls=Command, example="duecourse runs reschedule remind.20261224T170000Z.mFq2pX0aZ --in 2h")
@click.argument("run_id", metavar="RUN")
@click.option("--at", help="The start: an instant with an offset, or a time in the job's zone (2026-12-24T18:00:00).")
@click.option(
    "--in", "delay", metavar="TIME", help="The delay from now until the start: 90s, 15m, 2h, 3d; 0s starts it."
)
@click.option("--payload", help="JSON that replaces the payload; @FILE reads it from a file, @- from stdin.")
@named_options
def reschedule(
    run_id: str,
    at: str | None,
    delay: str | None,
    payload: str | None,
    api: str | None,
    sign: bool | None,
    as_json: bool,
) -> None:
    """Change the time or the payload of a requested run that has not started. Its id stays."""
    if at is None and delay is None and payload is None:
        raise UsageError("nothing to change: use --at, --in or --payload")
    if at is not None and delay is not None:
        raise UsageError("--at and --in cannot be combined; use one of them")
    seconds, given = None if delay is None else seconds_of(delay), None if payload is None else payload_of(payload)
    with connected(api, sign) as client:
        changed = client.reschedule_run(run_id, payload=given, at=at, delay_seconds=seconds)
    if as_json:
        print_json(changed)
    else:
        say(f"{changed.id} is {changed.state}, due {moment(changed.due, local_zone())}")
