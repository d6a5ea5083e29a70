"""The HTTP application of the routes that accept a run's token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from aws_lambda_powertools import Logger

from duecourse.api.answers import Answering
from duecourse.api.api import Answer, Route, declared
from duecourse.api.refusals import refusal
from duecourse.api.routes import callbacks  # noqa: F401
from duecourse.limits import REFUSED_CALLBACKS
from duecourse.usecases.runs.commands import Callbacks
from duecourse.usecases.runs.logs import LogWriter

if TYPE_CHECKING:
    from duecourse.usecases.standby import Standby


@dataclass(frozen=True, slots=True)
class CallbackParts:
    """Implements routes.callbacks.CallbackApi. `Wiring.callback_parts` is an instance."""

    callbacks: Callbacks
    log_writer: LogWriter
    stage: str
    standby: Standby | None = None


class CallbackApplication(Answering):
    """The application for heartbeats, logs, completions and failures."""

    def __init__(self, parts: CallbackParts, logger: Logger) -> None:
        super().__init__(parts.stage, [route for route in declared if route.run_token], logger)
        self._parts = parts

    @property
    def standby(self) -> Standby | None:
        """Whether this region works."""
        return self._parts.standby

    def balances(self, answer: Answer) -> Mapping[str, float]:
        """Return by how much refused requests exceed their share, as `Counts.beyond` of a worker does."""
        refused = HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
        return {"RefusalsBeyond": refused - REFUSED_CALLBACKS}

    def answer(self, route: Route, parameters: Mapping[str, str]) -> Answer:
        """Call the handler of the route."""
        try:
            # A callback's handler needs only CallbackApi, but the type of Route requires an Api.
            return route.handler(cast(Any, self._parts), self.request, parameters)
        except Exception as error:
            # No request creates a job, so the quota is not needed.
            if (problem := refusal(error, 0, parameters, route.problems)) is None:
                raise
            raise problem from None
