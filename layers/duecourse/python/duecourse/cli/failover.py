"""A failover: reads the fence of both regions, plans its change, and writes it (checks.standby)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.checks.standby import FENCE_KEY, Copy, Fence, Lost, Move
from duecourse.cli.terminal import CliError

if TYPE_CHECKING:
    from duecourse.cli.doctor.stage import Stage

TICK_KEY = {"PK": {"S": "TICK"}, "SK": {"S": "LAST"}}
AHEAD_SECONDS = 14 * 60
"""A round sends messages at most this long before their runs are due (the default of `horizon_seconds`)."""


class MovedError(Exception):
    """The fence of a region is not the one that was read."""


@dataclass(frozen=True, slots=True)
class FencedRegion:
    """The fence in one region of a stage."""

    name: str
    stage: Stage

    @property
    def _table(self) -> str:
        return self.stage.outputs["JobsTable"]

    def read(self) -> Fence | None:
        """Return the fence, strongly consistent in this region. Raises ClientError and BotoCoreError."""
        found = self._item(FENCE_KEY)
        return None if found is None else Fence.of(found)

    def last_tick(self) -> float | None:
        """Return the time of the stage's last tick, in either region."""
        found = (self._item(TICK_KEY) or {}).get("at")
        return None if found is None else float(found["N"])

    def write(self, fence: Fence, before: Fence | None) -> None:
        """Replace the fence `before` (None: there is none). A region that has the new fence already is left alone,
        because replication or an earlier try may have been faster. Raises MovedError, ClientError and BotoCoreError.
        """
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(PK)"}
        if before is not None:
            condition = {
                "ConditionExpression": "epoch = :epoch AND #region = :region",
                "ExpressionAttributeNames": {"#region": "region"},
                "ExpressionAttributeValues": {":epoch": {"N": repr(before.epoch)}, ":region": {"S": before.region}},
            }
        try:
            self.stage.clients("dynamodb").put_item(TableName=self._table, Item=fence.item(), **condition)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            if self.read() != fence:
                raise MovedError(self.name) from error

    def faults(self) -> list[str]:
        """Return why this region could not work, a sentence each: its tables, and the functions' setting."""
        database, functions = self.stage.clients("dynamodb"), self.stage.clients("lambda")
        found = []
        for output in ("JobsTable", "RunsTable"):
            name = self.stage.outputs[output]
            status = database.describe_table(TableName=name)["Table"]["TableStatus"]
            if status != "ACTIVE":
                found.append(f"the table {name} is {status}, not ACTIVE")
        tick = functions.get_function_configuration(FunctionName=self.stage.functions["Tick"])
        fenced = tick.get("Environment", {}).get("Variables", {}).get("DUECOURSE_FENCE")
        if fenced != self.name:
            remedy = "deploy the stage there with the setting standby"
            found.append(f"the functions in {self.name} do not read the fence; {remedy}")
        return found

    def _item(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        answer = self.stage.clients("dynamodb").get_item(TableName=self._table, Key=dict(key), ConsistentRead=True)
        found: dict[str, Any] | None = answer.get("Item")
        return found


def carry_out(move: Move, regions: dict[str, FencedRegion], copies: dict[str, Copy]) -> None:
    """Write the fence in the regions of the plan, in their order. Raises CliError, which says what was written."""
    written: list[str] = []
    for name in move.regions:
        before = copies[name]
        try:
            regions[name].write(move.fence, None if isinstance(before, Lost) else before)
        except MovedError as error:
            raise CliError(f"the fence in {name} has changed since it was read{_state(move, written)}") from error
        except (BotoCoreError, ClientError) as error:
            raise CliError(f"the fence in {name} was not written: {error}{_state(move, written)}") from error
        written.append(name)


def _state(move: Move, written: list[str]) -> str:
    """Return what is written now, and the remedy."""
    to, epoch = move.fence.region, move.fence.epoch
    if not written:
        return "; nothing was written. Run the command again"
    stopped = " and ".join(written)
    return (
        f"; epoch {epoch} for {to} is written in {stopped} only. Replication may deliver it. Run the command again: it "
        "completes this epoch"
    )


def may_be_lost(last_tick: float | None, works_from: float) -> tuple[float, float] | None:
    """Return the time (UTC seconds) whose occurrences may have been enqueued in the region that stopped; None if there
    was no tick.
    """
    if last_tick is None:
        return None
    begin = min(last_tick, works_from) - 60
    return begin, min(last_tick, works_from) + AHEAD_SECONDS + 60
