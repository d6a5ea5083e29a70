"""What Cognito asks before it issues a token: tenant and scopes for the access token.

Access tokens carry no attributes of their users, and scopes only after a sign-in with a browser. So the tenant is
copied from the attribute `custom:tenant` into the claim `tenant`, and the scopes are the groups that an operator put
the user into, whatever the client asked for. A group may be a scope that is narrowed to a tag (`jobs:read:tag=billing`).
"""

from __future__ import annotations

from typing import Any

SCOPES = ("jobs:read", "jobs:write", "ops")
NARROWED = ("jobs:read:tag=", "jobs:write:tag=")
ATTRIBUTE = "custom:tenant"
TENANT = "tenant"
PREFIX = "duecourse/"


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """The event of a pre token generation trigger (V2_0), answered. A user without a tenant gets a token without one,
    which the API refuses.
    """
    request = event["request"]
    groups = request.get("groupConfiguration", {}).get("groupsToOverride") or ()
    tenant = request.get("userAttributes", {}).get(ATTRIBUTE)
    event["response"]["claimsAndScopeOverrideDetails"] = {
        "accessTokenGeneration": {
            "claimsToAddOrOverride": {TENANT: tenant} if tenant else {},
            "scopesToAdd": [PREFIX + group for group in groups if group in SCOPES or group.startswith(NARROWED)],
            "scopesToSuppress": [PREFIX + scope for scope in SCOPES if scope not in groups],
        }
    }
    return event
