"""The API answers that it cannot, and does so properly: nothing of its function fails."""

from __future__ import annotations

from tests.support.api import BODY, ApiClient, api_settings, untouchable_client
from tests.support.observed import Observed


def requests_that_fail(observed: Observed) -> None:
    """Its tables do not answer."""
    api = untouchable_client(settings=api_settings(stage="prod"))
    observed.minutes(5, each=lambda: observed.answered(api.get("/v1/jobs/nightly").status))


def lanes_that_take_nothing(observed: Observed) -> None:
    api = ApiClient(observed.world.jobs, observed.world.run_store, settings=api_settings(stage="prod"))
    api.wheel.refuse = lambda _: True
    observed.minutes(5, working=False, each=lambda: observed.listen(lambda: api.post(BODY)))
