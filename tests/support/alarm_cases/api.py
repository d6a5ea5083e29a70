"""Cases in which the API responds properly that it cannot process requests; its function does not fail."""

from collections.abc import Callable

from tests.support.api import BODY, ApiClient, api_settings, untouchable_client
from tests.support.observed import Observed


def requests_that_fail(observed: Observed) -> None:
    """The API's tables do not respond."""
    api = untouchable_client(settings=api_settings(stage="prod"))
    several(observed, lambda: api.get("/v1/jobs/nightly").status)


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
