"""Items that an earlier release wrote still read, and what it must still be able to read is written as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from duecourse.adapters.dynamodb.jobs import job_item
from duecourse.adapters.dynamodb.runs import run_item
from duecourse.domain.jobs.job import Job
from duecourse.domain.jobs.policies import Delivery, JobState, Lane, MissedMode, MissedPolicy, Overlap, Precision
from duecourse.domain.jobs.retry import Backoff, RetryPolicy
from duecourse.domain.runs.run import Run, RunState
from duecourse.domain.runs.run_identity import RunIdentity
from duecourse.domain.schedules import ScheduleSpec
from duecourse.domain.targets.target_document import type_of
from duecourse.domain.targets.targets import HttpTarget, LambdaTarget, Target
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import NOON, job
from tests.support.varied import varied

# Written by the code of commit 9b74d4e, the last before issue 4.
DEFINITION = (
    '{"name":"Nightly","schedule":{"expression":"0 9 * * 1","timezone":"America/New_York","dst_gap":"next",'
    '"dst_fold":"first","anchor":null,"start":null,"end":null},"target":TARGET,"priority":"high","timeout_seconds":60,'
    '"retry":{"max_attempts":7,"backoff":"linear","min_seconds":0.5,"max_seconds":60},"missed":{"mode":"run_all",'
    '"grace_seconds":30,"max_missed":100},"overlap":"allow","precision":"exact","delivery":"at_most_once",'
    '"idempotency_key":"{{week}}","tags":["billing"],"exclude":["2027-12-24"],"jitter_seconds":5,"max_runs":9}'
)
HTTP = '{"type":"http","url":"https://example.com/r","method":"PUT","headers":[["X-B","2"],["X-A","1"]]}'
LAMBDA = '{"type":"lambda","function":"duecourse-target-a"}'
JOB_ITEM = {
    "PK": {"S": "JOB#default#nightly"},
    "SK": {"S": "JOB"},
    "tenant": {"S": "default"},
    "job_id": {"S": "nightly"},
    "state": {"S": "PAUSED"},
    "generation": {"N": "1795262400001"},
    "created_generation": {"N": "1795262400000"},
    "created_at": {"N": "1795262400.125"},
    "updated_at": {"N": "1795262460.5"},
    "changed_at": {"N": "1795262460.5"},
    "paused_at": {"N": "1795262460.5"},
    "payload": {"S": '{"a":[1,null]}'},
}
RUN_ITEM = {
    "PK": {"S": "JOB#default#nightly"},
    "SK": {"S": "RUN#20261121T120000Z"},
    "due": {"N": "1795262405"},
    "generation": {"N": "5"},
    "state": {"S": "DEAD"},
    "lane": {"S": "high"},
    "reason": {"S": "attempts used up"},
    "attempt": {"N": "2"},
    "attempts_allowed": {"N": "2"},
    "token": {"S": "t"},
    "message_id": {"S": "m"},
    "nonce": {"S": "n"},
    "first_started_at": {"N": "1795262405.25"},
    "started_at": {"N": "1795262415.5"},
    "finished_at": {"N": "1795262416.0"},
    "error": {"S": "503"},
    "result": {"S": '{"status":503}'},
    "notified": {"BOOL": True},
    "expires_at": {"N": "1803038400"},
    "dead_key": {"S": "default#2"},
    "died_at": {"N": "1795262416.0"},
}


@pytest.mark.parametrize(
    ("document", "target"),
    [
        (HTTP, HttpTarget("https://example.com/r", "PUT", (("X-B", "2"), ("X-A", "1")))),
        (LAMBDA, LambdaTarget("duecourse-target-a")),
    ],
)
def test_a_job_of_the_release_before_reads_with_defaults(document: str, target: Target) -> None:
    item: dict[str, Any] = JOB_ITEM | {"definition": {"S": DEFINITION.replace("TARGET", document)}}
    assert job_item.from_item(item) == Job(
        tenant="default",
        id="nightly",
        schedule=ScheduleSpec("0 9 * * 1", "America/New_York"),
        target=target,
        generation=1795262400001,
        created_at=1795262400.125,
        updated_at=1795262460.5,
        changed_at=1795262460.5,
        created_generation=1795262400000,
        name="Nightly",
        payload={"a": [1, None]},
        state=JobState.PAUSED,
        priority=Lane.HIGH,
        timeout_seconds=60,
        retry=RetryPolicy(7, Backoff.LINEAR, 0.5, 60),
        missed=MissedPolicy(MissedMode.RUN_ALL, 30, 100),
        overlap=Overlap.ALLOW,
        precision=Precision.EXACT,
        delivery=Delivery.AT_MOST_ONCE,
        idempotency_key="{{week}}",
        tags=("billing",),
        exclude=("2027-12-24",),
        jitter_seconds=5,
        max_runs=9,
        paused_at=1795262460.5,
    )


def test_a_run_of_the_release_before_reads_with_defaults_and_is_written_as_it_was() -> None:
    run = run_item.from_item(RUN_ITEM)
    assert run == Run(
        RunIdentity(tenant="default", job_id="nightly", occurrence=1795262400, due=1795262405, generation=5),
        state=RunState.DEAD,
        lane=Lane.HIGH,
        reason="attempts used up",
        attempt=2,
        attempts_allowed=2,
        token="t",
        message_id="m",
        nonce="n",
        first_started_at=1795262405.25,
        started_at=1795262415.5,
        finished_at=1795262416.0,
        error="503",
        result={"status": 503},
        notified=True,
        expires_at=1803038400,
    )
    assert run_item.to_item(run) == RUN_ITEM


def test_headers_are_stored_as_the_pairs_that_the_release_before_reads() -> None:
    item, _ = job_item.to_item(job(target=HttpTarget("https://a.example/", headers=(("X-A", "1"), ("X-B", "2")))))
    assert json.loads(item["definition"]["S"])["target"]["headers"] == [["X-A", "1"], ["X-B", "2"]]


def test_only_a_job_whose_calls_are_signed_has_what_the_release_before_cannot_read() -> None:
    plain, _ = job_item.to_item(job(target=HttpTarget("https://a.example/")))
    assert "sign" not in json.loads(plain["definition"]["S"])["target"]
    signed, _ = job_item.to_item(job(target=HttpTarget("https://a.example/", sign="hook")))
    assert json.loads(signed["definition"]["S"])["target"]["sign"] == {"secret": "hook"}


@pytest.mark.parametrize("target", EVERY_TARGET, ids=type_of)
def test_a_job_with_any_target_comes_back_from_its_item(target: Target) -> None:
    made = job(target=target)
    item, payload = job_item.to_item(made)
    assert payload is None
    assert job_item.from_item(item) == made


def test_a_run_that_never_waited_has_no_attribute_of_those_that_do() -> None:
    started = Run(
        RunIdentity("default", "nightly", int(NOON), int(NOON), 5), RunState.RUNNING, Lane.NORMAL, attempt=1, token="t"
    )
    names = {
        "code",
        "result_key",
        "result_bytes",
        "callback_hash",
        "waiting_until",
        "heartbeat_until",
        "cancel_requested",
        "waiting_for",
        "waiting_since",
    }
    assert not names & run_item.to_item(started).keys()
    waits = replace(started, state=RunState.WAITING, waiting_until=NOON + 60.5)
    assert run_item.to_item(waits)["waiting_until"] == {"N": str(NOON + 60.5)}


def test_a_run_that_waits_and_failed_before_comes_back_from_its_item() -> None:
    run = Run(
        RunIdentity("default", "nightly", int(NOON), int(NOON), 5),
        RunState.WAITING,
        Lane.LONG,
        attempt=2,
        token="t",
        code="http.503",
        result_key="results/default/nightly/20261121T120000Z/2.json",
        result_bytes=70_000,
        callback_hash="0" * 64,
        waiting_until=NOON + 600.25,
        heartbeat_until=NOON + 60.5,
        cancel_requested="by the API",
        redriven_at=NOON + 30.5,
    )
    assert run_item.from_item(run_item.to_item(run)) == run


def test_a_run_that_was_asked_for_by_hand_comes_back_from_its_item() -> None:
    asked = Run(
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
        RunState.RUNNING,
        Lane.LOW,
        token="t",
    )
    assert run_item.from_item(run_item.to_item(asked)) == asked
    assert (
        not {"own_payload", "requested_by"}
        & run_item.to_item(varied(asked, own_payload=False, requested_by=None)).keys()
    )


def test_a_run_and_a_request_keep_what_they_are_part_of_and_those_of_before_come_back_without() -> None:
    run = Run(
        RunIdentity("default", "nightly", int(NOON), int(NOON), 5, correlation_id="order-1"),
        RunState.RUNNING,
        Lane.LOW,
        token="t",
    )
    item = run_item.to_item(run)
    assert run_item.from_item(item) == run
    del item["correlation_id"]
    assert run_item.from_item(item) == varied(run, correlation_id=None)


def test_a_run_keeps_the_key_of_its_template_and_one_without_has_no_attribute_of_it() -> None:
    run = Run(RunIdentity("default", "nightly", int(NOON), int(NOON), 5), RunState.RUNNING, Lane.LOW, token="t")
    keyed = replace(run, idempotency_key="report-2026-W47")
    assert run_item.from_item(run_item.to_item(keyed)) == keyed
    assert "idempotency_key" not in run_item.to_item(run)
