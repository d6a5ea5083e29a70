"""The function of a connector: an event in, an answer out."""

import json
import os
import subprocess
import sys
from typing import Any

from duecourse.adapters.targets.http.connection import HttpAnswer, endpoint_of
from duecourse.adapters.targets.http.http import HttpRequest
from duecourse.adapters.targets.http.wire import Asked, answer_of, request_document
from tests.support.http_target import answering, http_target
from tests.support.template import ROOT

OWN = {"function": "f", "tenants": ["erp"], "hosts": ["127.0.0.1"], "cidrs": ["127.0.0.0/8"]}
ENVIRONMENT = {
    "DUECOURSE_STAGE": "local",
    "DUECOURSE_PRIVATE_TARGETS": "allow",
    "DUECOURSE_CONNECTOR": json.dumps({"office": OWN}),
}
PROGRAM = """
import json, sys
from functions.connector.handler import handler
print(json.dumps(handler(json.load(sys.stdin), None)))
"""


def handled(event: Any, **changes: str) -> Any:
    """The answer of the handler in a process of its own, as Lambda starts it."""
    environment = {**os.environ, **ENVIRONMENT, **changes}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def event_for(url: str) -> Any:
    endpoint, none = endpoint_of(url), frozenset[str]()
    headers = (("Host", endpoint.authority), ("Content-Length", "2"))
    return request_document(Asked(HttpRequest(endpoint, "POST", False, headers, b"hi", none, none), 5.0, 1_000))


def test_connector_function_sends_the_request_of_its_event() -> None:
    with http_target(answering(201, b"done", Retry_After="3")) as server:
        answer = answer_of(handled(event_for(server.url("/a?b=1"))))
    assert answer == HttpAnswer(201, b"done", "", "3", "")
    assert [(seen.method, seen.path, seen.body) for seen in server.seen] == [("POST", "/a?b=1", b"hi")]


def test_connector_function_of_another_stage_does_not_call_its_own_machine() -> None:
    with http_target(answering(200)) as server:
        for changes in ({"DUECOURSE_STAGE": "prod"}, {"DUECOURSE_PRIVATE_TARGETS": "refuse"}):
            answer = handled(event_for(server.url()), **changes)
            assert answer["unanswered"]["code"] == "address_refused"
    assert server.seen == []
