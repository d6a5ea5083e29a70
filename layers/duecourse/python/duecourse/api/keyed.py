"""Requests to the routes of the API with an API key instead of a token.

Their paths begin with `/key` (`routes.keys.BY_KEY`): `/key/v1/jobs`. API Gateway has no authorizer for these paths
(`infra/functions/api.py`), so the function reads the key from the header `Authorization: Bearer <key>`. For all other
paths, the authorizer decides before the function runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from duecourse.api.identity import Principal, insufficient_scope, permitted
from duecourse.api.routes.keys import bearer, key_problems
from duecourse.usecases.runs.api_keys import ApiKeyScopeError

if TYPE_CHECKING:
    from duecourse.api.api import Api, Route
    from duecourse.api.request import Request


def admitted_by_key(api: Api, request: Request, route: Route) -> Request:
    """Return the request with its caller, the key.

    Raises Problem: 401 without a valid key, 429 if the key's limit is reached, 403 for a key that starts runs, without
    a needed scope, and for a route that accepts no such keys.
    """
    with key_problems():
        key = api.api_keys.caller(bearer(request))
        if route.by_key:
            raise ApiKeyScopeError(key)
    if route.without_keys:
        raise insufficient_scope("An API key cannot create, list or revoke API keys; use a token.", route.scopes)
    return permitted(request, route.scopes, Principal(key.tenant, key.principal, key.scopes), "API key")


def check_key(api: Api, request: Request) -> None:
    """Raise Problem (401) if the request has no valid key. The key's limit does not count the request."""
    with key_problems():
        api.api_keys.check(bearer(request))
