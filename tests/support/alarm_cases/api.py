"""Cases in which the API responds properly that it cannot process requests; its function does not fail."""

from collections.abc import Callable
from typing import cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.callback_app import CallbackApplication, CallbackParts
from duecourse.telemetry import function_logger
from tests.support.api import BODY, ApiClient, api_settings, untouchable_client
from tests.support.api_events import api_event
from tests.support.lambda_events import Context
from tests.support.observed import Observed


def requests_that_fail(observed: Observed) -> None:
    """The API's tables do not respond."""
    api = untouchable_client(settings=api_settings(stage="prod"))
    several(observed, lambda: api.get("/v1/jobs/nightly").status)


def requests_that_are_refused(observed: Observed) -> None:
    """Requests without a token."""
    for _ in range(20):
        for _ in range(30):
            observed.answered(401)
        observed.minutes(1, working=False)


def callbacks_that_are_refused(observed: Observed) -> None:
    """Heartbeats with the token of an earlier attempt."""
    api = ApiClient(observed.world.jobs, observed.world.run_store, settings=api_settings(stage="prod"))
    parts = api.application._api
    callbacks = CallbackApplication(CallbackParts(parts.callbacks, parts.log_writer, "prod"), function_logger())
    beat = api_event("POST", "/v1/runs/nightly.20261121T120000Z/heartbeat", body="{}")
    for _ in range(20):
        for _ in range(30):
            observed.listen(lambda: callbacks(beat, cast(LambdaContext, Context())))
        observed.minutes(1, working=False)


def several(observed: Observed, ask: Callable[[], int]) -> None:
    """Three requests a minute."""

    def three() -> None:
        for _ in range(3):
            observed.answered(ask())

    observed.minutes(5, working=False, each=three)


def lanes_that_take_nothing(observed: Observed) -> None:
    api = ApiClient(observed.world.jobs, observed.world.run_store, settings=api_settings(stage="prod"))
    assert api.post(BODY | {"id": "hello"}).status == 201
    api.wheel.refuse = lambda _: True
    several(observed, lambda: api.ask("/v1/jobs/hello/run").status)


def a_few_failures_in_every_hour(observed: Observed) -> None:
    """One request in fifty fails, which pages no one."""
    for number in range(2_000):
        observed.answered(503 if number % 50 == 0 else 200)
        observed.world.clock.advance(4)
