"""Which scope each route asks for, and the check before any route runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus

from duecourse.http.identity import OPS, READ, WRITE, Caller, caller_of
from duecourse.http.problems import Problem
from duecourse.http.request import Request
from duecourse.settings import ApiSettings

OPEN: frozenset[tuple[str, str]] = frozenset({
    ("GET", "/v1/health"),
    ("GET", "/v1/openapi.json"),
    ("POST", "/v1/runs/<run_id>/heartbeat"),
    ("POST", "/v1/runs/<run_id>/complete"),
    ("POST", "/v1/runs/<run_id>/fail"),
})  # fmt: skip
"""The routes without an authorizer (`infra/api.py` has the same list). The last three ask for a run's token."""

_SPECIAL: Mapping[tuple[str, str], frozenset[str]] = {
    ("POST", "/v1/schedules/preview"): frozenset({READ}),  # changes nothing
    ("POST", "/v1/dead-letters/redrive"): frozenset({OPS}),
    ("POST", "/v1/jobs/pause"): frozenset({OPS}),
    ("POST", "/v1/jobs/resume"): frozenset({OPS}),
    ("GET", "/v1/stats"): frozenset({READ, OPS}),
}
"""Where the rule below does not hold. What changes many jobs or runs at once is an operator's."""


def scopes_of(method: str, path: str) -> frozenset[str]:
    """The scopes of which a caller needs one; none where a route is open to strangers. A route that nobody thought of
    is not open: what reads asks for jobs:read, anything else for jobs:write.
    """
    if (method, path) in OPEN:
        return frozenset()
    return _SPECIAL.get((method, path), frozenset({READ if method == "GET" else WRITE}))


def admitted(request: Request, method: str, path: str, settings: ApiSettings) -> Request:
    """The request with its caller filled in. Raises Problem: 401, 403 without tenant or scope.

    Strangers at an open route stay without tenant and scopes.
    """
    needed = scopes_of(method, path)
    try:
        caller = caller_of(request.authorizer, settings)
    except Problem:
        if needed:
            raise
        return request
    if needed and not needed & caller.scopes:
        raise _scope_missing(needed, caller)
    return replace(request, tenant=caller.tenant, principal=caller.principal, scopes=caller.scopes)


def _scope_missing(needed: frozenset[str], caller: Caller) -> Problem:
    wanted = " or ".join(sorted(needed))
    has = ", ".join(sorted(caller.scopes)) or "none of Duecourse's"
    return Problem(
        HTTPStatus.FORBIDDEN,
        "scope-missing",
        f"This needs the scope {wanted}; the token has {has}.",
        headers={"www-authenticate": f'Bearer error="insufficient_scope", scope="{" ".join(sorted(needed))}"'},
    )
