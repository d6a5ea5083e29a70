"""Items as they are written and read.

- Jobs and runs come back from their items as they were.
- The list of attempts in a run's item: it comes back, and never makes a write dearer.
"""

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from itertools import product
from typing import Any

import pytest

from benchmarks.wire.capacity import item_bytes, write_units
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Definition, Job, JobDefinition, JobState, Lane, Overlap, Reservation, RetryPolicy
from duecourse.domain.runs.states import (
    PARTS,
    STATES,
    Attempt,
    AttemptOutcome,
    Attempts,
    Callback,
    Deadlines,
    Discard,
    Failure,
    GateWait,
    Run,
    RunState,
)
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import HttpTarget, Target
from duecourse.stores import job_item, run_item
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import NOON, job
from tests.support.runs import run
from tests.support.varied import record, varied

NIGHTLY = RunIdentity("default", "nightly", int(NOON), int(NOON), 5)


@pytest.mark.parametrize("target", EVERY_TARGET, ids=type_of)
def test_dynamodb_items_restore_a_job_with_any_target(target: Target) -> None:
    made = job(target=target)
    item, payload = job_item.to_item(made)
    assert payload is None
    assert job_item.from_item(item) == made


def test_dynamodb_items_of_a_job_omit_fields_with_their_default() -> None:
    item, _ = job_item.to_item(job("0 3 * * *", target=HttpTarget("https://example.com/r")))
    assert json.loads(item["definition"]["S"]) == {
        "schedule": {"expression": "0 3 * * *", "anchor": int(NOON)},
        "target": {"type": "http", "url": "https://example.com/r"},
    }


OF_JOB: dict[str, Any] = {
    "generation": 3,
    "state": JobState.PAUSED,
    "paused_at": NOON + 1,
    "paused_because": "the bank is down",
    "paused_by": "ann",
    "paused_with": "bulk",
    "paused_until": int(NOON) + 60,
    "resumed_at": NOON + 2,
    "revision": 4,
    "seated": True,
    "earlier": (Definition(1, NOON),),
    "workflow": "nightly",
    "claimed_at": NOON + 3,
    "reserved": Reservation("x", NOON + 4),
    "expires_at": int(NOON) + 90,
    "created_by": "bob",
    "suspended_at": NOON + 5,
    "failing": "tick-tock.20261121T120000Z",
    "shadow_since": NOON + 6,
    "waits": True,
}
"""The fields of a job that are not in its definition, with other values than their defaults."""


def test_dynamodb_items_of_a_job_without_its_payload_have_all_its_other_fields() -> None:
    required = {"tenant", "id", "created_at", "updated_at", "changed_at", "created_generation"}
    assert {each.name for each in fields(Job)} - {each.name for each in fields(JobDefinition)} == required | {*OF_JOB}
    made = replace(job("0 3 * * *", payload={"rows": 3}), **OF_JOB)
    item, _ = job_item.to_item(made)
    read = {name: value for name, value in item.items() if name in job_item.WITHOUT_PAYLOAD}
    assert job_item.from_item(read) == replace(made, payload=None)


def test_dynamodb_items_of_a_job_keep_a_number_as_it_was_posted() -> None:
    for seconds in (2, 2.0):
        item, _ = job_item.to_item(job(retry=RetryPolicy(min_seconds=seconds)))
        assert repr(job_item.from_item(item).retry.min_seconds) == repr(seconds)


def test_dynamodb_items_of_a_typical_job_take_one_write_unit() -> None:
    typical = job(
        "0 3 * * *",
        id="nightly-report",
        timezone="Europe/Berlin",
        name="Nightly report",
        owner="billing",
        description="Rebuilds the report of the day before.",
        target=HttpTarget("https://example.com/report/rebuild", headers=(("X-Team", "billing"),)),
        payload={"day": "{{date}}"},
        retry=RetryPolicy(max_attempts=3, never=("404",)),
        overlap=Overlap.QUEUE,
        tags=("billing", "reports"),
    )
    item, _ = job_item.to_item(typical)
    assert item_bytes(item) <= 700
    assert write_units(item) == 1
    assert job_item.from_item(item) == typical


def test_dynamodb_items_of_a_run_that_never_waited_have_no_attributes_of_waiting_runs() -> None:
    started = record(RunState.RUNNING, NIGHTLY, Lane.NORMAL, attempt=1, fencing_token="t")
    names = {
        "code",
        "result_key",
        "result_bytes",
        "callback_hash",
        "waiting_until",
        "heartbeat_until",
        "cancel_requested",
        "waiting_since",
    }
    assert not names & run_item.to_item(started).keys()
    waits = varied(started, state=RunState.WAITING, waiting_until=NOON + 60.5)
    assert run_item.to_item(waits)["waiting_until"] == {"N": str(NOON + 60.5)}


def test_dynamodb_items_restore_a_waiting_run_with_an_earlier_failure() -> None:
    run = record(
        RunState.WAITING,
        NIGHTLY,
        Lane.LONG,
        attempt=2,
        fencing_token="t",
        code="http.503",
        callback_hash="0" * 64,
        waiting_until=NOON + 600.25,
        heartbeat_until=NOON + 60.5,
        cancel_requested="by the API",
        redriven_at=NOON + 30.5,
        workflow_redriven_at=NOON + 20.25,
    )
    assert run_item.from_item(run_item.to_item(run)) == run


def test_dynamodb_items_restore_a_run_with_a_large_result() -> None:
    key = "results/default/nightly/20261121T120000Z/2.json"
    done = record(RunState.SUCCEEDED, NIGHTLY, attempt=2, fencing_token="t", result_key=key, result_bytes=70_000)
    assert run_item.from_item(run_item.to_item(done)) == done


def test_dynamodb_items_restore_where_the_result_of_a_run_is_or_why_it_is_not_there() -> None:
    done = record(RunState.SUCCEEDED, NIGHTLY, attempt=1, fencing_token="t", result={"rows": 3}, result_bytes=10)
    for more in ({"result_location": "s3://reports/daily/nightly/x/1.json"}, {"result_error": "AccessDenied"}):
        assert run_item.from_item(run_item.to_item(varied(done, **more))) == varied(done, **more)


def test_dynamodb_items_restore_a_manually_requested_run() -> None:
    asked = record(
        RunState.RUNNING,
        RunIdentity(
            "default",
            "nightly",
            int(NOON),
            int(NOON) + 30,
            5,
            suffix=".mAbCd1234",
            own_payload=True,
            requested_by="arn:aws:iam::123456789012:user/anna",
        ),
        Lane.LOW,
        fencing_token="t",
    )
    assert run_item.from_item(run_item.to_item(asked)) == asked
    assert (
        not {"own_payload", "requested_by"}
        & run_item.to_item(varied(asked, own_payload=False, requested_by=None)).keys()
    )


def test_dynamodb_items_keep_correlation_id_and_priority_and_restore_older_items_without_them() -> None:
    run = record(
        RunState.RUNNING, replace(NIGHTLY, correlation_id="order-1", wait_priority=9), Lane.LOW, fencing_token="t"
    )
    item = run_item.to_item(run)
    assert run_item.from_item(item) == run
    del item["correlation_id"], item["wait_priority"]
    assert run_item.from_item(item) == varied(run, correlation_id=None, wait_priority=0)


def test_dynamodb_items_keep_the_idempotency_key_of_a_run_and_omit_a_missing_one() -> None:
    run = record(RunState.RUNNING, NIGHTLY, Lane.LOW, fencing_token="t")
    keyed = varied(run, idempotency_key="report-2026-W47")
    assert run_item.from_item(run_item.to_item(keyed)) == keyed
    assert "idempotency_key" not in run_item.to_item(run)


RETRYING = run(job(), RunState.RETRYING, attempt=3, error="the answer was 503", code="http.503")


def listed(*attempts: Attempt, of: Run = RETRYING) -> Run:
    return varied(of, earlier=attempts)


def earlier(run: Run) -> tuple[Attempt, ...]:
    return () if run.attempts is None else run.attempts.earlier


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
def test_dynamodb_items_restore_the_attempts_of_a_run(attempts: tuple[Attempt, ...], of: Run) -> None:
    record = listed(*attempts, of=of)
    assert read_again(record) == record


def test_dynamodb_items_of_a_run_without_earlier_attempts_have_no_list() -> None:
    assert "earlier" not in run_item.to_item(RETRYING)


def test_dynamodb_items_fit_twenty_equally_failed_attempts_into_the_record() -> None:
    record = listed(*(failed(number) for number in range(1, 21)))
    assert read_again(record) == record
    assert item_bytes(run_item.to_item(record)) <= 1024


@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("length", range(0, 2001, 50))
def test_dynamodb_items_need_no_more_write_units_because_of_the_list_of_attempts(length: int, count: int) -> None:
    record = varied(RETRYING, error="x" * length, attempt=count + 1)
    attempts = [failed(number, f"{number}: " + "y" * 190) for number in range(1, count + 1)]
    assert write_units(run_item.to_item(listed(*attempts, of=record))) == write_units(run_item.to_item(record))


def test_dynamodb_items_shorten_errors_before_they_omit_attempts_beginning_with_the_oldest() -> None:
    few = [failed(number, f"{number}: " + "y" * 190) for number in (1, 2, 3)]
    shown = earlier(read_again(listed(*few)))
    assert [each.number for each in shown] == [1, 2, 3]
    assert [each.started_at for each in shown] == [each.started_at for each in few]
    assert all((long.error or "").startswith(cut.error or "") for long, cut in zip(few, shown, strict=True))
    many = [failed(number, f"{number}: " + "y" * 190, f"a.rather.long.code-{number}") for number in range(1, 21)]
    numbers = [each.number for each in earlier(read_again(listed(*many)))]
    assert 3 < len(numbers) < 20
    assert numbers == list(range(21 - len(numbers), 21))


def by(number: int, worker: str | None, error: str = "the answer was 503") -> Attempt:
    return replace(failed(number, error), worker=worker)


@pytest.mark.parametrize(
    "attempts",
    [
        (by(1, "host-7"), by(2, None), by(3, "host-8"), by(4, "host-7")),
        tuple(by(number, f"host-{number % 2}") for number in range(1, 7)),
        (by(1, None), by(2, "x" * 100, "no paper")),
    ],
)
def test_dynamodb_items_restore_the_workers_of_the_attempts(attempts: tuple[Attempt, ...]) -> None:
    record = varied(listed(*attempts), callback_hash="h" * 64, worker="host-9")
    assert read_again(record) == record


@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("length", range(0, 2001, 100))
def test_dynamodb_items_need_no_more_write_units_because_of_the_workers_of_attempts(length: int, count: int) -> None:
    record = varied(RETRYING, error="x" * length, attempt=count + 1)
    attempts = [by(number, f"host-{number}" * 9, f"{number}: " + "y" * 190) for number in range(1, count + 1)]
    assert write_units(run_item.to_item(listed(*attempts, of=record))) == write_units(run_item.to_item(record))


def test_dynamodb_items_shorten_errors_before_they_omit_workers() -> None:
    record = listed(*(by(number, "host-7", f"{number}: " + "y" * 190) for number in range(1, 5)))
    assert [each.worker for each in earlier(read_again(record))] == ["host-7"] * 4


def test_dynamodb_items_of_attempts_are_read_as_before_by_releases_that_do_not_know_workers() -> None:
    known, named = (run_item.to_item(listed(by(1, name), by(2, name))) for name in (None, "host-7"))
    assert named.pop("earlier_workers") == {"S": '{"host-7":[1,2]}'}
    assert named == known


IDENTITY = replace(NIGHTLY, count=3, through=int(NOON) + 120, requested_by="alice", workflow="flow@g", wait_priority=4)
FACTS: dict[str, Any] = {
    "attempts_allowed": 4,
    "fencing_token": "t",
    "message_id": "m",
    "nonce": "n",
    "waiting_since": NOON + 1.5,
    "key": "crm",
    "workflow_redriven_at": NOON + 2.25,
    "caught_up": True,
    "expires_at": int(NOON) + 9,
    "round": 2,
    "called_until": NOON + 3.5,
}
"""All facts of a record."""
OWN: dict[str, Any] = {
    "finished_at": NOON + 8.5,
    "lease_until": NOON + 120.5,
    "not_before": NOON + 60.5,
    "reason": "paused",
    "cancel_requested": "cancelled",
    "redriven_at": NOON + 5.5,
    "notified": True,
    "result": {"rows": 3},
    "result_key": "r",
    "result_bytes": 12,
    "result_location": "s3://reports/r",
    "result_error": "AccessDenied",
    "rescheduled": True,
}
"""The fields of states."""
CALLED_BACK = Callback("0" * 64, NOON + 7.5, 0.5, "half")
ALL_PARTS: dict[str, tuple[Any, ...]] = {
    "attempts": (
        Attempts(2, NOON + 6.5, NOON + 0.25, CALLED_BACK, "key", "m-1 m-0", (failed(1, "other", "http.500"),)),
        Attempts(1, NOON + 6.5, NOON + 6.5),
    ),
    "failure": (Failure("the answer was 503", "http.503"), Failure("no")),
    "deadlines": (Deadlines(NOON + 600.5, NOON + 60.5, "d"), Deadlines(NOON + 600.5)),
    "wait": (GateWait("rate", "mail", in_turn=True), GateWait("breaker", "mail")),
    "discard": (Discard(NOON + 900.5, "ann", "sent again"), Discard(NOON + 900.5)),
}
"""Each part, with all its fields and with the required ones."""


def shapes(state: RunState) -> Iterator[Run]:
    """A record of the state with each combination of its parts, with all its other fields and without the optional."""
    kind: Any = STATES[state]
    has = {each.name: each.default is MISSING for each in fields(kind)}
    choices = [[*ALL_PARTS[part], *([] if must else [None])] for part, must in PARTS[state].items()]
    for chosen in product(*choices):
        parts = dict(zip(PARTS[state], chosen, strict=True))
        yield kind(IDENTITY, Lane.LOW, **FACTS, **{name: OWN[name] for name in has if name in OWN}, **parts)
        yield kind(
            NIGHTLY, Lane.LOW, **{name: OWN[name] for name, must in has.items() if name in OWN and must}, **parts
        )


@pytest.mark.parametrize("state", RunState)
def test_dynamodb_items_restore_every_state_with_and_without_each_of_its_parts(state: RunState) -> None:
    written = [*shapes(state)]
    assert [read_again(each) for each in written] == written
    assert run_item.ignored() == 0


def test_dynamodb_items_test_covers_every_field_of_a_record() -> None:
    known = {"identity", "lane", "listed", *FACTS, *OWN, *ALL_PARTS}
    assert {each.name for kind in STATES.values() for each in fields(kind)} == known


EVERY = {name: value for state in RunState for each in shapes(state) for name, value in run_item.to_item(each).items()}
"""An attribute of each name that a record can have."""


MARKS = {
    "attempts": "started_at",
    "failure": "error",
    "deadlines": "waiting_until",
    "wait": "wait_gate",
    "discard": "discarded_at",
}
"""The attribute by which a record has a part that it may have."""


def own(run: Run) -> set[str]:
    """The names of the attributes that the record can have, and those of optional parts that would make it another."""
    parts = (run.identity, run, run.attempts, run.callback, run.failure, run.deadlines, run.discard)
    names = {field.name for each in parts if each is not None for field in fields(each)}
    names |= {"wait_key", "in_turn"} if run.wait is not None else set()
    names |= {"callback_hash"} if run.attempts is not None else set()
    return names | {mark for part, mark in MARKS.items() if part in PARTS[run.state]}


@pytest.mark.parametrize("state", RunState)
def test_dynamodb_items_ignore_and_count_the_attributes_of_other_states(
    state: RunState, caplog: pytest.LogCaptureFixture
) -> None:
    run_item.ignored()
    for each in shapes(state):
        item = run_item.to_item(each)
        of_index = {name for name in EVERY if name.startswith(("active_", "ended_"))}
        foreign = EVERY.keys() - item.keys() - of_index - own(each)
        caplog.clear()
        assert run_item.from_item({name: EVERY[name] for name in foreign} | item) == each
        assert run_item.ignored() == len(foreign)
        assert [line.attributes for line in caplog.records] == [sorted(foreign)]  # type: ignore[attr-defined]


def test_dynamodb_items_do_not_count_attributes_of_later_releases() -> None:
    later = run_item.to_item(RETRYING) | {"written_later": {"S": "x"}}
    assert (run_item.from_item(later), run_item.ignored()) == (RETRYING, 0)
