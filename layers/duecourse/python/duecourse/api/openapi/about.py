"""What the document says of the API as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TAGS: Mapping[str, str] = {
    "jobs": "Definitions: a schedule, a target, a payload, policies.",
    "by hand": "Stepping in: pause, run now, backfill, skip.",
    "workflows": "Jobs that run other jobs, each after those that it names.",
    "runs": "What became of occurrences.",
    "callbacks": "Called by who works on a run, with the run's token.",
    "dead letters": "Runs that used up their attempts.",
    "schedules": "What schedules mean.",
    "service": "The service itself.",
}
"""What the operations are grouped by."""

DESCRIPTION = """\
Duecourse runs jobs in due course: schedules of any kind, on AWS serverless parts.

**Access.** A bearer token of the stage's issuer (or, on a stage with `auth: iam`, a SigV4 signature) names the tenant,
whose jobs alone it can see, and holds scopes: `jobs:read`, `jobs:write`, `ops`. Health and this document are for
everybody; `heartbeat`, `complete` and `fail` are called by targets with the token of the run.

**Answers.** All refusals are problem documents (RFC 9457) that name every wrong field at once; compare the last part of
`type`, which is stable, and show `detail`. Each answer names its request in `x-request-id`, and in
`x-correlation-id` what it is part of, if you said so. Expect further fields in answers: they may be added at any time.

**Pages.** Lists answer `items` and `next_cursor`; pass it as `cursor` for the next page, until it is null.
"""

SECURITY: dict[str, Any] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "Stages with a pool or an issuer of their own: a token with the scopes that each route names.",
    },
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "Stages with auth: iam: AWS Signature Version 4 for the service execute-api.",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
    "run": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of a run's present attempt, which its target was given (X-Duecourse-Token).",
    },
}
