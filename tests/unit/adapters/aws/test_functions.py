"""Invocations of Lambda functions by our own transport, beside boto3: the same requests, responses and outcomes."""

import base64
import sys
from collections.abc import Callable
from subprocess import run
from typing import Any

import boto3
import orjson
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.aws.functions import Functions
from duecourse.adapters.targets.aws.lambda_function import LambdaCaller
from duecourse.domain.jobs.job import Completion
from duecourse.domain.targets.targets import Failed, LambdaMode, LambdaTarget, Outcome, Returned
from duecourse.ports import ServiceError
from duecourse.testing.clock import SettableClock
from tests.support.aws_targets import ARNS
from tests.support.calls import a_call, a_job, revised
from tests.support.http_target import Behaviour, HttpTargetServer, answering, http_target, writing
from tests.support.waiting import PATIENCE_SECONDS, awaited
from tests.unit.adapters.aws.test_transport import forgetful, reset, silent, then

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:report"
DURABLE = f"{ARN}:7/durable-execution/x/y"
TRACE = "Root=1-5759e988;Parent=53995c3f;Sampled=0;Lineage=2:a87bd80c:16"
LOG = base64.b64encode(b"x" * 4_096).decode()
SLOW = "function report did not respond within 1 s; the call may still take effect"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(1_795_243_620.0)


@pytest.fixture(scope="module")
def session() -> boto3.Session:
    """One session, which reads the model of Lambda once."""
    return boto3.Session("AKIAEXAMPLE", "secret/+key", "token", region_name="eu-west-1")


@pytest.fixture
def clients_of(clock: SettableClock, session: boto3.Session) -> Callable[..., AwsClients]:
    def made(server: HttpTargetServer, **fields: Any) -> AwsClients:
        return AwsClients(session, endpoint_url=server.url(""), **{"now": clock.now, **fields})

    return made


def refused(code: str | None, status: int, body: bytes = b'{"Message":"because"}', **headers: str) -> Behaviour:
    named = {} if code is None else {"x_amzn_ErrorType": code}
    return answering(status, body, Connection="close", **named, **headers)


def function(body: bytes = b"null", status: int = 200, **headers: str) -> Behaviour:
    return answering(status, body, Connection="close", X_Amz_Executed_Version="3", **headers)


def headers_of(server: HttpTargetServer, number: int) -> dict[str, str]:
    return {name.lower(): value for name, value in server.seen[number].headers.items()}


ASKED: dict[str, dict[str, Any]] = {
    "name": {"FunctionName": "report", "InvocationType": "RequestResponse"},
    "arn": {"FunctionName": ARN, "InvocationType": "RequestResponse", "LogType": "Tail"},
    "latest": {"FunctionName": "report", "InvocationType": "Event", "Qualifier": "$LATEST"},
    "durable": {"FunctionName": "report", "InvocationType": "Event", "DurableExecutionName": "a-1", "Qualifier": "9"},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("traced", [True, False])
def test_functions_send_the_same_request_as_boto3(clients_of, monkeypatch, asked, traced) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", TRACE)
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    if traced:
        monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "execute")
    with http_target(function()) as server:
        client = clients_of(server).calling("lambda", 5)
        for each in (client, client.boto3):
            each.invoke(**asked, Payload=b'{"n":1}')["Payload"].read()
    ours, theirs = server.seen
    assert (ours.method, ours.path, ours.body) == (theirs.method, theirs.path, theirs.body)
    mine, other = headers_of(server, 0), headers_of(server, 1)
    assert mine.get("x-amzn-trace-id") == (TRACE if traced else None)
    meant = {name for name in other if not name.startswith("amz-sdk-")} - {"accept-encoding", "connection"}
    assert mine.keys() == meant
    same = meant - {"authorization", "user-agent", "x-amz-date"}
    assert {name: mine[name] for name in same} == {name: other[name] for name in same}
    signed = [each["authorization"].partition("SignedHeaders=")[2].partition(",")[0] for each in (mine, other)]
    assert signed[0] == signed[1]


@pytest.mark.parametrize(
    "behaviour",
    [
        function(b'{"rows":3}'),
        function(b"", 202),
        function(b"", 202, X_Amz_Durable_Execution_Arn=DURABLE),
        function(b'{"errorType":"E"}', X_Amz_Function_Error="Unhandled", X_Amz_Log_Result=LOG),
        function(b"x" * 3_000_000),
    ],
    ids=["result", "accepted", "durable", "failed", "large"],
)
def test_functions_return_the_same_as_boto3(clients_of, behaviour) -> None:
    with http_target(behaviour) as server:
        client = clients_of(server).calling("lambda", PATIENCE_SECONDS)
        answers = [each.invoke(**ASKED["name"], Payload=b"{}") for each in (client, client.boto3)]
        bodies = [answer.pop("Payload").read() for answer in answers]
    del answers[1]["ResponseMetadata"]
    assert (answers[0], bodies[0]) == (answers[1], bodies[1])


TROUBLE: dict[str, Behaviour] = {
    "throttled": refused("TooManyRequestsException", 429, Retry_After="7"),
    "missing": refused("ResourceNotFoundException:http://internal.amazon.com/coral/", 404),
    "too large": refused("RequestTooLargeException", 413),
    "key": refused("KMSAccessDeniedException", 502),
    "key throttled": refused("KMSThrottlingException", 400),
    "network": refused("EC2ThrottledException", 502),
    "starting": refused("SnapStartTimeoutException", 408),
    "conflict": refused("ResourceConflictException", 409, b'{"message":"updating","Type":"User"}'),
    "content": refused("InvalidRequestContentException", 400),
    "forbidden": refused("AccessDeniedException", 403),
    "expired": refused("ExpiredTokenException", 403),
    "service": refused("ServiceException", 500, Retry_After="Sat, 21 Nov 2026 06:47:20 GMT"),
    "code in the body": refused(None, 400, b'{"__type":"com.amazonaws.lambda#ThrottlingException","message":"no"}'),
    "own code": refused(None, 403, b'{"code":"com.example#Odd:x","message":"no"}'),
    "no code": refused(None, 403, b'{"message":"no"}'),
    "no document": refused(None, 400, b"bad request"),
    "page": refused(None, 503, b"<html><body>busy</body></html>"),
    "nothing": refused(None, 502, b""),
    "redirect": refused(None, 307, b"{}", Location="https://lambda.example.com"),
    "reset": reset,
    "broken head": writing(b"HTTP/1.1 2"),
    "no http": writing(b"SSH-2.0-OpenSSH\r\n\r\n"),
    "hangs up": writing(),
}


@pytest.mark.parametrize("mode", LambdaMode)
@pytest.mark.parametrize("behaviour", TROUBLE.values(), ids=TROUBLE)
def test_functions_fail_with_the_same_outcome_as_with_boto3_after_one_request(
    clients_of, clock, behaviour, mode
) -> None:
    target = LambdaTarget("report", mode)
    with http_target(behaviour) as server:
        client = clients_of(server).calling("lambda", PATIENCE_SECONDS)
        ours, theirs = (
            LambdaCaller(clock, lambda _, used=used: used, ARNS).call(a_call(target), target)
            for used in (client, client.boto3)
        )
        assert len(server.seen) == 2
    assert isinstance(ours, Failed)
    assert ours == theirs


def outcome_of(clients: AwsClients, clock: SettableClock, target: LambdaTarget | None = None, **fields: Any) -> Outcome:
    target = target or LambdaTarget("report")
    caller = LambdaCaller(clock, lambda seconds: clients.calling("lambda", seconds), ARNS)
    return caller.call(a_call(target, **fields), target)


def test_functions_raise_the_errors_of_services_with_code_status_and_document(clients_of) -> None:
    missing = refused("ResourceNotFoundException", 404)
    with http_target(missing) as server, pytest.raises(ServiceError, match="because") as caught:
        clients_of(server).calling("lambda", 5).invoke(**ASKED["name"], Payload=b"{}")
    assert (caught.value.code, caught.value.status) == ("ResourceNotFoundException", 404)


def test_functions_that_cannot_be_reached_fail_as_with_boto3(clock, session) -> None:
    clients = AwsClients(session, endpoint_url="http://127.0.0.1:1")
    expected = Failed("function report could not be reached (EndpointConnectionError)", code="connection")
    boto3_client = clients.calling("lambda", 5).boto3
    target = LambdaTarget("report")
    theirs = LambdaCaller(clock, lambda _: boto3_client, ARNS).call(a_call(target), target)
    assert outcome_of(clients, clock) == theirs == expected


@pytest.mark.parametrize(("seconds", "patience"), [(30, 2), (1, 1)])
def test_functions_wait_two_seconds_for_a_connection_and_never_longer_than_the_call(clock, session, seconds, patience):
    waits: list[float] = []

    def dial(_address: tuple[str, int], wait: float) -> Any:
        waits.append(wait)
        raise TimeoutError("timed out")

    clients = AwsClients(session, endpoint_url="http://127.0.0.1:1", dial=dial)
    outcome = outcome_of(clients, clock, timeout_seconds=seconds)
    assert outcome == Failed("function report could not be reached (ConnectTimeoutError)", code="connection")
    assert waits == [patience]


@pytest.mark.parametrize(
    "behaviour",
    [
        silent,
        writing(b"HTTP/1.1 200 OK\r\nX-A: ", drip=b"x"),
        writing(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", drip=b"x"),
        writing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", drip=b"1\r\nx\r\n"),
    ],
    ids=["silent", "in the head", "in the body", "in chunks"],
)
def test_functions_end_a_call_at_its_timeout_even_if_bytes_still_arrive(clients_of, clock, behaviour) -> None:
    with http_target(behaviour) as server:
        assert outcome_of(clients_of(server), clock, timeout_seconds=1) == Failed(SLOW, code="timeout")
        awaited("the request", lambda: server.seen)
        assert len(server.seen) == 1


def test_functions_response_that_breaks_off_is_a_failed_connection(clients_of, clock) -> None:
    with http_target(writing(b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"rows"')) as server:
        outcome = outcome_of(clients_of(server), clock)
        assert len(server.seen) == 1
    assert outcome == Failed("function report could not be reached (ConnectionClosedError)", code="connection")


UNUSUAL: dict[str, bytes] = {
    "chunked": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"rows":\r\n2\r\n3}\r\n0\r\n\r\n',
    "no length": b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"rows":3}',
    "interim": b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"rows":3}',
    "older version": b'HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\n{"rows":3}',
    "encoded": b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Encoding: br\r\n\r\n{"rows":3}',
}


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL)
def test_functions_read_an_unusual_response_because_the_call_must_not_be_repeated(
    clients_of, clock, text, pieces
) -> None:
    size = len(text) // pieces
    cut = [text[begin : begin + size] for begin in range(0, len(text), size)]
    with http_target(writing(*cut)) as server:
        assert outcome_of(clients_of(server), clock) == Returned({"status": 200, "body": {"rows": 3}})
        assert len(server.seen) == 1


@pytest.mark.parametrize("tail", [b"5\r\nabc", b"-1\r\n", b"zz\r\n"], ids=["short", "negative", "no number"])
def test_functions_broken_chunks_are_a_failed_connection(clients_of, clock, tail) -> None:
    with http_target(writing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + tail)) as server:
        outcome = outcome_of(clients_of(server), clock)
    assert outcome == Failed("function report could not be reached (ConnectionClosedError)", code="connection")


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 9\r\nContent-Length: 2",
        b"Content-Length: +2",
        b"Content-Length: " + b"1" * 5000,
        b"Transfer-Encoding: gzip\r\nContent-Length: 2",
    ],
    ids=["different lengths", "sign", "too long", "coding"],
)
def test_functions_response_of_uncertain_length_is_a_failed_connection(clients_of, clock, headers) -> None:
    with http_target(writing(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n{}")) as server:
        outcome = outcome_of(clients_of(server), clock)
        assert len(server.seen) == 1
    assert outcome == Failed("function report could not be reached (ConnectionClosedError)", code="connection")


def test_functions_result_over_256_kb_is_truncated(clients_of, clock) -> None:
    with http_target(function(b'"' + b"x" * 400_000 + b'"')) as server:
        outcome = outcome_of(clients_of(server), clock)
    assert isinstance(outcome, Returned)
    assert (outcome.result["truncated"], len(outcome.result["body"])) == (True, 256 * 1024)


# Connections.


def kept(handler: Any) -> None:
    answering(200, b"null")(handler)
    handler.close_connection = False


def test_functions_with_different_timeouts_share_connections(clients_of, clock) -> None:
    with http_target(kept) as server:
        clients = clients_of(server)
        for seconds in range(1, 30):
            assert outcome_of(clients, clock, timeout_seconds=seconds) == Returned({"status": 200, "body": None})
        assert (len(server.seen), server.connections) == (29, 1)
        clients.get("lambda", once=True).close()


@pytest.mark.parametrize(("seconds", "connections"), [(9.9, 1), (10, 2), (3_600, 2), (-1, 2)])
def test_functions_do_not_reuse_a_connection_after_ten_seconds_or_a_clock_reset(
    clients_of, clock, seconds, connections
) -> None:
    """An environment that was frozen does not hear that a connection has ended."""
    with http_target(kept) as server:
        clients = clients_of(server)
        outcome_of(clients, clock)
        clock.advance(seconds)
        outcome_of(clients, clock)
        assert server.connections == connections
        clients.get("lambda", once=True).close()


def test_functions_call_on_a_kept_connection_that_fails_is_not_repeated(clients_of, clock) -> None:
    with http_target(forgetful) as server:
        clients = clients_of(server)
        outcome_of(clients, clock)
        outcome = outcome_of(clients, clock)
        assert len(server.seen) == 2
    assert outcome == Failed("function report could not be reached (ConnectionClosedError)", code="connection")


def test_functions_lost_start_of_a_durable_function_is_repeated_once_with_the_same_name(clients_of, clock) -> None:
    target = LambdaTarget("report", LambdaMode.ASYNC, "live")
    with http_target(reset) as server:
        caller = LambdaCaller(clock, lambda seconds: clients_of(server).calling("lambda", seconds), ARNS)
        call = revised(a_call(target), job=a_job(completion=Completion.END))
        assert isinstance(caller.call(call, target), Failed)
        names = {headers_of(server, number)["x-amz-durable-execution-name"] for number in (0, 1)}
        assert (len(server.seen), len(names)) == (2, 1)


# boto3.


def test_functions_do_not_load_boto3_if_the_lambda_environment_is_sufficient() -> None:
    program = """
import sys
from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.lambda_function import LambdaCaller
from duecourse.domain.targets.targets import LambdaTarget, Returned
from duecourse.testing.clock import SettableClock
from tests.support.calls import a_call

clients, target = AwsClients(), LambdaTarget("report")
caller = LambdaCaller(SettableClock(0), lambda seconds: clients.calling("lambda", seconds), None)
outcomes = [caller.call(a_call(target), target) for _ in range(2)]
assert (outcomes[0], outcomes[1].code) == (Returned({"status": 200, "body": None}), "ServiceException")
found = {"boto3", "botocore", "urllib3"} & set(sys.modules)
assert not found, found
"""
    with http_target(then(function(), refused("ServiceException", 500))) as server:
        environment = {
            "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": server.url(""), "PYTHONPATH": ":".join(sys.path),
        }  # fmt: skip
        run([sys.executable, "-c", program], env=environment, check=True)
    assert [seen.path for seen in server.seen] == ["/2015-03-31/functions/report/invocations"] * 2


def test_functions_are_invoked_by_boto3_behind_a_proxy(clock, session, monkeypatch) -> None:
    with http_target(function(b'{"rows":3}')) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(""))
        monkeypatch.setenv("NO_PROXY", "")
        clients = AwsClients(session, endpoint_url="http://lambda.invalid")
        assert outcome_of(clients, clock) == Returned({"status": 200, "body": {"rows": 3}})
        assert len(proxy.seen) == 1


def test_functions_are_invoked_by_boto3_at_an_endpoint_with_a_path(clock, session) -> None:
    with http_target(refused("TooManyRequestsException", 429)) as server:
        clients = AwsClients(session, endpoint_url=server.url("/below"))
        assert outcome_of(clients, clock).code == "TooManyRequestsException"
        assert [seen.path for seen in server.seen] == ["/below/2015-03-31/functions/report/invocations"]


def test_functions_with_the_credentials_of_a_role_use_boto3(session) -> None:
    from duecourse.adapters.aws.clients import Credentials

    clients = AwsClients(session)
    assert isinstance(clients.calling("lambda", 5), Functions)
    assert not isinstance(clients.calling("lambda", 5, Credentials("ASIA1", "secret", "token", 0.0)), Functions)


def test_functions_have_the_other_methods_of_boto3_and_its_errors(clients_of) -> None:
    with http_target(refused("ResourceNotFoundException", 404)) as server:
        client = clients_of(server).calling("lambda", 5)
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            client.get_durable_execution(DurableExecutionArn=DURABLE)
    unreachable = clients_of(server).calling("lambda", 5)
    with pytest.raises(BotoCoreError):
        unreachable.stop_durable_execution(DurableExecutionArn=DURABLE)


def test_functions_event_is_the_payload(clients_of, clock) -> None:
    with http_target(function()) as server:
        outcome_of(clients_of(server), clock, LambdaTarget("report", log=True), payload={"n": "zw\xf6lf"})
    assert orjson.loads(server.seen[0].body)["payload"] == {"n": "zw\xf6lf"}
    assert headers_of(server, 0)["x-amz-log-type"] == "Tail"
