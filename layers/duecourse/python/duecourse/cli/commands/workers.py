"""`duecourse workers`: list the pull workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from duecourse.cli.commands.options import connected, named_options
from duecourse.cli.output.table import print_table
from duecourse.cli.output.values import print_json
from duecourse.cli.terminal import Command, Group, say
from duecourse.cli.when import relative
from duecourse.client.models import Worker


@click.group(cls=Group, example="duecourse workers list")
def workers() -> None:
    """List the pull workers: programs that process the runs of a queue (duecourse.worker, duecourse work)."""


@workers.command("list", cls=Command, example="duecourse workers list")
@named_options
def list_workers(api: str | None, sign: bool | None, as_json: bool) -> None:
    """List the workers that named themselves in the last hour, the last one first.

    A worker without runs is not listed. A worker is noted once in ten minutes: RUN is a run for which it reported then,
    and STATUS refers to this run. It is `working` if its attempt is in progress, and `silent` if the heartbeat or
    completion of this attempt did not arrive in time.
    """
    with connected(api, sign) as client:
        found = client.list_workers()
    if as_json:
        print_json(found)
        return
    if found.items:
        _print_workers(found.items)
    elif found.complete:
        say("no worker has named itself in the last hour; see `duecourse workers list --help`")
    if not found.complete:
        say("Some workers may be missing: too many names in the last hour, or their jobs are not in your scope.")


def _print_workers(found: Sequence[Worker]) -> None:
    now = datetime.now(UTC)
    rows = [(each.name, relative(each.seen_at, now), each.status, each.run_id, each.run_state or "") for each in found]
    print_table(("worker", "seen", "status", "run", "state"), rows, spare=("state",))
