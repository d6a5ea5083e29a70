"""Targets of kinds of their own: functions, topics, buses, tasks, state machines.

- What a Lambda function's answer makes of an attempt.
- SNS topics as targets, on moto: published to and read from a queue that has subscribed.
- EventBridge buses as targets, on moto: an archive keeps what was accepted.
- Fargate tasks as targets, on moto and, for what moto does not do, a stub.
- Step Functions state machines as targets, on moto.
"""

import base64
import io
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.response import StreamingBody

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.ecs_task import EcsCaller
from duecourse.adapters.targets.aws.lambda_function import LambdaCaller
from duecourse.adapters.targets.aws.message_targets import EventBusCaller, SnsCaller, SqsCaller
from duecourse.adapters.targets.aws.state_machine import StateMachineCaller
from duecourse.domain.jobs.job import Completion
from duecourse.domain.targets.targets import (
    EcsTarget,
    EventBridgeTarget,
    Execution,
    ExecutionService,
    Failed,
    LambdaMode,
    LambdaTarget,
    Returned,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
)
from tests.support.aws_targets import ARNS, TOKEN, Service, a_waiting_call, refusal
from tests.support.calls import a_call, a_job, revised
from tests.support.http_target import answering, http_target
from tests.support.queues import receive
from tests.support.waiting import awaited

TARGET = LambdaTarget("duecourse-target-report")


def answer_of(body: bytes, **fields: Any) -> dict[str, Any]:
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **fields}


@pytest.fixture
def outcome_of(clock):
    def call(service: Service, **fields: Any):
        return LambdaCaller(clock, service.client_for, ARNS).call(a_call(TARGET, **fields), TARGET)

    return call


def test_aws_targets_lambda_receives_run_job_and_payload(outcome_of):
    service = Service(answer_of(b"null"))
    outcome_of(service, payload={"n": 1}, attempt=2)
    (asked,) = service.asked
    assert asked["FunctionName"] == "duecourse-target-report"
    assert asked["InvocationType"] == "RequestResponse"
    assert orjson.loads(asked["Payload"]) == {
        "run_id": "nightly.20261121T064700Z",
        "job_id": "nightly",
        "tenant": "acme",
        "scheduled_at": "2026-11-21T06:47:00Z",
        "due_at": "2026-11-21T06:47:00Z",
        "attempt": 2,
        "idempotency_key": "key-1",
        "payload": {"n": 1},
    }


def test_aws_targets_lambda_return_value_is_stored(outcome_of):
    assert outcome_of(Service(answer_of(b'{"rows":3}'))) == Returned({"status": 200, "body": {"rows": 3}})


def test_aws_targets_lambda_return_value_up_to_256_kb_is_stored_whole(outcome_of):
    outcome = outcome_of(Service(answer_of(b'"' + b"x" * 200_000 + b'"')))
    assert outcome == Returned({"status": 200, "body": "x" * 200_000})


def test_aws_targets_lambda_return_value_over_256_kb_is_truncated(outcome_of):
    outcome = outcome_of(Service(answer_of(b'"' + b"x" * 6_000_000 + b'"')))
    assert isinstance(outcome, Returned)
    assert outcome.result["truncated"] is True
    assert len(outcome.result["body"]) == 256 * 1024


def test_aws_targets_lambda_function_error_is_retryable_and_stores_only_type_and_message(outcome_of):
    body = orjson.dumps({"errorType": "KeyError", "errorMessage": "'id'", "stackTrace": ["line 1"]})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert outcome == Failed("function duecourse-target-report failed: KeyError: 'id'", retryable=True, code="KeyError")


@pytest.mark.parametrize("kind", ["DoNotRetry", "DoNotRetryError", "InvoiceDoNotRetryError", "com.acme.DoNotRetry"])
def test_aws_targets_lambda_function_can_forbid_further_attempts_by_its_error_type(outcome_of, kind):
    body = orjson.dumps({"errorType": kind, "errorMessage": "no such customer"})
    outcome = outcome_of(Service(answer_of(body, FunctionError="Unhandled")))
    assert outcome.forbidden
    assert outcome.code == kind


def test_aws_targets_lambda_errors_of_other_types_do_not_forbid_further_attempts(outcome_of):
    body = orjson.dumps({"errorType": "DoNotRetryYet", "errorMessage": "wait"})
    assert not outcome_of(Service(answer_of(body, FunctionError="Unhandled"))).forbidden


def test_aws_targets_async_lambda_call_completes_when_lambda_accepts_the_event(clock):
    answer, target = answer_of(b"", StatusCode=202), LambdaTarget("duecourse-target-report", LambdaMode.ASYNC)
    service = Service(answer)
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(a_call(target, timeout_seconds=30), target)
    assert outcome == Returned({"status": 202})
    assert service.asked[0]["InvocationType"] == "Event"
    assert orjson.loads(service.asked[0]["Payload"])["run_id"] == "nightly.20261121T064700Z"
    assert service.waits == [10], "nobody waits half a minute for a queue to take an event"


def test_aws_targets_async_lambda_response_is_read_to_its_end_to_free_the_connection(clock):
    body = io.BytesIO(b"{}")
    service = Service({"StatusCode": 202, "Payload": StreamingBody(body, 2)})
    target = LambdaTarget("duecourse-target-report", LambdaMode.ASYNC)
    LambdaCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert body.tell() == 2


def test_aws_targets_lambda_result_that_echoes_the_event_does_not_contain_the_token(clock):
    service = Service(answer_of(orjson.dumps({"event": {"callback": {"token": TOKEN}}})))
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(a_waiting_call(TARGET), TARGET)
    assert TOKEN in service.asked[0]["Payload"].decode()
    assert outcome == Returned({"status": 200, "body": {"event": {"callback": {"token": "***"}}}})


def test_aws_targets_truncated_lambda_result_does_not_contain_the_beginning_of_the_token(clock):
    service = Service(answer_of(b"x" * (256 * 1024 - 20) + TOKEN.encode() + b"x" * 100))
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(a_waiting_call(TARGET), TARGET)
    assert isinstance(outcome, Returned)
    assert outcome.result["truncated"] is True
    assert "dc1" not in outcome.result["body"]


@pytest.mark.parametrize("before", [0, 1_000])
def test_aws_targets_lambda_function_error_does_not_contain_the_callback_token(clock, before):
    body = orjson.dumps({"errorType": "ValueError", "errorMessage": "-" * before + TOKEN})
    service = Service(answer_of(body, FunctionError="Unhandled"))
    assert "dc1.acme" not in LambdaCaller(clock, service.client_for, ARNS).call(a_waiting_call(TARGET), TARGET).error


@pytest.mark.parametrize("body", [b"not json", b"[]", b"{}", b'{"errorMessage": null}'])
def test_aws_targets_lambda_function_error_of_any_shape_is_retryable(outcome_of, body):
    assert outcome_of(Service(answer_of(body, FunctionError="Unhandled"))).retryable


def test_aws_targets_long_lambda_error_is_truncated(outcome_of):
    body = orjson.dumps({"errorType": "E", "errorMessage": "ü" * 5_000})
    assert len(outcome_of(Service(answer_of(body, FunctionError="Unhandled"))).error.encode()) < 1_100


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("TooManyRequestsException", 429),
        ("ServiceException", 500),
        ("EC2ThrottledException", 502),
        ("ResourceConflictException", 409),
        ("SnapStartTimeoutException", 408),
        ("ExpiredTokenException", 403),
        ("ThrottlingException", 400),
    ],
)
def test_aws_targets_throttling_and_service_errors_are_retryable(outcome_of, code, status):
    outcome = outcome_of(Service(refusal(code, status)))
    assert outcome.error.startswith(f"function duecourse-target-report: {code}: ")
    assert (outcome.code, outcome.retryable, outcome.detail) == (code, True, "because")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ResourceNotFoundException", 404),
        ("AccessDeniedException", 403),
        ("InvalidRequestContentException", 400),
        ("RequestTooLargeException", 413),
    ],
)
def test_aws_targets_permanent_errors_are_not_retryable(outcome_of, code, status):
    assert not outcome_of(Service(refusal(code, status))).retryable


def test_aws_targets_throttled_call_passes_on_retry_after(outcome_of):
    assert outcome_of(Service(refusal("TooManyRequestsException", 429, **{"retry-after": "7"}))).retry_after == 7


def test_aws_targets_unreachable_service_is_retryable(outcome_of):
    outcome = outcome_of(Service(EndpointConnectionError(endpoint_url="https://lambda.test")))
    assert outcome.retryable
    assert outcome.code == "connection"


@pytest.mark.parametrize(("timeout_seconds", "seconds"), [(30, 30), (29.2, 30), (0.3, 1)])
def test_aws_targets_client_timeout_is_the_timeout_of_the_attempt(outcome_of, timeout_seconds, seconds):
    service = Service(answer_of(b"null"))
    outcome_of(service, timeout_seconds=timeout_seconds)
    assert service.waits == [seconds]


def test_aws_targets_lambda_function_is_not_called_without_time_left(outcome_of):
    service = Service(answer_of(b"null"))
    assert outcome_of(service, timeout_seconds=0).retryable
    assert service.asked == []


def test_aws_targets_lambda_function_that_times_out_is_called_only_once(clock, session):
    with http_target(lambda handler: handler.server.closing.wait()) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        caller = LambdaCaller(clock, lambda _: clients.calling("lambda", 0.2), ARNS)  # type: ignore[arg-type]
        outcome = caller.call(a_call(TARGET, timeout_seconds=1), TARGET)
        awaited("the request", lambda: endpoint.seen)  # whose sender may have given up before it was read
    text = "function duecourse-target-report did not respond within 1 s; the call may still take effect"
    assert outcome == Failed(text, code="timeout")
    assert len(endpoint.seen) == 1


def test_aws_targets_service_error_is_not_retried_within_the_attempt(clock, session):
    with http_target(answering(500, b'{"Message": "oops"}', X_Amzn_ErrorType="ServiceException")) as endpoint:
        clients = AwsClients(session, endpoint_url=endpoint.url())
        caller = LambdaCaller(clock, lambda seconds: clients.calling("lambda", seconds), ARNS)
        outcome = caller.call(a_call(TARGET), TARGET)
    assert outcome.retryable
    assert len(endpoint.seen) == 1


@pytest.fixture
def sns_caller(mocked, clock):
    return SnsCaller(clock, partial(mocked.calling, "sns"), ARNS)


@pytest.fixture
def subscribed(mocked):
    """Makes a topic; gives what a queue that has subscribed to it received."""

    def make(name):
        sns, sqs, fifo = mocked.get("sns"), mocked.get("sqs").boto3, name.endswith(".fifo")
        attributes = {"FifoTopic": "true"} if fifo else {}
        topic = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
        queue = sqs.create_queue(QueueName="q.fifo" if fifo else "q", Attributes={"FifoQueue": "true"} if fifo else {})
        arn = ARNS.arn("sqs", "q.fifo" if fifo else "q")
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        return lambda: receive(sqs, queue["QueueUrl"])

    return make


def test_aws_targets_sns_message_contains_the_run_and_filterable_attributes(sns_caller, subscribed):
    received = subscribed("duecourse-target-news")
    target = SnsTarget("duecourse-target-news", subject="Report {{week}}")
    outcome = sns_caller.call(a_call(target, payload={"n": "{{date}}"}), target)
    (message,) = received()
    envelope = orjson.loads(message["Body"])
    assert outcome == Returned({"message_id": envelope["MessageId"]})
    event = orjson.loads(envelope["Message"])
    assert event["run_id"] == "nightly.20261121T064700Z"
    assert event["payload"] == {"n": "2026-11-21"}
    assert envelope["Subject"] == "Report 2026-W47"
    attributes = {name: value["Value"] for name, value in envelope["MessageAttributes"].items()}
    assert attributes == {"run_id": "nightly.20261121T064700Z", "job_id": "nightly", "tenant": "acme"}


def test_aws_targets_sns_fifo_topic_drops_a_repeated_run(sns_caller, subscribed):
    received = subscribed("news.fifo")
    target = SnsTarget("news.fifo")
    assert isinstance(sns_caller.call(a_call(target), target), Returned)
    assert isinstance(sns_caller.call(a_call(target, attempt=2), target), Returned)
    assert len(received()) == 1


def test_aws_targets_sns_fifo_message_has_the_group_of_the_job(clock):
    target = SnsTarget("news.fifo", group="{{tenant}}-{{date}}")
    service = Service({"MessageId": "m-1"})
    SnsCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert service.asked[0]["MessageGroupId"] == "acme-2026-11-21"


@pytest.mark.parametrize("group", ["two words", "gr\xfc\xdfe", "x" * 129, "{{job_name}} a", "a\tb"])
@pytest.mark.parametrize("kind", [SqsTarget, SnsTarget])
def test_aws_targets_message_group_that_aws_rejects_is_not_sent_or_retried(clock, kind, group):
    service, target = Service({"MessageId": "m-1"}), kind("news.fifo", group=group)
    caller = {SqsTarget: SqsCaller, SnsTarget: SnsCaller}[kind](clock, service.client_for, ARNS)
    outcome = caller.call(a_call(target), target)
    assert (outcome.code, outcome.retryable, service.asked) == ("bad_template", False, [])
    assert "was not called: group must have 1 to 128 ASCII letters" in outcome.error


def test_aws_targets_sns_standard_message_has_no_group_or_deduplication_id(clock):
    service, target = Service({"MessageId": "m-1"}), SnsTarget("news")
    SnsCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert not {"MessageGroupId", "MessageDeduplicationId", "Subject"} & set(service.asked[0])
    assert service.asked[0]["TopicArn"] == "arn:aws:sns:eu-west-1:123456789012:news"


@pytest.mark.parametrize(
    ("subject", "sent"),
    [("a\nb\tc\x07d", "a b c d"), ("x" * 200, "x" * 96 + "..."), ("Übersicht {{job_id}}", "Übersicht nightly")],
)
def test_aws_targets_sns_subject_is_converted_to_a_valid_one(clock, subject, sent):
    service, target = Service({"MessageId": "m-1"}), SnsTarget("news", subject=subject)
    SnsCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert service.asked[0]["Subject"] == sent


def test_aws_targets_sns_topic_that_does_not_exist_is_not_retryable(sns_caller):
    target = SnsTarget("nobody")
    outcome = sns_caller.call(a_call(target), target)
    assert (outcome.code, outcome.retryable) == ("NotFound", False)


def test_aws_targets_sns_subject_that_cannot_be_rendered_fails(sns_caller):
    target = SnsTarget("news", subject="{{nonsense}}")
    outcome = sns_caller.call(a_call(target), target)
    assert (outcome.code, outcome.retryable) == ("bad_template", False)


BUS_TARGET = EventBridgeTarget("duecourse-target-bus", "acme.billing", "Invoice Due")


def test_aws_targets_eventbridge_accepts_the_event_and_its_id_is_stored(mocked, clock):
    events = mocked.get("events")
    arn = events.create_event_bus(Name=BUS_TARGET.bus)["EventBusArn"]
    events.create_archive(ArchiveName="all", EventSourceArn=arn)
    outcome = EventBusCaller(clock, partial(mocked.calling, "events"), ARNS).call(a_call(BUS_TARGET), BUS_TARGET)
    assert isinstance(outcome, Returned)
    assert outcome.result["event_id"]
    assert events.describe_archive(ArchiveName="all")["EventCount"] == 1


def test_aws_targets_eventbridge_detail_contains_the_run(clock):
    service = Service({"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]})
    outcome = EventBusCaller(clock, service.client_for, ARNS).call(a_call(BUS_TARGET, payload={"n": 1}), BUS_TARGET)
    assert outcome == Returned({"event_id": "e-1"})
    (entry,) = service.asked[0]["Entries"]
    detail = orjson.loads(entry.pop("Detail"))
    assert (detail["run_id"], detail["payload"]) == ("nightly.20261121T064700Z", {"n": 1})
    assert entry == {"EventBusName": "duecourse-target-bus", "Source": "acme.billing", "DetailType": "Invoice Due"}


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("InternalFailure", True),
        ("InternalException", True),
        ("ThrottlingException", True),
        ("MalformedDetail", False),
        ("NotAuthorizedForSource", False),
    ],
)
def test_aws_targets_eventbridge_rejected_entry_fails_although_the_request_succeeds(clock, code, retryable):
    entry = {"ErrorCode": code, "ErrorMessage": "because"}
    service = Service({"FailedEntryCount": 1, "Entries": [entry]})
    outcome = EventBusCaller(clock, service.client_for, ARNS).call(a_call(BUS_TARGET), BUS_TARGET)
    assert (outcome.code, outcome.retryable, outcome.detail) == (code, retryable, "because")
    assert "because" not in outcome.error


ECS_TARGET = EcsTarget("duecourse-target-c", "duecourse-target-report", "main", ("subnet-1", "subnet-2"), ("sg-1",))
STARTED = {"tasks": [{"taskArn": "arn:aws:ecs:eu-west-1:123456789012:task/c/1"}], "failures": []}


def ecs_outcome_of(clock, service, target=ECS_TARGET, **fields):
    return EcsCaller(clock, service.client_for, ARNS).call(a_call(target, **fields), target)


def test_aws_targets_ecs_task_runs_on_fargate_with_the_event_in_its_environment(clock):
    service = Service(STARTED)
    arn = "arn:aws:ecs:eu-west-1:123456789012:task/c/1"
    expected = Returned({"task_arn": arn}, Execution(ExecutionService.ECS, arn))
    assert ecs_outcome_of(clock, service, payload={"n": 1}) == expected
    (asked,) = service.asked
    (container,) = asked.pop("overrides")["containerOverrides"]
    (variable,) = container["environment"]
    event = orjson.loads(variable["value"])
    assert (container["name"], variable["name"]) == ("main", "DUECOURSE_EVENT")
    assert (event["run_id"], event["payload"]) == ("nightly.20261121T064700Z", {"n": 1})
    token = asked.pop("clientToken")
    assert token.startswith("nightly-20261121T064700Z-1-")
    assert len(token) <= 64
    network = {"subnets": ["subnet-1", "subnet-2"], "securityGroups": ["sg-1"], "assignPublicIp": "DISABLED"}
    assert asked == {
        "cluster": "duecourse-target-c",
        "taskDefinition": "duecourse-target-report",
        "launchType": "FARGATE",
        "count": 1,
        "networkConfiguration": {"awsvpcConfiguration": network},
        "startedBy": "duecourse/acme/nightly",
    }


def test_aws_targets_ecs_task_gets_a_public_ip_if_the_target_requires_it(clock):
    service = Service(STARTED)
    ecs_outcome_of(clock, service, EcsTarget("c", "t", "main", ("subnet-1",), public_ip=True))
    network = service.asked[0]["networkConfiguration"]["awsvpcConfiguration"]
    assert network == {"subnets": ["subnet-1"], "securityGroups": [], "assignPublicIp": "ENABLED"}


def test_aws_targets_ecs_accepts_the_request(mocked, clock):
    ecs, ec2 = mocked.get("ecs"), mocked.get("ec2")
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    ecs.create_cluster(clusterName=ECS_TARGET.cluster)
    container = {"name": "main", "image": "scratch", "cpu": 256, "memory": 512}
    ecs.register_task_definition(
        family=ECS_TARGET.task_definition,
        containerDefinitions=[container],
        networkMode="awsvpc",
        requiresCompatibilities=["FARGATE"],
        cpu="256",
        memory="512",
    )
    target = EcsTarget(ECS_TARGET.cluster, ECS_TARGET.task_definition, "main", (subnet,))
    outcome = EcsCaller(clock, partial(mocked.calling, "ecs"), ARNS).call(a_call(target), target)
    assert isinstance(outcome, Returned)
    assert ecs.list_tasks(cluster=ECS_TARGET.cluster, startedBy="duecourse/acme/nightly")["taskArns"] == [
        outcome.result["task_arn"]
    ]


def test_aws_targets_event_too_large_for_ecs_is_rejected_before_the_request(clock):
    service = Service(STARTED)
    outcome = ecs_outcome_of(clock, service, payload="x" * 8_000)
    assert (outcome.code, outcome.retryable) == ("event_too_large", False)
    assert "8192" in outcome.error
    assert service.asked == []


def test_aws_targets_ecs_task_without_capacity_is_retryable_and_reports_the_reason(clock):
    failure = {"arn": "arn", "reason": "RESOURCE:CPU", "detail": "no capacity"}
    assert ecs_outcome_of(clock, Service({"tasks": [], "failures": [failure]})) == Failed(
        "task duecourse-target-report on cluster duecourse-target-c was not run: RESOURCE:CPU",
        code="RESOURCE:CPU",
        detail="no capacity",
    )


def test_aws_targets_ecs_response_without_task_and_reason_fails(clock):
    assert ecs_outcome_of(clock, Service({})).retryable


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [("ServerException", 500, True), ("ClusterNotFoundException", 400, False), ("AccessDeniedException", 400, False)],
)
def test_aws_targets_ecs_errors_are_classified_like_those_of_other_services(clock, code, status, retryable):
    outcome = ecs_outcome_of(clock, Service(refusal(code, status)))
    assert (outcome.code, outcome.retryable) == (code, retryable)


STATES_TARGET = StepFunctionsTarget("duecourse-target-report")
DEFINITION = '{"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}'


@pytest.fixture
def machines(mocked):
    client = mocked.get("stepfunctions")
    client.create_state_machine(name=STATES_TARGET.machine, definition=DEFINITION, roleArn=ARNS.role_arn("machine"))
    return client


@pytest.fixture
def states_caller(mocked, clock):
    return StateMachineCaller(clock, partial(mocked.calling, "stepfunctions"), ARNS)


def test_aws_targets_state_machine_execution_gets_the_run_and_is_named_after_the_attempt(machines, states_caller):
    outcome = states_caller.call(a_call(STATES_TARGET, payload={"n": 1}, attempt=2), STATES_TARGET)
    assert isinstance(outcome, Returned)
    execution = machines.describe_execution(executionArn=outcome.result["execution_arn"])
    assert execution["name"].startswith("nightly-20261121T064700Z-2-")
    event = orjson.loads(execution["input"])
    assert (event["run_id"], event["payload"]) == ("nightly.20261121T064700Z", {"n": 1})


def test_aws_targets_state_machine_repeated_attempt_starts_nothing_and_succeeds(machines, states_caller):
    first = states_caller.call(a_call(STATES_TARGET), STATES_TARGET)
    assert states_caller.call(a_call(STATES_TARGET), STATES_TARGET) == first
    arn = ARNS.arn("states", f"stateMachine:{STATES_TARGET.machine}")
    assert len(machines.list_executions(stateMachineArn=arn)["executions"]) == 1


def test_aws_targets_state_machine_execution_that_already_exists_succeeds(clock):
    service = Service(refusal("ExecutionAlreadyExists", 400))
    outcome = StateMachineCaller(clock, service.client_for, ARNS).call(a_call(STATES_TARGET), STATES_TARGET)
    assert isinstance(outcome, Returned)
    name = service.asked[0]["name"]
    assert outcome.result == {"execution_arn": ARNS.arn("states", f"execution:{STATES_TARGET.machine}:{name}")}


def test_aws_targets_state_machine_express_execution_is_not_followed(clock):
    """Express workflows do not report their end."""
    arn = "arn:aws:states:eu-west-1:123456789012:express:report:x:y"
    outcome = StateMachineCaller(clock, Service({"executionArn": arn}).client_for, ARNS).call(
        a_call(STATES_TARGET), STATES_TARGET
    )
    assert outcome == Returned({"execution_arn": arn})


@pytest.mark.parametrize(
    ("completion", "timeout", "waits"),
    [(Completion.END, 30, [10, 10]), (Completion.END, 8, [4, 4]), (Completion.RESPONSE, 8, [8])],
)
def test_aws_targets_lost_response_is_repeated_once_if_the_job_follows_the_execution(clock, completion, timeout, waits):
    """The service recognizes the name of the attempt. The next attempt has another name and would start another one.
    Both calls together end before the attempt's timeout, because its lease ends soon afterwards.
    """
    service = Service(ReadTimeoutError(endpoint_url="https://states.test"))
    call = revised(a_call(STATES_TARGET, timeout_seconds=timeout), job=a_job(completion=completion))
    outcome = StateMachineCaller(clock, service.client_for, ARNS).call(call, STATES_TARGET)
    assert (outcome.code, service.waits) == ("timeout", waits)
    assert len({asked["name"] for asked in service.asked}) == 1


def test_aws_targets_state_machine_that_does_not_exist_is_not_retryable(mocked, states_caller):
    outcome = states_caller.call(a_call(STATES_TARGET), STATES_TARGET)
    assert (outcome.code, outcome.retryable) == ("StateMachineDoesNotExist", False)


def test_aws_targets_state_machine_execution_limit_is_retryable(clock):
    service = Service(refusal("ExecutionLimitExceeded", 400))
    assert StateMachineCaller(clock, service.client_for, ARNS).call(a_call(STATES_TARGET), STATES_TARGET).retryable


def following(target: Any, **fields: Any) -> Any:
    """The call of a job that follows the work until its end."""
    call = a_call(target, **fields)
    return replace(call, job=replace(call.job, completion=Completion.END))


def test_aws_targets_execution_that_is_followed_has_a_name_for_the_filter_of_events(clock):
    service = Service({"executionArn": "arn:aws:states:eu-west-1:123456789012:execution:flow:x"})
    target = StepFunctionsTarget("flow")
    caller = StateMachineCaller(clock, service.client_for, ARNS)
    outcomes = [caller.call(call, target) for call in (following(target), a_call(target))]
    assert {outcome.execution.id for outcome in outcomes} == {service.answer["executionArn"]}
    followed, other = (asked["name"] for asked in service.asked)
    assert followed.startswith("duecourse-nightly-20261121T064700Z-1-")
    assert other.startswith("nightly-20261121T064700Z-1-")


def test_aws_targets_task_that_is_followed_is_started_by_a_name_for_the_filter_of_events(clock):
    target = EcsTarget("c", "report:7", "main", ("subnet-1",))
    service = Service(STARTED)
    caller = EcsCaller(clock, service.client_for, ARNS)
    caller.call(following(target), target)
    caller.call(a_call(target), target)
    assert [asked["startedBy"] for asked in service.asked] == ["duecourse-acme/nightly", "duecourse/acme/nightly"]


def test_aws_targets_durable_function_is_invoked_with_the_name_of_the_attempt(clock):
    target = LambdaTarget("onboarding", LambdaMode.ASYNC, "live")
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:onboarding:7/durable-execution/x/y"
    service = Service(answer_of(b"", StatusCode=202, DurableExecutionArn=arn))
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(following(target), target)
    expected = Execution(ExecutionService.LAMBDA, arn)
    assert outcome == Returned({"status": 202, "execution_arn": arn}, expected)
    (asked,) = service.asked
    assert (asked["Qualifier"], asked["InvocationType"]) == ("live", "Event")
    assert asked["DurableExecutionName"].startswith("duecourse-nightly-20261121T064700Z-1-")
    assert len(asked["DurableExecutionName"]) <= 64


def test_aws_targets_function_that_is_not_durable_cannot_be_followed(clock):
    target = LambdaTarget("plain", LambdaMode.ASYNC, "live")
    service = Service(answer_of(b"", StatusCode=202))
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(following(target), target)
    assert (outcome.code, outcome.retryable) == ("not_durable", False)


def test_aws_targets_lambda_qualifier_is_the_version_that_is_called(clock):
    target = LambdaTarget("report", qualifier="3")
    service = Service(answer_of(b"null"))
    LambdaCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert service.asked[0]["Qualifier"] == "3"


def test_aws_targets_lambda_log_is_requested_only_if_the_job_keeps_it(clock):
    target, encoded = LambdaTarget("report", log=True), base64.b64encode(b"START\n\xff END\n").decode()
    service, other = Service(answer_of(b"1", LogResult=encoded)), Service(answer_of(b"1"))
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert outcome == Returned({"status": 200, "body": 1}, log="START\n\ufffd END\n")
    assert LambdaCaller(clock, other.client_for, ARNS).call(a_call(TARGET), TARGET).log is None
    assert [asked.get("LogType") for asked in (*service.asked, *other.asked)] == ["Tail", None]


def test_aws_targets_lambda_log_of_a_failure_is_kept(clock):
    target, encoded = LambdaTarget("report", log=True), base64.b64encode(b"Traceback\n").decode()
    body = orjson.dumps({"errorType": "KeyError", "errorMessage": "id"})
    service = Service(answer_of(body, FunctionError="Unhandled", LogResult=encoded))
    outcome = LambdaCaller(clock, service.client_for, ARNS).call(a_call(target), target)
    assert (outcome.code, outcome.log) == ("KeyError", "Traceback\n")


@pytest.mark.parametrize("cut", [1, 4, 10, 23])
def test_aws_targets_lambda_log_does_not_begin_with_the_rest_of_a_token(clock, cut):
    token, target = "dc1.acme.1.S3cretS3cretS3", LambdaTarget("report", log=True)
    after = '", "payload": 7}\n' + "x" * (4096 - 16 - len(token) + cut)
    service = Service(answer_of(b"1", LogResult=base64.b64encode((token[cut:] + after).encode()).decode()))
    assert LambdaCaller(clock, service.client_for, ARNS).call(a_call(target), target).log == after
