"""What Cognito asks before it issues a token: tenant and scopes for the access token.

Access tokens carry no attributes of their users, and scopes only after a sign-in with a browser. So the tenant is
copied from the attribute `custom:tenant` into the claim `tenant`, and the scopes are the groups that an operator put
the user into, whatever the client asked for. A group may be a tag-scoped permission
(`jobs:read:tag=billing`). The token of a service account opens nothing of the pool itself, so that a holder of its
secret cannot change it or what it is called.
"""

from __future__ import annotations

from typing import Any

SCOPES = ("jobs:read", "jobs:write", "ops")
TAG_SCOPE = ("jobs:read:tag=", "jobs:write:tag=")
ATTRIBUTE = "custom:tenant"
TENANT = "tenant"
PREFIX = "duecourse/"
SERVICE_ACCOUNTS = "@service-accounts.duecourse.invalid"
"""What their addresses end in (`duecourse/cli/accounts.py` makes them)."""
OF_THE_POOL = "aws.cognito.signin.user.admin"
"""The scope with which a user changes its own password and attributes."""


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """The event of a pre token generation trigger (V2_0), answered. A user without a tenant gets a token without one,
    which the API rejects.
    """
    request = event["request"]
    groups = request.get("groupConfiguration", {}).get("groupsToOverride") or ()
    attributes = request.get("userAttributes", {})
    tenant = attributes.get(ATTRIBUTE)
    suppressed = [PREFIX + scope for scope in SCOPES if scope not in groups]
    if attributes.get("email", "").endswith(SERVICE_ACCOUNTS):
        suppressed.append(OF_THE_POOL)
    event["response"]["claimsAndScopeOverrideDetails"] = {
        "accessTokenGeneration": {
            "claimsToAddOrOverride": {TENANT: tenant} if tenant else {},
            "scopesToAdd": [PREFIX + group for group in groups if group in SCOPES or group.startswith(TAG_SCOPE)],
            "scopesToSuppress": suppressed,
        }
    }
    return event
