"""Nothing in duecourse.testing opens a socket, also on the machine of a developer with AWS credentials."""

import sys
from collections.abc import Iterator
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.callback_app import CallbackApplication
from duecourse.api.routes.table import ROUTES
from duecourse.domain.targets.kinds import target_document, type_of
from duecourse.domain.targets.targets import Target
from duecourse.telemetry import function_logger
from duecourse.testing import Scheduler
from duecourse.testing.clock import SettableClock
from duecourse.testing.stage import Stage, settings_of_a_test
from duecourse.testing.targets import Secrets, Targets
from tests.support.api_events import api_event
from tests.support.every_route import CALENDAR, JOB, KEY, WORKFLOW, WORKFLOW_BODY, asked
from tests.support.every_target import EVERY_TARGET
from tests.support.jobs import NOON

HTTP = {"type": "http", "url": "https://example.com/hook"}
OPENED: list[str] = []
FORBIDDEN = [False]


def _refuse(event: str, words: Any) -> None:
    """Audit hooks cannot be removed, so this one acts only within the fixture. The event is recorded too, because code
    may catch the exception.
    """
    if FORBIDDEN[0] and event.startswith("socket."):
        OPENED.append(f"{event}{words[1:]}")
        raise RuntimeError(f"a test opened a socket: {event}")


sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forbid sockets, for a developer whose environment has credentials."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "developer")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    OPENED.clear()
    FORBIDDEN[0] = True
    yield
    FORBIDDEN[0] = False
    assert OPENED == []


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    """A scheduler on 21 November 2026 at noon, whose job has a dead run and a run that waits for its callback."""
    with Scheduler(now="2026-11-21T11:58:30Z", secrets={"crm-token": "x"}) as scheduler:
        scheduler.client.create_job({"id": JOB, "schedule": "* * * * *", "target": HTTP, "completion": "callback"})
        scheduler.client.put_workflow(WORKFLOW, WORKFLOW_BODY)
        scheduler.client.put_calendar(CALENDAR, ["2026-12-25"])
        scheduler.client.put_limit(KEY, concurrency=5)
        scheduler.answer(JOB, status=400, times=1)
        scheduler.client.run_job(WORKFLOW)
        scheduler.advance_to("2026-11-21T12:00:10Z")
        yield scheduler


@pytest.mark.parametrize(("method", "path"), [route[:2] for route in ROUTES], ids=[" ".join(r[:2]) for r in ROUTES])
def test_no_sockets_are_opened_by_a_route(scheduler: Scheduler, method: str, path: str) -> None:
    by_state = {run.state: run.id for run in scheduler.client.list_runs(JOB).items}
    key = scheduler.client.create_key(f"run:{JOB}")
    token = next(call.callback_token for call in reversed(scheduler.calls) if call.callback_token)
    run = by_state["DEAD" if path.endswith("redrive") else "WAITING"]
    if path.endswith("/rerun"):
        run = scheduler.client.list_runs(WORKFLOW).items[0].id
    values = {"job_id": JOB, "run_id": run, "workflow_id": WORKFLOW, "instant": run.partition(".")[2]}
    values |= {"calendar_id": CALENDAR, "limit_key": KEY, "key_id": key.id, "key": key.key}
    real = path
    for name, value in values.items():
        real = real.replace(f"<{name}>", value)
    query, body = asked(method, path)
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=scheduler.url, transport=scheduler.transport) as http:
        answer = http.request(method, real, params=query, json=body, headers=headers)
    assert answer.status_code < 500, answer.text


@pytest.mark.parametrize("target", [target for target in EVERY_TARGET if type_of(target) != "task"], ids=type_of)
def test_no_sockets_are_opened_by_a_target(target: Target) -> None:
    secrets = dict.fromkeys(("key", "crm-client"), "x") | {"hook": "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
    job = {"schedule": "0 * * * *", "target": target_document(target), "events": ["all"]}
    with Scheduler(secrets=secrets, allowed_actions=["ecs:UpdateService"]) as scheduler:
        scheduler.client.create_job({**job, "id": "good", "ping_url": "https://example.com/ping"})
        scheduler.client.create_job({**job, "id": "bad", "notify": [{"to": {"job": "good"}, "on": ["dead"]}]})
        scheduler.answer("bad", status=500)
        assert scheduler.advance(hours=2)


@pytest.mark.parametrize(
    "auth", [{"type": "oidc", "audience": "crm"}, {"type": "basic", "username": "a", "secret": "key"}]
)
def test_no_sockets_are_opened_for_a_target_with_auth(auth: dict[str, str]) -> None:
    with Scheduler(secrets={"key": "x"}) as scheduler:
        scheduler.client.create_job({"id": "one", "schedule": "0 * * * *", "target": {**HTTP, "auth": auth}})
        assert scheduler.advance(hours=1)


def test_no_sockets_are_opened_by_the_callbacks_application() -> None:
    clock = SettableClock(NOON)
    stage = Stage(clock, Targets(clock, Secrets({})), settings_of_a_test())
    logger = function_logger(service="callbacks", level="ERROR", stream=StringIO())
    application = CallbackApplication(stage.wiring().callback_parts, logger)
    event = api_event("POST", f"/v1/runs/{JOB}.20261121T120000Z/heartbeat", body="{}")
    assert application(event, cast(LambdaContext, SimpleNamespace()))["statusCode"] == 401


def test_no_sockets_are_needed_to_read_the_keys_of_tokens(scheduler: Scheduler) -> None:
    """The tokens of the scheduler are not signed."""
    with httpx.Client(base_url=scheduler.url, transport=scheduler.transport) as http:
        assert http.get("/.well-known/jwks.json").json() == {"keys": []}
