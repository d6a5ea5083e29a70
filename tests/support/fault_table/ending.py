"""How a play ended, read from the tables' raw items and from what was called and told."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from duecourse.domain.runs.overlap import has_place, has_released, held_by
from duecourse.stores.run_item import from_item, lock_from_item
from tests.support.fault_table.ports import Called
from tests.support.fault_table.stage import Stage
from tests.support.jobs import NOON

Name = tuple[int, str]
"""A run: seconds after NOON of its occurrence, and its suffix."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a run. `through`: the last occurrence that it stands for, in seconds after NOON."""

    name: Name
    through: int
    state: str
    reason: str | None
    attempt: int
    finished_at: float | None
    notified: bool


@dataclass(frozen=True, slots=True)
class Ending:
    """`left` are items and messages that stand for something unfinished; `settled_at` is when the last write was asked
    for (seconds after NOON).
    """

    records: tuple[Record, ...]
    calls: tuple[Called, ...]
    job: str | None
    left: tuple[str, ...]
    dead_letters: Counter[Name]
    notices: Counter[Name]
    deadlines: Counter[Name]
    events: Counter[tuple[str, Name]]
    asked_again: int
    resent: int
    reconciled: int
    repaired: tuple[str, ...]
    attempt_lost: bool
    settled_at: float


def ending(stage: Stage) -> Ending:
    """How it stands now."""
    client = stage.stored.client
    jobs = client.scan(TableName=stage.stored.jobs, ConsistentRead=True)["Items"]
    runs = client.scan(TableName=stage.stored.runs, ConsistentRead=True)["Items"]
    states = sorted({item["state"]["S"] for item in jobs if item["SK"]["S"] == "JOB" and "state" in item})
    return Ending(
        records=tuple(sorted((_record(item) for item in runs if item["SK"]["S"].startswith("RUN#")), key=_by_name)),
        calls=tuple(stage.target.calls),
        job=" and ".join(states) or None,
        left=tuple(sorted(_left(jobs, runs))) + ("a message",) * len(stage.wheel),
        dead_letters=Counter(
            (held.message.occurrence - int(NOON), held.message.suffix) for held in stage.wheel.dead_letters
        ),
        notices=Counter((death.run.occurrence - int(NOON), death.run.suffix) for death in stage.notices.deaths),
        deadlines=Counter((each.run.occurrence - int(NOON), each.run.suffix) for each in stage.notices.deadlines),
        events=Counter(
            (each.detail_type, _named(each.detail["run_id"].partition(".")[2])) for each in stage.bus.events
        ),
        asked_again=stage.asked_again,
        resent=sum(report.counts["DeadLettersResent"] for report in stage.reconciled),
        reconciled=sum(
            report.counts["DeadLettersRemoved"] + report.counts["DeadLettersRecorded"] for report in stage.reconciled
        ),
        repaired=tuple(each.action for report in stage.repaired for each in report.events if each.action != "checked"),
        attempt_lost=stage.danger.attempt_lost,
        settled_at=stage.danger.last_write_at - NOON,
    )


def _left(jobs: Iterable[dict[str, Any]], runs: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Items that should be gone once nothing is to be done any more."""
    for item in jobs:
        sort = item["SK"]["S"]
        if sort.startswith("WAKE#") and "expires_at" not in item:  # one of a manual run is kept after it was sent
            yield "a timer"
        if sort == "CURSOR" and "slot" in item:
            yield "a cursor in the due index"
        if sort == "CURSOR" and "error" in item:
            yield "a cursor that was quarantined"
    runs = list(runs)
    for item in runs:
        match item["SK"]["S"].partition("#")[0]:
            case "ACTIVE" if is_held(item, runs):
                yield "a lock"
            case "QUEUE":
                yield "a run in the wait queue"
            case "WATCH":
                yield "a watch of a wait queue"
            case "RUN" if item["state"]["S"] not in ("SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED"):
                yield f"a run that is {item['state']['S']}"


def is_held(lock: dict[str, Any], items: Iterable[dict[str, Any]]) -> bool:
    """Whether the item of a lock names a run whose record has not released it."""
    held = lock_from_item(lock)
    kind, tenant, name = lock["PK"]["S"].split("#")
    if not held.holder:
        return False
    run = held_by(held.holder, name)
    record = f"JOB#{tenant}#{run.job_id}", f"RUN#{run.local}"
    holders = [from_item(item) for item in items if (item["PK"]["S"], item["SK"]["S"]) == record]
    if kind == "KEY":
        return any(has_place(held, holder, name, now=held.until + 60) for holder in holders)
    return not any(has_released(held, holder) for holder in holders)


def _record(item: dict[str, Any]) -> Record:
    name = _named(item["SK"]["S"].removeprefix("RUN#"))
    through = item.get("through", {}).get("N")
    return Record(
        name=name,
        through=name[0] if through is None else int(through) - int(NOON),
        state=item["state"]["S"],
        reason=item.get("reason", {}).get("S"),
        attempt=int(item["attempt"]["N"]),
        finished_at=float(item["finished_at"]["N"]) - NOON if "finished_at" in item else None,
        notified="notified" in item,
    )


def _named(local: str) -> Name:
    """`20261121T120400Z-b1` as seconds after NOON and a suffix."""
    at = datetime.strptime(local[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return int(at.timestamp() - NOON), local[16:]


def _by_name(record: Record) -> Name:
    return record.name
