"""The check of scopes before any route runs."""

from __future__ import annotations

from dataclasses import replace

from duecourse.api.identity import Principal, caller_of
from duecourse.api.problems.problems import Problem
from duecourse.api.request import Request
from duecourse.settings import ApiSettings


def admitted(request: Request, needed: frozenset[str], settings: ApiSettings) -> Request:
    """The request with its caller filled in. Raises Problem: 401, 403 without tenant or a needed scope.

    Strangers at an open route stay without tenant and scopes.
    """
    try:
        caller = caller_of(request.authorizer, settings)
    except Problem:
        if needed:
            raise
        return request
    if needed and not needed & caller.scopes:
        raise _scope_missing(needed, caller)
    return replace(request, tenant=caller.tenant, principal=caller.principal, scopes=caller.scopes)


def _scope_missing(needed: frozenset[str], caller: Principal) -> Problem:
    wanted = " or ".join(sorted(needed))
    has = ", ".join(sorted(caller.scopes)) or "none of Duecourse's"
    return Problem(
        "scope-missing",
        f"This needs the scope {wanted}; the token has {has}.",
        headers={"www-authenticate": f'Bearer error="insufficient_scope", scope="{" ".join(sorted(needed))}"'},
    )
