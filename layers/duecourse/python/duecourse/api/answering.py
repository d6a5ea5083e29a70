"""Answers to API Gateway: Powertools resolves the route; every answer, good or bad, is made and logged here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.metrics import MetricUnit, single_metric
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.api import Answer, Route
from duecourse.api.bodies.jsontext import write_json
from duecourse.api.problems.problems import Problem, internal
from duecourse.api.problems.unavailable import unavailable
from duecourse.api.request import Request, read_request
from duecourse.limits import METRICS_NAMESPACE
from duecourse.telemetry import failures, loggable

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"
SHOWN_FAULTS = 5
"""Faults of a refused request that are logged."""


class Answering(ABC):
    """Answers API Gateway's events (payload format 2.0) to some routes. Only a broken event or runtime makes it raise.

    `request` is the request that is being answered.
    """

    def __init__(self, stage: str, routes: Sequence[Route], logger: Logger) -> None:
        self._stage = stage
        self._routes = routes
        self._logger = logger
        self.request = Request("")
        self._resolver = APIGatewayHttpResolver()
        for route in routes:
            self._resolver.route(route.path, method=route.method)(self._bound(route))
        self._resolver.not_found(self._no_route)

    def __call__(self, event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        """The answer to one request."""
        self.request = read_request(event)
        # Powertools keeps the event in a class attribute, which applications in several threads would share.
        self._resolver.current_event = APIGatewayProxyEventV2(event)
        return self._resolver.resolve(event, context)

    @abstractmethod
    def answer(self, route: Route, parameters: Mapping[str, str]) -> Answer:
        """The answer to `request`. `parameters` are those of the path. Raises Problem."""

    def _bound(self, route: Route) -> Callable[..., Response[str]]:
        def answer(**parameters: str) -> Response[str]:
            return self._answered(lambda: self.answer(route, parameters))

        return answer

    def _no_route(self, _error: NotFoundError) -> Response[str]:
        event = self._resolver.current_event
        return self._answered(lambda: self._refuse_route(event.http_method, event.path))

    def _answered(self, work: Callable[[], Answer]) -> Response[str]:
        """Whatever happens becomes an answer and one line in the log."""
        request = self.request
        ids = {"request_id": request.request_id, "correlation_id": request.correlation_id}
        try:
            answer = work()
            response = _response(answer, request)
        except Problem as problem:
            answer = Answer(
                problem.status,
                "request_refused",
                problem.document(request.request_id),
                problem.headers,
                {"problem": problem.kind, "detail": problem.detail, "faults": _shown(problem)},
            )
            response = _response(answer, request, PROBLEM_JSON)
        except Exception as error:
            self._logger.exception("request_failed", extra={"action": "request_failed", **ids})
            fault = unavailable(error) or internal()
            document = fault.document(request.request_id)
            answer = Answer(fault.status, "request_failed", document, fault.headers, counts={"InternalErrors": 1})
            response = _response(answer, request, PROBLEM_JSON)
        line = {"action": answer.action, "status": int(answer.status), **self._caller(), **ids}
        self._logger.info(answer.action, extra={**line, **loggable(answer.facts)})
        measured = [(name, count, "function", "api") for name, count in answer.counts.items()]
        measured += [("Failures", count, "symptom", symptom) for symptom, count in failures(answer.counts).items()]
        for name, count, dimension, value in measured:
            namespace = METRICS_NAMESPACE.format(stage=self._stage)
            with single_metric(name=name, unit=MetricUnit.Count, value=count, namespace=namespace) as metric:
                metric.add_dimension(name=dimension, value=value)
        return response

    def _refuse_route(self, method: str, path: str) -> Answer:
        """404 for a path that nothing lives at, 405 for a method that the path does not know."""
        allowed = sorted(route.method for route in self._routes if _matches(route.path, path))
        if not allowed or method in allowed:  # the latter: a segment of characters that no route takes
            paths = ", ".join(sorted({route.path for route in self._routes}))
            raise Problem("unknown-path", f"Nothing lives at this path; there are {paths}.")
        raise Problem(
            "unknown-method",
            f"{method} is not known here; use {' or '.join(allowed)}.",
            headers={"allow": ", ".join(allowed)},
        )

    def _caller(self) -> dict[str, str]:
        """Who asks, as the check of the scope has found out: nobody yet where it refused."""
        principal = self.request.principal
        return {"tenant": self.request.tenant} | ({"principal": principal} if principal else {})


def _response(answer: Answer, request: Request, content_type: str = JSON) -> Response[str]:
    ids = {"x-request-id": request.request_id, "x-correlation-id": request.correlation_id}
    headers = {**ids, "cache-control": "no-store", **answer.headers}
    if answer.body is None:
        return Response(int(answer.status), headers=dict(headers), body="")
    return Response(int(answer.status), content_type, write_json(answer.body), dict(headers))


def _matches(pattern: str, path: str) -> bool:
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        part == found or (part.startswith("<") and found) for part, found in zip(wanted, given, strict=True)
    )


def _shown(problem: Problem) -> list[dict[str, str]]:
    return [fault.document() for fault in problem.faults[:SHOWN_FAULTS]]
