"""Jobs and runs come back from their items as they were."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.adapters.dynamodb.jobs import job_item
from duecourse.adapters.dynamodb.runs import run_item
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.identity import RunIdentity
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import Target
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import NOON, job
from tests.support.varied import record, varied

NIGHTLY = RunIdentity("default", "nightly", int(NOON), int(NOON), 5)


@pytest.mark.parametrize("target", EVERY_TARGET, ids=type_of)
def test_a_job_with_any_target_comes_back_from_its_item(target: Target) -> None:
    made = job(target=target)
    item, payload = job_item.to_item(made)
    assert payload is None
    assert job_item.from_item(item) == made


def test_a_run_that_never_waited_has_no_attribute_of_those_that_do() -> None:
    started = record(RunState.RUNNING, NIGHTLY, Lane.NORMAL, attempt=1, token="t")
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


def test_a_run_that_waits_and_failed_before_comes_back_from_its_item() -> None:
    run = record(
        RunState.WAITING,
        NIGHTLY,
        Lane.LONG,
        attempt=2,
        token="t",
        code="http.503",
        callback_hash="0" * 64,
        waiting_until=NOON + 600.25,
        heartbeat_until=NOON + 60.5,
        cancel_requested="by the API",
        redriven_at=NOON + 30.5,
    )
    assert run_item.from_item(run_item.to_item(run)) == run


def test_a_run_with_a_large_result_comes_back_from_its_item() -> None:
    key = "results/default/nightly/20261121T120000Z/2.json"
    done = record(RunState.SUCCEEDED, NIGHTLY, attempt=2, token="t", result_key=key, result_bytes=70_000)
    assert run_item.from_item(run_item.to_item(done)) == done


def test_a_run_that_was_asked_for_by_hand_comes_back_from_its_item() -> None:
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
        token="t",
    )
    assert run_item.from_item(run_item.to_item(asked)) == asked
    assert (
        not {"own_payload", "requested_by"}
        & run_item.to_item(varied(asked, own_payload=False, requested_by=None)).keys()
    )


def test_a_run_and_a_request_keep_what_they_are_part_of_and_those_of_before_come_back_without() -> None:
    run = record(RunState.RUNNING, replace(NIGHTLY, correlation_id="order-1"), Lane.LOW, token="t")
    item = run_item.to_item(run)
    assert run_item.from_item(item) == run
    del item["correlation_id"]
    assert run_item.from_item(item) == varied(run, correlation_id=None)


def test_a_run_keeps_the_key_of_its_template_and_one_without_has_no_attribute_of_it() -> None:
    run = record(RunState.RUNNING, NIGHTLY, Lane.LOW, token="t")
    keyed = replace(run, idempotency_key="report-2026-W47")
    assert run_item.from_item(run_item.to_item(keyed)) == keyed
    assert "idempotency_key" not in run_item.to_item(run)
