"""Who asks, and for what: what API Gateway's authorizer found out, read from the event before any route runs. Nothing
that a caller wrote is believed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from duecourse.api.problems.problems import Problem
from duecourse.api.request import Request
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.change_record import MAX_PRINCIPAL
from duecourse.settings import ApiSettings

READ, WRITE, OPS = "jobs:read", "jobs:write", "ops"
SCOPES = frozenset({READ, WRITE, OPS})

DEFAULT_TENANT = "default"
"""Whose jobs all are where callers are not told apart (IAM, the local stack)."""

_PREFIX = "duecourse/"
_NAMES = ("sub", "client_id", "azp", "appid")
"""Claims that name who asks, the best first: tokens of machines often have no subject of their own."""
_BETWEEN = re.compile(r"[\s,\[\]\"]+")


@dataclass(frozen=True, slots=True)
class Principal:
    """`principal` is the token's subject, an IAM ARN or `local`; `scopes` are those of ours that were granted."""

    tenant: str
    principal: str
    scopes: frozenset[str]


def caller_of(authorizer: Mapping[str, Any], settings: ApiSettings) -> Principal:
    """The caller by the event's `requestContext.authorizer`.

    Raises Problem: 401 where the authorizer says nothing, 403 where the token names no tenant.
    """
    if settings.auth == "none":
        return Principal(DEFAULT_TENANT, "local", SCOPES)
    if settings.auth == "iam":
        arn = _mapping(authorizer.get("iam")).get("userArn")
        if not arn:
            raise _unknown_caller()
        return Principal(DEFAULT_TENANT, _principal(arn), SCOPES)
    claims = _mapping(_mapping(authorizer.get("jwt")).get("claims"))
    if not claims:
        raise _unknown_caller()
    tenant = claims.get(settings.tenant_claim)
    if not isinstance(tenant, str) or not is_id(tenant):
        raise Problem(
            "bad-tenant",
            f"The token's claim {settings.tenant_claim} must name a tenant: 1 to 64 letters (a-z), digits, - or _.",
        )
    name = next((claims[name] for name in _NAMES if claims.get(name)), "")
    return Principal(tenant, _principal(name), _scopes(claims.get("scope")) | _scopes(claims.get("scp")))


def _scopes(claim: object) -> frozenset[str]:
    """Ours among those of a claim. API Gateway writes a list as `[a b]`; Cognito puts the API's name before each."""
    words = claim if isinstance(claim, list) else _BETWEEN.split(str(claim or ""))
    return SCOPES & {str(word).removeprefix(_PREFIX) for word in words}


def _principal(name: object) -> str:
    return str(name)[:MAX_PRINCIPAL]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _unknown_caller() -> Problem:
    return Problem(
        "not-authenticated",
        "Nothing says who asks; send a token in the header Authorization, or sign the request.",
        headers={"www-authenticate": "Bearer"},
    )


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
