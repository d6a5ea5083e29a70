"""The HTTP application with all routes: scopes, limits of tenants, tag-scoped permissions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from aws_lambda_powertools import Logger

from duecourse.api.answers import Answering
from duecourse.api.api import Answer, Api, Route, admit, charge
from duecourse.api.identity import admitted
from duecourse.api.refusals import refusing
from duecourse.api.routes.table import ROUTES
from duecourse.api.tag_scopes import check_route
from duecourse.domain.budget import Budget

BODY_A_REQUEST = 64 * 1024
"""Characters of a body that count as one request more."""


class Application(Answering):
    """The whole API. On AWS the routes of callbacks have a function of their own (`CallbackApplication`)."""

    def __init__(self, api: Api, logger: Logger) -> None:
        super().__init__(api.settings.stage, ROUTES, logger)
        self._api = api

    def answer(self, route: Route, parameters: Mapping[str, str]) -> Answer:
        """See Answering."""
        self.request = admitted(self.request, route.scopes, self._api.settings)
        if route.scopes:
            # Requests of strangers and targets are not limited per tenant: a run that is worked on must not be lost
            # because its owner's programs ask too often. API Gateway's own throttle bounds them.
            admit(self._api, self.request)
            self.request = replace(self.request, budget=Budget(pay=partial(charge, self._api, self.request.tenant)))
            # Before anything is read of it: 64 KB of small values take 200 ms to check.
            self.request.budget.charge(1 + len(self.request.body or "") // BODY_A_REQUEST)
        with refusing(self._api.settings.job_quota, parameters, route.problems):
            checked = check_route(self._api, route, self.request, parameters)
            return route.handler(self._api, checked, parameters)
