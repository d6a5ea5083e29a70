"""What a route is: declared once, where its function stands, for the resolver, the check of scopes and the document.

The function's docstring is what the document says of it: its first paragraph is the summary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from duecourse.api.api import Answer, Api
from duecourse.api.bodies.models import Body
from duecourse.api.identity import READ, WRITE
from duecourse.api.request import Request

Handler = Callable[[Api, Request, Mapping[str, str]], Answer]


class Route(NamedTuple):
    """`answers`: by status the type of the answer, None where it has no body. `body`: the model of the request's body,
    which may be left out where it is `body_optional`. `query` and `headers`: the parameters that it takes beside its
    path's. `problems`: the kinds that are its own, beside those that follow from what it takes (openapi.problem_kinds).
    `run_token`: the token of a run opens it.
    """

    method: str
    path: str
    handler: Handler
    tag: str
    answers: Mapping[int, Any]
    body: type[Body] | None = None
    body_optional: bool = False
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    only_for: frozenset[str] | None = None
    run_token: bool = False

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of which a caller needs one; none where a route is open to strangers. A route that says nothing is
        not open: what reads asks for jobs:read, anything else for jobs:write.
        """
        return frozenset({READ if self.method == "GET" else WRITE}) if self.only_for is None else self.only_for


declared: list[Route] = []
"""In the order of declaration; `routes.ROUTES` is complete."""


def route(method: str, path: str, tag: str, answers: Mapping[int, Any], **more: Any) -> Callable[[Handler], Handler]:
    """Declare the function below as a Route, with `more` of its fields."""

    def declare(handler: Handler) -> Handler:
        declared.append(Route(method, path, handler, tag, answers, **more))
        return handler

    return declare
