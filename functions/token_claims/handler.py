"""The pre token generation trigger of Cognito: it sets tenant and scopes of an access token.

Access tokens do not contain attributes of their users, and contain scopes only after a login with a browser. So the
tenant is copied from the `custom:tenant` attribute into the `tenant` claim, and the scopes are the groups to which an
operator has added the user, whatever the client requested. A group may be a tag-scoped permission
(`jobs:read:tag=billing`). The token of a service account has no scope of the user pool itself, so that a holder of its
secret cannot change the secret or the account's attributes.
"""

from __future__ import annotations

from typing import Any

SCOPES = ("jobs:read", "jobs:write", "ops")
TAG_SCOPE = ("jobs:read:tag=", "jobs:write:tag=")
ATTRIBUTE = "custom:tenant"
TENANT = "tenant"
PREFIX = "duecourse/"
SERVICE_ACCOUNTS = "@service-accounts.duecourse.invalid"
"""The suffix of the email addresses of service accounts (`duecourse/cli/accounts.py` creates them)."""
OF_THE_POOL = "aws.cognito.signin.user.admin"
"""The scope with which a user can change their password and attributes."""


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Return the event of a pre token generation trigger (V2_0) with its response. The token of a user without a tenant
    has no tenant, and the API rejects it.
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
