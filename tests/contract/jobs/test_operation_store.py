"""The store of operations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from duecourse.domain.runs.operations import (
    MAX_RUNNING,
    Omission,
    Operation,
    OperationKind,
    OperationState,
    Position,
    running,
)
from duecourse.domain.runs.states import RunState
from duecourse.ports import NoAnswerError, StoreBusyError
from duecourse.stores.operations import OperationStore
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.faults import around, lost
from duecourse.usecases.runs.operations import OperationQuotaError, Operations
from tests.support.jobs import NOON
from tests.support.tables import Tables
from tests.support.wheel import Wheel


def made(name: str, tenant: str = "default", **changes: Any) -> Operation:
    given: dict[str, Any] = {"states": (RunState.DEAD,), "updated_at": NOON, "continues_at": NOON} | changes
    return Operation(tenant, name, OperationKind.REDRIVE, NOON, "ann", **given)


FULL: dict[str, Any] = {
    "job_id": "report",
    "tag": "billing",
    "states": (RunState.QUEUED, RunState.RUNNING),
    "error": "refused",
    "since": 1,
    "until": 2,
    "per_minute": 30,
    "limit": 7,
    "expected": 9,
    "tags": frozenset({"billing", "audit"}),
    "request": "digest digest",
    "state": OperationState.FAILED,
    "reason": "the tenant is suspended",
    "page": 3,
    "position": Position(1, "20261121T120000Z", (NOON + 0.25, "report.20261121T120000Z", "RUNNING", 5)),
    "done": 4,
    "refused": 1,
    "skipped": {Omission.JOB_DELETED: 2, Omission.OUT_OF_SCOPE: 1},
    "searched_to": NOON + 0.25,
    "ended_at": NOON + 9.5,
    "writer": "request/nonce",
}


def store_of(tables: Tables) -> OperationStore:
    return tables.job_store(SettableClock(NOON)).operations


def test_operations_operation_comes_back_as_it_was_written(any_tables: Tables) -> None:
    store = store_of(any_tables)
    plain, full, nothing = made("a"), made("b", **FULL), made("c", tags=frozenset())
    assert store.all("default").version == 0
    for version, operation in enumerate([plain, full, nothing]):
        assert store.create(operation, version, None)
        assert store.get("default", operation.id) == operation
    assert store.get("other", "a") is None
    assert (list(store.all("default").items), store.all("default").version) == ([plain, full, nothing], 3)


def test_operations_operation_is_created_only_if_no_other_was_created_meanwhile(any_tables: Tables) -> None:
    store = store_of(any_tables)
    assert store.create(made("a"), 0, None)
    assert not store.create(made("b"), 0, made("a"))
    assert store.create(made("b"), 1, made("a"))
    assert [each.id for each in store.all("default").items] == ["b"]
    assert store.create(made("a", "other"), 0, None)


def test_operations_keys_of_replaced_ones_stay_until_others_are_written(any_tables: Tables) -> None:
    store, used = store_of(any_tables), {"digest": ("a", 9), "other": ("b", 10)}
    assert store.create(made("a"), 0, None)
    assert store.all("default").used == {}
    assert store.create(made("b"), 1, made("a"), used)
    assert store.create(made("c"), 2, None)
    assert {key: tuple(of) for key, of in store.all("default").used.items()} == used


def test_operations_creation_without_a_response_is_recognized(any_tables: Tables) -> None:
    store = store_of(any_tables)
    tables = store._tables
    store._tables = around(tables, transact=lost(NoAnswerError("lost"), times=1))
    assert store.create(made("a"), 0, None)
    assert store.create(made("a"), 0, None)
    assert store.all("default").version == 1


def test_operations_page_is_written_once(any_tables: Tables) -> None:
    store, before = store_of(any_tables), made("a")
    assert store.create(before, 0, None)
    mine, theirs = (replace(before, page=1, done=done, writer=f"writer {done}") for done in (1, 2))
    assert store.handle(before, mine) is None
    assert store.handle(before, mine) is None
    assert store.handle(before, theirs) == mine
    assert store.get("default", "a") == mine


def test_operations_page_without_a_response_is_recognized(any_tables: Tables) -> None:
    store, before = store_of(any_tables), made("a")
    assert store.create(before, 0, None)
    store._tables = around(store._tables, write=lost(NoAnswerError("lost"), times=1))
    assert store.handle(before, replace(before, page=1, writer="w")) is None
    store._tables = around(store._tables, write=lost(NoAnswerError("lost"), times=1))
    standing = store.get("default", "a")
    assert standing is not None
    cancelled = store.cancel(standing, now=NOON + 5)
    assert cancelled is not None
    assert (cancelled.state, cancelled.ended_at, cancelled.page) == (OperationState.CANCELLED, NOON + 5, 1)


def test_operations_cancelled_operation_is_not_continued(any_tables: Tables) -> None:
    store, before = store_of(any_tables), made("a")
    assert store.create(before, 0, None)
    cancelled = store.cancel(before, now=NOON + 5)
    assert cancelled is not None
    assert store.handle(before, replace(before, page=1, writer="w")) == cancelled
    assert store.cancel(before, now=NOON + 9) == cancelled
    assert store.cancel(made("b"), now=NOON) is None


class _OneTenant:
    """What Operations needs of the parts of a function."""

    def __init__(self, tables: Tables) -> None:
        self.clock = SettableClock(NOON)
        self.jobs, self.randomness, self.lanes = tables.job_store(self.clock), Numbered(), Wheel(self.clock)


def test_operations_created_at_the_same_moment_do_not_exceed_the_maximum(any_tables: Tables) -> None:
    parts: Any = _OneTenant(any_tables)
    operations = Operations(parts, Any, Any)  # type: ignore[arg-type]

    def create(number: int) -> str:
        try:
            return operations.create(made(f"op-{number}")).id
        except (OperationQuotaError, StoreBusyError) as error:
            return type(error).__name__

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(create, range(16)))
    accepted = [answer for answer in answers if answer.startswith("op-")]
    stored = running(parts.jobs.operations.all("default").items, NOON)
    assert sorted(accepted) == sorted(each.id for each in stored)
    assert 1 <= len(stored) <= MAX_RUNNING
    while len(stored) < MAX_RUNNING:
        assert create(100 + len(stored)).startswith("op-")
        stored = running(parts.jobs.operations.all("default").items, NOON)
    assert create(200) == "OperationQuotaError"
