"""`duecourse failover`: let the other region of a stage work."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from duecourse.cli.commands.options import confirm, yes_option
from duecourse.cli.output.documents import Failover, utc
from duecourse.cli.terminal import CliError, Command, UsageError, outputs

if TYPE_CHECKING:
    from duecourse.checks.standby import Copy, Fence, InPlace, Move
    from duecourse.cli.failover import FencedRegion


@click.command(cls=Command, example="duecourse failover --to eu-central-1 --stage prod")
@click.option("--to", "target", required=True, metavar="REGION", help="The region that works from now on.")
@click.option(
    "--alone",
    is_flag=True,
    help="Read and write the fence only in this region: the other one is lost, or does not exist yet.",
)
@click.option("--wait/--no-wait", default=True, help="Wait until the region works (default), or not.")
@click.option(
    "--stage",
    required=True,
    envvar="DUECOURSE_STAGE",
    metavar="STAGE",
    help="The stage. [env: DUECOURSE_STAGE]",
)
@yes_option
@outputs(ids=False)
def failover(target: str, alone: bool, wait: bool, stage: str, yes: bool, as_json: bool) -> None:
    """Let another region of a stage with a standby work, and stop the one that works.

    Shows a plan first. Writes the fence, first in the region that stops, on the condition that it is unchanged. The new
    region works two minutes later, when no process of the old one starts anything. Repeat the command if it was
    interrupted: it completes what it began. Requires AWS credentials for both regions.

    With --alone, the old region learns of the failover only by replication. If its functions still run meanwhile, both
    regions start runs.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.checks.standby import Move, planned
    from duecourse.cli.failover import carry_out, may_be_lost
    from duecourse.cli.output.values import print_json

    own = _region(stage, target)
    other = _other(own, target, alone=alone)
    regions = {target: own}
    try:
        faults = own.faults()
        copies: dict[str, Copy] = {target: own.read()}
    except (BotoCoreError, ClientError) as error:
        raise CliError(f"{target} cannot be used: {error}. Nothing was written") from error
    copies |= _theirs(stage, other, regions, alone=alone)
    theirs = copies[other]
    ahead = own.stage.skew.ahead  # of this machine's clock: the functions compare the time with that of AWS
    plan = planned(target, _fence(copies[target]), other, theirs, time.time() - ahead)
    if faults and isinstance(plan, Move) and any(_fence(copy) is not None for copy in copies.values()):
        raise CliError("; ".join([*faults, "nothing was written, because no region would work"]))
    for line in _lines(plan, target, other, faults, alone=alone):
        click.echo(line, err=True)
    if isinstance(plan, Move):
        if not yes:
            confirm(f"Let {target} work, in the stage {stage}?")
        carry_out(plan, regions, copies)
    fence = plan.fence
    if wait and not faults:
        _wait(fence.works_from, ahead)
    document = Failover(
        stage=stage,
        region=target,
        epoch=fence.epoch,
        works_from=utc(fence.works_from),
        written=list(plan.regions) if isinstance(plan, Move) else [],
        faults=faults,
    )
    last_tick: float | None = None
    with suppress(BotoCoreError, ClientError):  # the failover is done; only this hint is missing
        last_tick = own.last_tick()
    if (lost := may_be_lost(last_tick, fence.works_from)) is not None:
        document["check_since"], document["check_until"] = map(utc, lost)
    if as_json:
        print_json(document)
    else:
        _print(document)


def _region(stage: str, name: str) -> FencedRegion:
    from duecourse.cli.doctor.stage import clients_for, find_stage
    from duecourse.cli.failover import FencedRegion

    return FencedRegion(name, find_stage(stage, clients_for(stage, name)))


def _other(own: FencedRegion, target: str, *, alone: bool) -> str:
    """Return the other region. Raises UsageError if the stage has none."""
    regions = own.stage.outputs.get("Regions", "").split()
    if not regions and alone:
        return "the other region"
    if target not in regions:
        raise UsageError(
            f"the stage {own.stage.name} in {target} has no standby; deploy it with the setting standby "
            "(docs/operations.md), or use --alone to write the first fence"
        )
    return next(name for name in regions if name != target)


def _theirs(stage: str, other: str, regions: dict[str, FencedRegion], *, alone: bool) -> dict[str, Copy]:
    """Return the fence of the other region, which is added to `regions`. Raises CliError if it cannot be reached."""
    from botocore.exceptions import BotoCoreError, ClientError

    from duecourse.checks.standby import Lost

    if alone:
        return {other: Lost()}
    try:
        regions[other] = _region(stage, other)
        return {other: regions[other].read()}
    except (BotoCoreError, ClientError, UsageError) as error:
        raise CliError(
            f"{other} cannot be reached: {error}. Nothing was written. If it is lost, repeat the command with --alone; "
            "if its functions still run, both regions then start runs until it has the new fence"
        ) from error


def _fence(copy: Copy) -> Fence | None:
    from duecourse.checks.standby import Lost

    return None if isinstance(copy, Lost) else copy


def _lines(plan: Move | InPlace, target: str, other: str, faults: list[str], *, alone: bool) -> list[str]:
    from duecourse.checks.standby import InPlace

    warnings = [f"warning: {fault}" for fault in faults]
    if isinstance(plan, InPlace):
        return [*warnings, f"{target} works already: epoch {plan.fence.epoch}, from {utc(plan.fence.works_from)} on"]
    lines = [
        f"{plan.why}.",
        f"The fence of epoch {plan.fence.epoch} for {target} will be written in {', then '.join(plan.regions)}.",
    ]
    if alone:
        lines.append(f"{other} is not contacted. If its functions run, both regions start runs until it has it.")
    return [*warnings, *lines]


def _wait(works_from: float, ahead: float) -> None:
    left = works_from + ahead - time.time()
    if left > 0:
        click.echo(f"waiting {left:.0f} s until {utc(works_from)}; Ctrl-C does not stop the failover", err=True)
        time.sleep(left)


def _print(document: Failover) -> None:
    click.echo(f"{document['region']} works from {document['works_from']} on (epoch {document['epoch']})")
    if "check_since" in document:
        click.echo(
            f"occurrences from {document['check_since']} to {document['check_until']} may be lost with the queues of "
            "the other region: see docs/operations.md#a-region-is-lost"
        )
