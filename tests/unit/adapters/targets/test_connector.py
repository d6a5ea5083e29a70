"""Calls through a connector: what differs from a direct call. `http` in conftest.py runs the tests of direct calls
through a connector too.
"""

import socket
import subprocess
import sys
from dataclasses import replace

import orjson
import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from duecourse.adapters.aws import transport
from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.adapters.targets.invocation import READ_BYTES
from duecourse.domain.targets.targets import Failed, HttpTarget, Returned, TaskTarget
from duecourse.ports import ServiceError
from tests.support.authority import Authority
from tests.support.calls import a_call, revised
from tests.support.connectors import (
    ANYWHERE,
    LOCAL_NOTATIONS,
    OFFICE,
    REBOUND,
    Lambda,
    connected,
    refused,
    relay,
    unknown_name,
)
from tests.support.http_target import answering, http_target, writing


@pytest.fixture
def client() -> Lambda:
    """Lambda with a connector of the local stage."""
    return Lambda(relay())


@pytest.fixture
def via(clock, secrets, client) -> HttpCaller:
    """A worker that calls all targets through it."""
    return connected(clock, secrets, client)


def strict(clock, secrets, connector=ANYWHERE, **fields) -> HttpCaller:
    """A worker of a stage on AWS, whose connector never calls its own machine."""
    return connected(clock, secrets, Lambda(relay(connector, private=False, **fields)))


@pytest.mark.parametrize("addresses", [each for each in REBOUND if each != ["10.0.0.7"]])
def test_connector_does_not_call_a_name_with_any_address_that_is_refused(call, clock, secrets, addresses):
    connector = replace(ANYWHERE, cidrs=(*OFFICE.cidrs, "127.0.0.0/8", "169.254.0.0/16", "::/0"))
    caller = strict(clock, secrets, connector, resolve=lambda host, port: addresses)
    outcome, seen = call(by=caller, host="rebinding.test")
    assert (seen, outcome.code, outcome.retryable) == ([], "address_refused", False)
    assert "via office: the host has an address" in outcome.error


@pytest.mark.parametrize("host", LOCAL_NOTATIONS)
def test_connector_does_not_call_its_own_machine_in_any_notation(call, clock, secrets, host):
    outcome, seen = call(by=strict(clock, secrets), host=host)
    assert (outcome.retryable, seen) == (False, [])


def test_connector_does_not_call_a_private_address_outside_its_networks(call, clock, secrets):
    caller = strict(clock, secrets, replace(OFFICE, hosts=("*",)), resolve=lambda host, port: ["192.168.0.1"])
    outcome, _ = call(by=caller, host="printer.test")
    assert (outcome.code, outcome.retryable) == ("address_refused", False)
    assert "connectors.office.cidrs" in outcome.error
    assert "192.168" not in outcome.error, "it would tell tenants the addresses of hosts"


def test_connector_does_not_resolve_a_host_outside_its_list(call, clock, secrets):
    asked = []
    caller = strict(clock, secrets, OFFICE, resolve=lambda host, port: asked.append(host) or ["10.0.0.7"])
    outcome, _ = call(by=caller, host="evil.test")
    assert (asked, outcome.code, outcome.retryable) == ([], "address_refused", False)
    assert "connectors.office.hosts" in outcome.error


def test_connector_resolves_once_and_connects_to_the_address_that_was_checked(call, clock, secrets):
    asked = []
    client = Lambda(relay(resolve=lambda host, port: asked.append(host) or ["127.0.0.1"]))
    outcome, (seen,) = call(by=connected(clock, secrets, client), host="erp.corp.example")
    assert isinstance(outcome, Returned)
    assert asked == ["erp.corp.example"]
    assert seen.headers["Host"] == f"erp.corp.example:{seen.port}"


def test_connector_does_not_follow_redirects(call, via):
    outcome, seen = call(answering(302, Location="http://127.0.0.1:1/"), by=via)
    assert (outcome.code, len(seen)) == ("http.302", 1)
    assert "redirects are not followed" in outcome.error


def test_connector_checks_certificates_against_the_name_of_the_host(clock, secrets, tmp_path):
    authority = Authority()
    client = Lambda(relay(resolve=lambda host, port: ["127.0.0.1"], trust=authority.trusted))
    caller = connected(clock, secrets, client)
    for name, code in (("erp.corp.example", None), ("other.corp.example", "tls")):
        with http_target(answering(200), authority.server(name, tmp_path)) as server:
            target = HttpTarget(f"https://erp.corp.example:{server.port}/")
            outcome = caller.call(a_call(target), target)
        assert getattr(outcome, "code", None) == code


def test_connector_receives_the_finished_request_and_no_name_of_a_secret(call, via, client, secrets):
    secrets.known["acme", "api-key"] = "s3cr3t"
    outcome, (seen,) = call(by=via, headers=(("Authorization", "Bearer {{secret:api-key}}"),), payload={"n": 1})
    assert isinstance(outcome, Returned)
    assert (seen.headers["Authorization"], orjson.loads(seen.body)) == ("Bearer s3cr3t", {"n": 1})
    (event,) = client.events
    assert "api-key" not in orjson.dumps(event).decode()
    assert event.keys() == {
        *("scheme", "host", "port", "resource", "method", "headers", "body", "reusable", "seconds", "most_bytes"),
    }


def test_connector_has_less_time_than_the_worker_which_waits_until_the_timeout(call, via, client):
    call(by=via, timeout_seconds=20)
    assert client.waits == [20]
    assert 19 < client.events[0]["seconds"] <= 19.5


def test_connector_reports_a_slow_target_as_a_timeout_of_the_target(call, via):
    outcome, _ = call(writing(b"HTTP/1.1 200 OK\r\n", drip=b"x"), by=via, timeout_seconds=0.3)
    assert (outcome.code, outcome.retryable) == ("timeout", True)
    assert "sent no complete response within 0.3 s" in outcome.error


@pytest.mark.parametrize("error", [ReadTimeoutError(endpoint_url="https://lambda.test"), TimeoutError("too late")])
def test_connector_that_does_not_answer_in_time_is_a_timeout(call, via, client, error):
    client.error = error
    outcome, _ = call(by=via)
    assert (outcome.code, outcome.retryable, outcome.detail) == ("timeout", True, None)


def test_connector_cuts_a_large_response_as_a_worker_does(call, via):
    outcome, _ = call(answering(200, b"x" * (READ_BYTES + 10)), by=via)
    assert outcome == Returned({"status": 200, "body": "x" * READ_BYTES, "truncated": True})


FAILURES = {
    "throttled": (refused("TooManyRequestsException", 429), "TooManyRequestsException"),
    "pending": (refused("ResourceConflictException", 409), "ResourceConflictException"),
    "forbidden": (refused("AccessDeniedException", 403), "AccessDeniedException"),
    "missing": (refused("ResourceNotFoundException", 404), "ResourceNotFoundException"),
    "out of reach": (EndpointConnectionError(endpoint_url="https://lambda.test"), "EndpointConnectionError"),
    "no connection": (ConnectTimeoutError(endpoint_url="https://lambda.test"), "ConnectTimeoutError"),
    "throttled, without boto3": (
        ServiceError("TooManyRequestsException", "Rate Exceeded.", status=429),
        "TooManyRequestsException",
    ),
    "out of reach, without boto3": (transport.EndpointConnectionError("refused"), "EndpointConnectionError"),
    "closed, without boto3": (transport.ConnectionClosedError("reset"), "ConnectionClosedError"),
}


@pytest.mark.parametrize(("error", "name"), FAILURES.values(), ids=FAILURES)
def test_connector_that_cannot_be_invoked_is_retryable_and_no_error_of_the_target(call, via, client, error, name):
    client.error = error
    outcome, seen = call(by=via)
    assert (seen, outcome.code, outcome.retryable) == ([], "connector_unavailable", True)
    assert outcome.error.startswith("the connector office ")
    assert name in outcome.error
    assert "Rate Exceeded." not in outcome.error, "the message of the service is for operators"
    assert outcome.detail.startswith(f"Duecourse-test-via-office: {name}")


def test_connector_whose_function_fails_is_retryable_and_its_error_is_for_operators(call, via, client, secrets):
    secrets.known["acme", "api-key"] = "s3cr3t"
    client.failure, client.answer = "Unhandled", b'{"errorMessage": "no memory at 10.0.0.7 for Bearer s3cr3t"}'
    outcome, _ = call(by=via, headers=(("Authorization", "Bearer {{secret:api-key}}"),))
    assert (outcome.code, outcome.retryable) == ("connector_unavailable", True)
    assert "10.0.0.7" not in outcome.error
    assert "no memory" in outcome.detail
    assert "s3cr3t" not in outcome.detail


@pytest.mark.parametrize("shown", [0, 1, 30, 60])
def test_connector_error_for_operators_is_cut_without_leaving_a_part_of_a_secret(call, via, client, secrets, shown):
    secrets.known["acme", "api-key"] = "s3cr3t-" + "k" * 60
    told = (b"x" * (500 - len("Unhandled: ") - shown) + b"s3cr3t-" + b"k" * 60).decode()
    for failure, answer in (("Unhandled", told), ("", orjson.dumps({"status": told, "body": ""}).decode())):
        client.failure, client.answer = failure, answer.encode()
        outcome, _ = call(by=via, headers=(("Authorization", "Bearer {{secret:api-key}}"),))
        assert outcome.code == "connector_unavailable"
        assert "s3" not in outcome.detail
        assert len(outcome.detail) < 600


@pytest.mark.parametrize("answer", [b"", b"null", b"[]", b"{}", b'{"status": 200, "body": "%"}'])
def test_connector_with_an_answer_that_is_none_is_retryable(call, via, client, answer):
    client.answer = answer
    outcome, _ = call(by=via)
    assert (outcome.code, outcome.retryable) == ("connector_unavailable", True)


def test_connector_target_that_refuses_connections_is_no_failure_of_the_connector(via):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        target = HttpTarget(f"http://127.0.0.1:{taken.getsockname()[1]}/")
        outcome = via.call(a_call(target), target)
    assert (outcome.code, outcome.retryable, outcome.detail) == ("connection", True, None)


def test_connector_unknown_name_is_retryable(clock, secrets):
    caller = connected(clock, secrets, Lambda(relay(resolve=unknown_name)))
    target = HttpTarget("https://erp.corp.example/")
    text = "POST https://erp.corp.example via office: the name of its host could not be resolved"
    assert caller.call(a_call(target), target) == Failed(text, code="connection")


def test_connector_does_not_receive_a_request_that_is_too_large_for_an_invocation(call, via, client):
    outcome, seen = call(by=via, headers=[("X-Large", "x" * 7_000_000)])
    assert (seen, client.events, outcome.retryable) == ([], [], False)
    assert outcome.code in ("request_too_large", "template_too_large")


def named(caller, target, **run) -> object:
    """The outcome of a call of the target as its job says, and not always through the connector."""
    return caller.call(revised(a_call(target), **run), target)


def test_connector_is_used_only_by_targets_that_name_it(clock, secrets, client):
    caller = connected(clock, secrets, client, caller=HttpCaller)
    with http_target(answering(200)) as server:
        for target in (HttpTarget(server.url()), HttpTarget(server.url(), via="office")):
            assert isinstance(named(caller, target), Returned)
    assert len(client.events) == 1


@pytest.mark.parametrize("name", ["plant", "office"])
def test_connector_that_the_tenant_may_no_longer_use_fails_the_call_permanently(clock, secrets, name):
    client = Lambda(relay(replace(ANYWHERE, tenants=("somebody-else",))))
    caller = connected(clock, secrets, client, caller=HttpCaller)
    outcome = named(caller, HttpTarget("https://erp.corp.example/", via=name))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, client.events) == ("connector_not_allowed", False, [])
    assert f"{name} is not a connector of this tenant" in outcome.error


def test_connector_of_a_registered_task_was_chosen_by_the_operator(clock, secrets):
    client = Lambda(relay(replace(ANYWHERE, tenants=("somebody-else",))))
    caller = connected(clock, secrets, client, caller=HttpCaller)
    with http_target(answering(200)) as server:
        registered = HttpTarget(server.url(), via="office")
        assert isinstance(caller.call(a_call(TaskTarget("send")), registered), Returned)
    unknown = caller.call(a_call(TaskTarget("send")), replace(registered, via="plant"))
    assert (unknown.code, unknown.retryable) == ("connector_not_allowed", False)


def test_connector_calls_load_no_module_for_targets_that_name_none() -> None:
    program = """
import sys
from duecourse.adapters.aws import transport
from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.settings.reading import _allowed
_allowed('{"functions": ["a"]}')
print([name for name in sys.modules if "connector" in name or name.endswith((".wire", ".relay"))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_connector_starts_without_third_party_packages_and_other_parts_of_the_scheduler() -> None:
    program = """
import sys
import duecourse.adapters.targets.http.relay
ours = {name for name in sys.modules if name.startswith("duecourse.")}
parts = {name.split(".")[1] for name in ours}
print(sorted(parts), sorted({"orjson", "boto3", "botocore", "aws_lambda_powertools", "pydantic"} & set(sys.modules)))
print(sorted(name for name in ours if name.startswith("duecourse.domain") and ".targets" not in name))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['adapters', 'domain', 'limits'] []", "['duecourse.domain']"]
