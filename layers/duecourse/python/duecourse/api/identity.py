"""The caller and the scopes, as determined by API Gateway's authorizer. They are read from the event before any route
runs. Values that a caller can set are not trusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duecourse.api.problems import FieldFault, Problem
from duecourse.api.request import Request
from duecourse.domain.ids import is_id
from duecourse.domain.jobs.job import MAX_PRINCIPAL, TAG_PATTERN
from duecourse.settings import ApiSettings

READ, WRITE, OPS = "jobs:read", "jobs:write", "ops"
SCOPES = frozenset({READ, WRITE, OPS})
TAG_SCOPE = re.compile(f"({READ}|{WRITE}):tag=({TAG_PATTERN})")
"""A scope that is valid only for jobs with a tag, for example `jobs:write:tag=billing`."""

DEFAULT_TENANT = "default"
"""The tenant of all jobs if callers have no tenants (IAM, the local stack)."""

_PREFIX = "duecourse/"
_NAMES = ("sub", "client_id", "azp", "appid")
"""Claims that identify the caller, in order of preference. Tokens of programs often have no subject."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller. `principal` is the token's subject, an IAM ARN or `local`. `scopes` are the granted scopes of
    Duecourse, including tag-scoped ones unchanged.
    """

    tenant: str
    principal: str
    scopes: frozenset[str]


def caller_of(authorizer: Mapping[str, Any], settings: ApiSettings) -> Principal:
    """Return the caller from the event's `requestContext.authorizer`.

    Raises Problem: 401 if the authorizer's result has no caller, 403 if the token has no valid tenant.
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
            f"The token's claim {settings.tenant_claim} must contain a tenant: "
            "1 to 64 letters (A-Z, a-z), digits, - or _.",
        )
    name = next((claims[name] for name in _NAMES if claims.get(name)), "")
    return Principal(tenant, _principal(name), _scopes(claims.get("scope")) | _scopes(claims.get("scp")))


def _scopes(claim: object) -> frozenset[str]:
    """Return the scopes of Duecourse in a claim. Cognito adds the API's name as a prefix to each."""
    named = {str(word).removeprefix(_PREFIX) for word in _words(claim)}
    return frozenset(name for name in named if name in SCOPES or TAG_SCOPE.fullmatch(name))


def _words(claim: object) -> Sequence[object]:
    """Return the scopes of a claim. The claim is a text with spaces between the scopes, or a list, which API Gateway
    writes as `[a b]`. A comma or bracket within a scope belongs to it (RFC 6749 section 3.3), so `other,ops` is not a
    scope of Duecourse.
    """
    if isinstance(claim, list):
        return claim
    text = str(claim or "")
    if not (text.startswith("[") and text.endswith("]")):
        return text.split()
    try:
        listed = json.loads(text)
    except ValueError:
        return text[1:-1].split()
    return listed if isinstance(listed, list) else ()


def tags_of(needed: frozenset[str], granted: frozenset[str]) -> frozenset[str] | None:
    """Return the tags to which a caller with the `granted` scopes is limited if one of `needed` is required. None means
    no limit; an empty set means that the caller has none of the needed scopes.
    """
    if needed & granted:
        return None
    narrowed = filter(None, map(TAG_SCOPE.fullmatch, granted))
    return frozenset(match[2] for match in narrowed if match[1] in needed)


def includes(granted: frozenset[str], scope: str) -> bool:
    """Return whether a caller with the `granted` scopes may do all that `scope` permits."""
    limited = TAG_SCOPE.fullmatch(scope)
    return scope in granted or (limited is not None and limited[1] in granted)


def _principal(name: object) -> str:
    return str(name)[:MAX_PRINCIPAL]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _unknown_caller() -> Problem:
    return Problem(
        "not-authenticated",
        "The request is not authenticated; send a token in the header Authorization, or sign the request.",
        headers={"www-authenticate": "Bearer"},
    )


def admitted(request: Request, needed: frozenset[str], settings: ApiSettings) -> Request:
    """Return the request with its caller. Raises Problem: 401 without a caller, 403 without a tenant or a needed scope.
    A tag-scoped permission is sufficient here.

    Unauthenticated callers of an open route have no tenant and no scopes.
    """
    try:
        caller = caller_of(request.authorizer, settings)
    except Problem:
        if needed:
            raise
        return request
    return permitted(request, needed, caller, "token")


def permitted(request: Request, needed: frozenset[str], caller: Principal, credential: str) -> Request:
    """Return the request with its caller, who was recognized by a `credential` (an English noun). Raises Problem: 403
    without a needed scope. A tag-scoped permission is sufficient here.
    """
    tags = tags_of(needed, caller.scopes) if needed else None
    if tags == frozenset():
        raise _scope_missing(needed, caller, credential)
    return replace(request, tenant=caller.tenant, principal=caller.principal, scopes=caller.scopes, tags=tags)


def _scope_missing(needed: frozenset[str], caller: Principal, credential: str) -> Problem:
    wanted = " or ".join(sorted(needed))
    has = ", ".join(sorted(caller.scopes)) or "no scope of Duecourse"
    return insufficient_scope(f"This request needs the scope {wanted}; the {credential} has {has}.", needed)


def insufficient_scope(detail: str, needed: frozenset[str], faults: Sequence[FieldFault] = ()) -> Problem:
    """Return 403: the request requires one of the `needed` scopes, without a tag."""
    challenge = f'Bearer error="insufficient_scope", scope="{" ".join(sorted(needed))}"'
    return Problem("scope-missing", detail, faults=faults, headers={"www-authenticate": challenge})
