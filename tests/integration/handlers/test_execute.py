"""A worker's handler: a batch of a lane's messages in, targets called, what stays in the queue named."""

import json
from typing import Any

import orjson
import pytest

from duecourse.adapters.system import SystemClock
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.cursor import plan
from duecourse.domain.jobs.job import Backoff, Job, RetryPolicy
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.targets import HttpTarget
from duecourse.usecases.dispatch.claim import outgoing
from tests.support.http_target import Behaviour, HttpTargetServer, answering, http_target
from tests.support.jobs import cursor, job
from tests.support.lambda_events import Context, lane_event
from tests.support.queues import bodies, receive

CLOCK = SystemClock()
FAST = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=30, max_seconds=30)
ONCE = RetryPolicy(max_attempts=1)


def enqueued(stage: Any, server: HttpTargetServer, *, due: int = -2, **changes: Any) -> Job:
    """A job whose only occurrence is due `due` seconds from now and waits in the lane, visible."""
    now = CLOCK.now()
    made = job(
        f"at({to_iso(int(now) + due).removesuffix('Z')})",
        at=float(int(now) - 60),
        target=HttpTarget(server.url("/hook")),
        **changes,
    )
    standing = cursor(made)
    assert stage.tables.job_store(CLOCK).create(made, standing)
    (one,) = outgoing(standing, plan(standing, now=now, horizon=840), now=now, nonce=lambda: f"nonce-{made.id}")
    stage.sqs.send_message(QueueUrl=stage.lane, MessageBody=one.message.to_json())
    return made


def only_run(stage: Any, of: Job) -> Run:
    (run,) = stage.tables.run_store().page(of.tenant, of.id, limit=10, before=None)
    assert isinstance(run, Run)
    return run


def delete(stage: Any, messages: list[dict[str, Any]], answer: dict[str, Any]) -> None:
    """What the event source does with a batch that was answered."""
    left = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
    for message in messages:
        if message["MessageId"] not in left:
            stage.sqs.delete_message(QueueUrl=stage.lane, ReceiptHandle=message["ReceiptHandle"])


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def serving(behaviour: Behaviour) -> Any:
    return http_target(behaviour)


def test_execute_runs_and_records_a_batch_and_leaves_no_message(function: Any, stage: Any) -> None:
    with serving(answering(200, b'{"rows":3}', Content_Type="application/json")) as server:
        jobs = [enqueued(stage, server, id=f"job-{number}") for number in range(5)]
        assert function("execute")(lane_event(receive(stage.sqs, stage.lane)), Context()) == {"batchItemFailures": []}
        assert [only_run(stage, each).state for each in jobs] == [RunState.SUCCEEDED] * 5
        assert len(server.seen) == 5


def test_execute_names_run_and_attempt_in_the_call(function: Any, stage: Any) -> None:
    with serving(answering(204)) as server:
        made = enqueued(stage, server, payload={"week": 47})
        function("execute")(lane_event(receive(stage.sqs, stage.lane)), Context())
        (seen,) = server.seen
        run = only_run(stage, made)
        assert seen.headers["X-Duecourse-Run-Id"] == str(run.name)
        assert seen.headers["Idempotency-Key"] == f"{run.tenant}/{run.name}"
        assert (seen.headers["X-Duecourse-Job-Id"], seen.headers["X-Duecourse-Attempt"]) == (made.id, "1")
        assert seen.headers["X-Duecourse-Scheduled-At"] == to_iso(run.occurrence)
        assert orjson.loads(seen.body) == {"week": 47}


def test_execute_records_the_worker_and_the_start_of_a_run(function: Any, stage: Any) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        (message,) = receive(stage.sqs, stage.lane)
        function("execute")(lane_event([message]), Context(aws_request_id="request-7"))
        run = only_run(stage, made)
        assert run.message_id == message["MessageId"]
        assert run.fencing_token.startswith(f"request-7/{message['MessageId']}/")
        assert run.lateness is not None
        assert run.lateness >= 2


def test_execute_makes_no_call_for_a_redelivered_batch(function: Any, stage: Any) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        event = lane_event(receive(stage.sqs, stage.lane))
        execute = function("execute")
        execute(event, Context())
        event["Records"][0]["attributes"]["ApproximateReceiveCount"] = "2"
        assert execute(event, Context(aws_request_id="another")) == {"batchItemFailures": []}
        assert len(server.seen) == 1
        assert only_run(stage, made).state is RunState.SUCCEEDED


def test_execute_after_a_failed_attempt_sends_the_next_one_and_deletes_its_message(function: Any, stage: Any) -> None:
    with serving(answering(500)) as server:
        made = enqueued(stage, server, retry=FAST)
        messages = receive(stage.sqs, stage.lane)
        answer = function("execute")(lane_event(messages), Context())
        assert answer == {"batchItemFailures": []}
        run = only_run(stage, made)
        assert (run.state, run.attempt) == (RunState.RETRYING, 1)
        assert run.not_before is not None
        delete(stage, messages, answer)
        assert stage.attributes(stage.lane)["ApproximateNumberOfMessagesDelayed"] == "1"


def test_execute_announces_a_dead_run_and_leaves_its_message_for_the_dead_letter_queue(
    function: Any, stage: Any
) -> None:
    with serving(answering(500, b"no")) as server:
        made = enqueued(stage, server, retry=ONCE)
        messages = receive(stage.sqs, stage.lane)
        answer = function("execute")(lane_event(messages), Context())
        assert answer == {"batchItemFailures": [{"itemIdentifier": messages[0]["MessageId"]}]}
        run = only_run(stage, made)
        assert (run.state, run.reason, run.nonce) == (RunState.DEAD, "attempts_exhausted", f"nonce-{made.id}")
        (notice,) = bodies(receive(stage.sqs, stage.deaths))
        told = orjson.loads(notice["Message"])
        assert (told["job_id"], told["run_id"], told["attempts"]) == (made.id, str(run.name), 1)
        assert notice["Subject"] == f"Duecourse: run {run.name} is dead"


def test_execute_handles_the_other_messages_beside_an_invalid_one(function: Any, stage: Any) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        fine = receive(stage.sqs, stage.lane)
        huge = orjson.loads(fine[0]["Body"]) | {"occurrence": 10**15}
        texts = ["{", orjson.dumps(huge).decode(), "[]"]
        for text in texts:
            stage.sqs.send_message(QueueUrl=stage.lane, MessageBody=text)
        bad = receive(stage.sqs, stage.lane)
        answer = function("execute")(lane_event(bad[:2] + fine + bad[2:]), Context())
        assert [each["itemIdentifier"] for each in answer["batchItemFailures"]] == [each["MessageId"] for each in bad]
        assert only_run(stage, made).state is RunState.SUCCEEDED


def test_execute_holds_an_early_message_until_its_second(function: Any, stage: Any) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server, due=2)
        function("execute")(lane_event(receive(stage.sqs, stage.lane)), Context())
        run = only_run(stage, made)
        assert run.lateness is not None
        assert run.lateness >= 0


def test_execute_resends_a_run_for_which_the_remaining_time_is_too_short(function: Any, stage: Any) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server, timeout_seconds=30)
        messages = receive(stage.sqs, stage.lane)
        answer = function("execute")(lane_event(messages), Context(remaining_ms=20_000))
        assert answer == {"batchItemFailures": []}
        delete(stage, messages, answer)
        assert server.seen == []
        (body,) = bodies(receive(stage.sqs, stage.lane))
        assert (body["job_id"], body["attempt"]) == (made.id, 1)
        assert body["nonce"] != f"nonce-{made.id}"


def test_execute_records_the_occurrence_of_a_deleted_job_as_skipped(function: Any, stage: Any) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        assert stage.tables.job_store(CLOCK).delete(made, deleted_at=CLOCK.now())
        assert function("execute")(lane_event(receive(stage.sqs, stage.lane)), Context()) == {"batchItemFailures": []}
        run = only_run(stage, made)
        assert (run.state, run.reason) == (RunState.SKIPPED, "deleted")
        assert server.seen == []


def test_execute_logs_and_counts_the_work_of_a_worker(
    function: Any, stage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(answering(200)) as server:
        made = enqueued(stage, server)
        function("execute")(lane_event(receive(stage.sqs, stage.lane)), Context())
        run = only_run(stage, made)
    written = lines(capsys)
    (line,) = [each for each in written if each.get("action") == "run_settled"]
    assert (line["level"], line["run_id"], line["state"]) == ("INFO", str(run.name), "SUCCEEDED")
    assert (line["tenant"], line["job_id"], line["function_name"]) == (made.tenant, made.id, Context().function_name)
    assert sum(line["delays"].values()) == pytest.approx(line["lateness_seconds"], abs=0.01)
    metrics, by_lane, balance, by_target = [each for each in written if "_aws" in each]
    assert (balance["lane"], balance["FailuresBeyond"]) == ("normal", [-0.4])
    assert (metrics["function"], by_lane["lane"]) == ("execute", "normal")
    assert (metrics["RunsSucceeded"], metrics["MessagesReceived"], metrics["AttemptsFailed"]) == ([1.0], [1.0], [0.0])
    assert (by_target["target"], by_target["RunsSucceeded"]) == ("http", [1.0])
    assert by_lane["Lateness"][0] >= 2000
