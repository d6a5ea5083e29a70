"""The HTTP application with all routes: scopes, limits per tenant, and tag-scoped permissions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.answers import Answering
from duecourse.api.api import Answer, Api, Route, admit, charge, check_route
from duecourse.api.identity import admitted
from duecourse.api.keyed import admitted_by_key, check_key
from duecourse.api.refusals import refusal
from duecourse.api.routes.keys import BY_KEY, opened
from duecourse.api.routes.table import ROUTES
from duecourse.domain.tenants.rate import Budget
from duecourse.limits import API_SECONDS
from duecourse.telemetry import log_events
from duecourse.usecases.report import Report

if TYPE_CHECKING:
    from duecourse.usecases.standby import Standby

BODY_A_REQUEST = 64 * 1024
"""The number of characters of a body that count as one more request."""


class Application(Answering):
    """The whole API. On AWS, the routes of callbacks have a separate function (`CallbackApplication`)."""

    def __init__(self, api: Api, logger: Logger) -> None:
        super().__init__(api.settings.stage, ROUTES, logger)
        self._api = api
        self._keyed = False  # whether the path of the current request requires an API key

    @property
    def standby(self) -> Standby | None:
        """Whether this region works."""
        return self._api.standby

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Return the response to one request. Before that, write the counts of runs that are due."""
        counts, report = self._api.run_counts, Report()
        deadline = counts.clock.now() + API_SECONDS
        path = event["rawPath"]  # which also decides the route
        self._keyed = path.startswith(f"{BY_KEY}/")
        if self._keyed:
            event = event | {"rawPath": path.removeprefix(BY_KEY)}
        response = super().__call__(event, context)
        counts.write(report, deadline)
        if report.events:
            log_events(report, self._logger)
        return response

    def answer(self, route: Route, parameters: Mapping[str, str]) -> Answer:
        """Check the permissions and limits of the request, and call the handler of its route."""
        if self._keyed:
            self.request = admitted_by_key(self._api, self.request, route)
        elif route.by_key:
            self.request = opened(self._api, self.request, parameters)
        else:
            self.request = admitted(self.request, route.scopes, self._api.settings)
        if route.scopes or route.by_key:
            # Limits per tenant do not apply to unauthenticated requests and to targets. Otherwise, a tenant with too
            # many requests could lose an active run. API Gateway's throttle limits these requests.
            admit(self._api, self.request)
            self.request = replace(self.request, budget=Budget(pay=partial(charge, self._api, self.request.tenant)))
            # Charge before the body is parsed: to check 64 KB of small values takes 200 ms.
            self.request.budget.charge(1 + len(self.request.body or "") // BODY_A_REQUEST)
        try:
            checked = check_route(self._api, route, self.request, parameters)
            return route.handler(self._api, checked, parameters)
        except Exception as error:
            if (problem := refusal(error, self._api.settings.job_quota, parameters, route.problems)) is None:
                raise
            raise problem from None

    def _refuse_route(self, method: str, path: str) -> Answer:
        """See Answering. Below the prefix of API keys, a request without a valid key gets 401 at every path."""
        if self._keyed:
            check_key(self._api, self.request)
        return super()._refuse_route(method, path)
