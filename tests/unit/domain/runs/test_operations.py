"""The decisions about operations."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.runs.operations import (
    LASTS_SECONDS,
    MAX_KEPT,
    MAX_REMEMBERED,
    STALLED_SECONDS,
    HandledPage,
    Omission,
    Operation,
    OperationKind,
    OperationState,
    Position,
    after_page,
    counted,
    delay,
    failed,
    remembered,
    replaced,
    running,
)
from duecourse.domain.runs.states import RunState
from duecourse.domain.tenants.rate import BucketRules
from tests.support.jobs import NOON, job
from tests.support.runs import run

RULES = BucketRules(rate=10, burst=100)
NEXT = Position(0, None, (NOON, "report.20261121T120000Z", "DEAD", 1))


def made(kind: OperationKind = OperationKind.REDRIVE, **changes: Any) -> Operation:
    given: dict[str, Any] = {"states": (RunState.DEAD,), "continues_at": NOON} | changes
    return Operation("default", given.pop("id", "op-1"), kind, given.pop("created_at", NOON), "ann", **given)


def page(done: int, following: Position | None = NEXT, **changes: Any) -> HandledPage:
    return HandledPage(done, following=following, **{"refused": 0, "skipped": {}, "searched_to": None} | changes)


@pytest.mark.parametrize(
    ("chosen", "size"),
    [
        ({}, 25),
        ({"per_minute": 60}, 5),
        ({"per_minute": 6}, 1),
        ({"per_minute": 60_000}, 50),
        ({"limit": 3}, 3),
        ({"limit": 30, "done": 27, "refused": 2}, 1),
    ],
)
def test_operations_page_takes_five_seconds_at_its_pace_and_at_most_half_the_burst(
    chosen: dict[str, Any], size: int
) -> None:
    assert made(**chosen).page_size(RULES) == size


def test_operations_page_has_at_most_a_hundred_runs() -> None:
    assert made(per_minute=60_000).page_size(BucketRules(rate=1_000, burst=10_000)) == 100


def test_operations_next_page_starts_when_the_commands_have_taken_their_time() -> None:
    after = after_page(made(per_minute=60), page(5), began=NOON, now=NOON + 1, rules=RULES, writer="w")
    assert (after.page, after.done, after.position, after.continues_at) == (1, 5, NEXT, NOON + 5)
    assert (delay(after, NOON + 1.5, 900), delay(after, NOON + 9, 900), delay(after, NOON - 9_000, 900)) == (4, 0, 900)
    idle = after_page(after, page(0), began=NOON + 5, now=NOON + 6, rules=RULES, writer="w")
    assert (idle.state, idle.continues_at) == (OperationState.RUNNING, NOON + 6)


def test_operations_last_page_ends_them_and_counts_add_up() -> None:
    first = page(1, refused=2, skipped={Omission.JOB_DELETED: 1}, searched_to=NOON - 5)
    last = page(1, None, skipped={Omission.JOB_DELETED: 1, Omission.OUT_OF_SCOPE: 2})
    after = after_page(made(), first, began=NOON, now=NOON, rules=RULES, writer="w")
    ended = after_page(after, last, began=NOON, now=NOON + 3, rules=RULES, writer="w")
    assert (ended.done, ended.refused, ended.searched_to) == (2, 2, NOON - 5)
    assert ended.skipped == {Omission.JOB_DELETED: 2, Omission.OUT_OF_SCOPE: 2}
    assert (ended.state, ended.ended_at) == (OperationState.SUCCEEDED, NOON + 3)


def test_operations_end_at_their_limit() -> None:
    ended = after_page(made(limit=3), page(2, refused=1), began=NOON, now=NOON, rules=RULES, writer="w")
    assert ended.state is OperationState.SUCCEEDED


def test_operations_state_shows_what_has_stalled_or_expired() -> None:
    operation = made(continues_at=NOON + 10)

    def at(seconds: float) -> tuple[OperationState, bool]:
        state, reason = operation.shown_state(NOON + seconds)
        return state, reason is not None

    assert at(10 + STALLED_SECONDS) == (OperationState.RUNNING, False)
    assert at(11 + STALLED_SECONDS) == (OperationState.FAILED, True)
    assert operation.is_running(NOON + 11 + STALLED_SECONDS)
    assert at(LASTS_SECONDS) == (OperationState.FAILED, True)
    assert not operation.is_running(NOON + LASTS_SECONDS)
    assert failed(operation, "no", now=NOON + 1).shown_state(NOON) == (OperationState.FAILED, "no")


def test_operations_cancelled_meanwhile_keep_their_state_with_the_counts_of_the_page() -> None:
    found = made(state=OperationState.CANCELLED, ended_at=NOON + 2, updated_at=NOON + 2)
    after = after_page(made(), page(5), began=NOON, now=NOON + 1, rules=RULES, writer="w")
    merged = counted(found, after)
    assert (merged.state, merged.ended_at, merged.done, merged.page) == (OperationState.CANCELLED, NOON + 2, 5, 1)
    assert merged.updated_at == NOON + 2


def test_operations_ended_ones_make_room_oldest_first() -> None:
    ended = [
        made(id=f"op-{number}", created_at=NOON - number, state=OperationState.SUCCEEDED) for number in range(MAX_KEPT)
    ]
    active = made(id="op-active", created_at=NOON - 1_000)
    assert running([*ended, active], NOON) == [active]
    assert replaced([*ended[1:], active], NOON) is None
    assert replaced([*ended, active], NOON) == ended[-1]


def test_operations_keys_of_replaced_ones_are_remembered_while_the_operation_would_be_kept() -> None:
    first, second = (made(id=name, created_at=NOON + at, request=f"{name} body") for name, at in (("a", 0), ("b", 60)))
    used = remembered({}, first, NOON)
    assert used == {"a": ("a", first.expires_at)}
    assert remembered(used, second, first.expires_at - 1) == used | {"b": ("b", second.expires_at)}
    assert remembered(used, second, first.expires_at) == {"b": ("b", second.expires_at)}
    many = {str(number): ("x", first.expires_at) for number in range(MAX_REMEMBERED)}
    assert list(remembered(many, second, NOON)) == [*map(str, range(1, MAX_REMEMBERED)), "b"]


def test_operations_redrive_covers_runs_that_died_before_its_creation() -> None:
    of = job("0 0 1 1 *")
    before, later = (run(of, RunState.DEAD, finished_at=NOON + seconds) for seconds in (0, 1))
    assert [made().where.passes(each) for each in (before, later)] == [True, False]
    assert made(until=int(NOON) - 60).where.until == NOON - 60
    assert made(until=int(NOON) + 60).where.until == NOON + 0.001


@pytest.mark.parametrize(
    ("state", "due", "covered"),
    [
        (RunState.QUEUED, 600, True),
        (RunState.RUNNING, -1, True),
        (RunState.RUNNING, 1, False),
        (RunState.RETRYING, 1, False),
    ],
)
def test_operations_cancel_covers_active_runs_that_were_due_at_its_creation(
    state: RunState, due: int, covered: bool
) -> None:
    operation = made(OperationKind.CANCEL, states=(state,))
    assert operation.covers(run(job("0 0 1 1 *"), state, after=due)) is covered


@pytest.mark.parametrize(
    ("tag", "tags", "searched"),
    [
        (None, None, None),
        ("a", None, "a"),
        (None, frozenset({"a"}), "a"),
        (None, frozenset({"a", "b"}), None),
        ("b", frozenset({"a", "b"}), "b"),
        (None, frozenset(), None),
    ],
)
def test_operations_search_by_the_tag_of_the_filter_or_the_only_tag_of_the_scopes(
    tag: str | None, tags: frozenset[str] | None, searched: str | None
) -> None:
    assert replace(made(), tag=tag, tags=tags).searched_tag == searched
