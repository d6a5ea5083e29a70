from dataclasses import replace

import pytest

from duecourse.adapters.targets.http.http import HttpCaller
from duecourse.domain.targets.targets import HttpTarget
from tests.support.calls import a_call, revised
from tests.support.connectors import Lambda, connected, relay
from tests.support.http_target import answering, http_target
from tests.support.secrets import InMemorySecrets
from tests.support.varied import varied


class StoppedClock:
    """A clock that stands at one instant: 2026-11-21T06:47:00Z."""

    def now(self) -> float:
        return 1_795_243_620.0

    def sleep_until(self, instant: float) -> None:
        raise AssertionError("nothing here sleeps")


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def secrets() -> InMemorySecrets:
    """None yet: a test adds its own."""
    return InMemorySecrets()


@pytest.fixture(params=["directly", "via a connector"])
def http(clock: StoppedClock, secrets: InMemorySecrets, request: pytest.FixtureRequest) -> HttpCaller:
    """As in stage `local`: private addresses are allowed. A connector makes no difference."""
    if request.param == "directly":
        return HttpCaller(clock, private=True, secrets=secrets)
    return connected(clock, secrets, Lambda(relay()))


@pytest.fixture
def call(http: HttpCaller):
    """Call a server that answers 200, or behaves as given: the outcome, and the requests that the server saw."""

    def made(
        behaviour=None, path="/", *, by=http, host="127.0.0.1", token=None, run=None, job=None,
        method="POST", headers=(), expect=("2xx",), sign=None, **fields,
    ):  # fmt: skip
        with http_target(behaviour or answering(200)) as server:
            target = HttpTarget(server.url(path, host), method, headers, expect, sign)
            asked = a_call(target, **fields)
            of = {"run": varied(asked.run, **(run or {})), "job": replace(asked.job, **(job or {}))}
            return by.call(revised(asked, callback_token=token, **of), target), server.seen

    return made
