"""The two sides: the dispatcher as its function creates it, and the loop of textbooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

import boto3
import orjson

from benchmarks.dispatch.cases import NOW, PAGE, SHARD, SHARDS, Case, items
from benchmarks.wire.client import WireAt
from duecourse.adapters.aws.clients import AwsClients
from duecourse.domain.jobs.cursor import slot_of
from duecourse.settings import DispatchSettings
from duecourse.usecases.dispatch.round import Dispatch
from duecourse.wiring import Wiring

CORRELATION_ID = "5e0fbc94-0000-4000-8000-000000000000"
"""A correlation id as the handler sets it in every message: the request id of the invocation."""

TEXTBOOK_SLOT = "textbook"
"""The slot of the wire with the textbook's page."""

QUEUE = "http://127.0.0.1/000000000000/normal"
ENVIRONMENT = {
    "DUECOURSE_STAGE": "bench",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_RUNS_TABLE": "runs",
    "DUECOURSE_SHARDS": str(SHARDS),
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "DUECOURSE_LOOKAHEAD_SECONDS": "300",
    "DUECOURSE_HORIZON_SECONDS": "840",
    "DUECOURSE_RUN_RETENTION_DAYS": "90",
    "DUECOURSE_BUS_NAME": "bus",
    **{f"DUECOURSE_{of}_URL_{lane}": QUEUE for of in ("QUEUE", "BULK") for lane in ("HIGH", "NORMAL", "LOW", "LONG")},
}


class StillClock:
    """A clock that always shows the start of a second, so that no side waits for the next one: a wait takes time but no
    CPU.
    """

    def now(self) -> float:
        """Return NOW."""
        return float(NOW)

    def sleep_until(self, instant: float) -> None:
        """Return immediately."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The client CPU (s) of a number of firings."""

    cpu: float
    firings: int

    @property
    def milliseconds(self) -> float:
        """The CPU time per firing."""
        return 1000 * self.cpu / self.firings


def dispatcher() -> Dispatch:
    """Return the dispatcher of functions/dispatch with another clock. The handler's own work is not part of the
    figures: a few log lines and metrics per round (`benchmarks.cost.idle_round` measures a round with them).
    """
    wiring = Wiring(DispatchSettings.from_env(ENVIRONMENT))
    return replace(wiring.dispatch, clock=StillClock())


def load(at: WireAt, case: Case, wanted: int) -> list[dict[str, Any]]:
    """Load a case's jobs into the wire, and return their items."""
    at.clear()
    stored = items(case.cursors(wanted))
    for begin in range(0, len(stored), PAGE):
        page = stored[begin : begin + PAGE]
        at.append(slot_of(NOW + case.ahead, SHARD), page)
    at.put({f"SHARD#{SHARD}/WATERMARK": {"bucket": {"S": "2026-11-21T05"}}})
    return stored


def load_textbook(at: WireAt, case: Case, wanted: int) -> list[dict[str, Any]]:
    """Load one page of a case's jobs into the wire for the textbook loop, which fires each job once. Return their
    items.
    """
    page = items(case.cursors(wanted * case.firings))
    at.append(TEXTBOOK_SLOT, page)
    return page


def measured(work: Callable[[], int]) -> Taken:
    """Return the CPU time of `work`, which returns the number of firings that it dispatched."""
    begin = process_time()
    firings = work()
    return Taken(process_time() - begin, firings)


def ours(dispatch: Dispatch, least: int) -> int:
    """Run a round and return the number of accepted messages. Raises AssertionError if the round was not complete, or
    if there were fewer than `least` messages.
    """
    report = dispatch(SHARD, NOW + 1e6, CORRELATION_ID)
    wrong = {name: count for name, count in report.counts.items() if name in WRONG and count}
    if wrong or report.counts["Enqueued"] < least:
        raise AssertionError(f"the round went wrong: {least} expected, {wrong} {report.counts}")
    return report.counts["Enqueued"]


WRONG = ("ClaimsLost", "ClaimsFailed", "SendsRefused", "CursorsQuarantined", "ClaimsDeferred")


@dataclass(frozen=True, slots=True)
class Textbook:
    """Reads a page, then sends one message and writes one conditional update for each firing. It does not compute the
    next occurrence, which a real loop would have to do.
    """

    dynamodb: Any
    sqs: Any

    @classmethod
    def create(cls) -> Textbook:
        """Return the loop with boto3's clients and the settings of this project."""
        clients = AwsClients()
        return cls(clients.get("dynamodb").boto3, clients.get("sqs").boto3)

    @classmethod
    def plain(cls) -> Textbook:
        """Return the loop with boto3's default clients."""
        return cls(boto3.client("dynamodb"), boto3.client("sqs"))

    def __call__(self, firings: int) -> int:
        """Dispatch each job of the page once. Return their number, which must be `firings`."""
        found = self._page(TEXTBOOK_SLOT)
        for item in found:
            self._fire(item)
        if len(found) != firings:
            raise AssertionError(f"the page has {len(found)} entries, not {firings}")
        return firings

    def _page(self, slot: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.dynamodb.query(
            TableName="jobs",
            IndexName="due",
            KeyConditionExpression="slot = :slot AND due <= :until",
            ExpressionAttributeValues={":slot": {"S": slot}, ":until": {"N": str(NOW + 300)}},
        )["Items"]
        return found

    def _fire(self, item: dict[str, Any]) -> None:
        due = int(item["due"]["N"])
        body = {"job": item["PK"]["S"], "due": due, "generation": item["generation"]["N"]}
        self.sqs.send_message(QueueUrl=QUEUE, MessageBody=orjson.dumps(body).decode(), DelaySeconds=60)
        self.dynamodb.update_item(
            TableName="jobs",
            Key={"PK": item["PK"], "SK": item["SK"]},
            UpdateExpression="SET #due = :next, #slot = :slot",
            ConditionExpression="#due = :due AND generation = :generation",
            ExpressionAttributeNames={"#due": "due", "#slot": "slot"},
            ExpressionAttributeValues={
                ":next": {"N": str(due + 86_400)},
                ":slot": item["slot"],
                ":due": item["due"],
                ":generation": item["generation"],
            },
        )
