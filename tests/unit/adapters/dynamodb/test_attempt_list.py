"""The list of attempts in a run's item: it comes back, and never makes a write dearer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.wire.capacity import item_bytes, write_units
from duecourse.adapters.dynamodb.runs import run_item
from duecourse.domain.runs.states import Attempt, AttemptOutcome, Run, RunState
from tests.support.jobs import NOON, job
from tests.support.runs import run
from tests.support.varied import varied

RETRYING = run(job(), RunState.RETRYING, attempt=3, error="the answer was 503", code="http.503")


def listed(*attempts: Attempt, of: Run = RETRYING) -> Run:
    return replace(of, earlier=attempts)


def failed(number: int, error: str | None = "the answer was 503", code: str | None = "http.503") -> Attempt:
    return Attempt(number, NOON + 60.25 * number, NOON + 60.25 * number + 1.5, AttemptOutcome.FAILED, error, code)


def read_again(record: Run) -> Run:
    return run_item.from_item(run_item.to_item(record))


@pytest.mark.parametrize(
    "attempts",
    [
        (failed(1),),
        (failed(1), failed(2)),
        (failed(1, "ключ не найден"), failed(2, "timeout", "timeout"), failed(3, None, None)),
        (failed(1, "a"), failed(2, "a"), failed(3, "b"), failed(4, "a")),
        (Attempt(7, None, None, AttemptOutcome.LOST, "gone", "lost"), failed(8)),
        (
            Attempt(7, NOON, None, AttemptOutcome.LOST, "gone", "lost"),
            Attempt(8, NOON + 1, NOON + 2, AttemptOutcome.CANCELLED),
        ),
    ],
)
@pytest.mark.parametrize("of", [RETRYING, varied(RETRYING, error=None, code=None, state=RunState.SUCCEEDED)])
def test_attempts_come_back(attempts: tuple[Attempt, ...], of: Run) -> None:
    record = listed(*attempts, of=of)
    assert read_again(record) == record


def test_a_run_without_earlier_attempts_has_no_list() -> None:
    assert "earlier" not in run_item.to_item(RETRYING)


def test_twenty_attempts_that_failed_alike_fit_beside_the_record() -> None:
    record = listed(*(failed(number) for number in range(1, 21)))
    assert read_again(record) == record
    assert item_bytes(run_item.to_item(record)) <= 1024


@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("length", range(0, 2001, 50))
def test_the_list_never_makes_the_record_dearer(length: int, count: int) -> None:
    record = replace(RETRYING, error="x" * length, attempt=count + 1)
    attempts = [failed(number, f"{number}: " + "y" * 190) for number in range(1, count + 1)]
    item = run_item.to_item(listed(*attempts, of=record))
    assert write_units(item) == write_units(run_item.to_item(record))


def test_errors_are_cut_before_attempts_are_left_out_and_the_oldest_go_first() -> None:
    few = [failed(number, f"{number}: " + "y" * 190) for number in (1, 2, 3)]
    shown = read_again(listed(*few)).earlier
    assert [each.number for each in shown] == [1, 2, 3]
    assert [each.started_at for each in shown] == [each.started_at for each in few]
    assert all((long.error or "").startswith(cut.error or "") for long, cut in zip(few, shown, strict=True))
    many = [failed(number, f"{number}: " + "y" * 190, f"a.rather.long.code-{number}") for number in range(1, 21)]
    numbers = [each.number for each in read_again(listed(*many)).earlier]
    assert 3 < len(numbers) < 20
    assert numbers == list(range(21 - len(numbers), 21))
