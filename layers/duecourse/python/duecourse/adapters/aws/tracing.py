"""The AWS X-Ray trace of the current invocation."""

from __future__ import annotations

import os
import re
from typing import Any

TRACE_VARIABLE = "_X_AMZN_TRACE_ID"
"""The environment variable with the trace header of each invocation (AWS Lambda Developer Guide, "Defined runtime
environment variables").
"""

HEADER = "X-Amzn-Trace-Id"
RECORDED = "Sampled=1"
"""The part of a trace header that marks a recorded trace (AWS X-Ray Developer Guide, "Tracing header")."""

_LINEAGE = "Lineage="
_IDS = re.compile("Root=1-([0-9a-f]{8})-([0-9a-f]{24});Parent=([0-9a-f]{16})")


def trace_header() -> str | None:
    """Return the value of the `X-Amzn-Trace-Id` header for messages and calls of this invocation. Returns None outside
    Lambda.
    """
    return os.environ.get(TRACE_VARIABLE) or None


def trace_headers(header: str | None) -> dict[str, str]:
    """Return the headers of a call that belongs to a recorded trace: the header of X-Ray, and the same as `traceparent`
    (W3C Trace Context, "Traceparent Header"), whose trace id has the digits of the X-Ray trace id. Returns no headers
    for a trace that is not recorded: with them the receiver would not record its own trace.
    """
    found = None if header is None or RECORDED not in header else _IDS.match(header)
    if header is None or found is None:
        return {}
    return {HEADER: header, "traceparent": f"00-{found[1]}{found[2]}-{found[3]}-01"}


def for_messages(header: str | None) -> str | None:
    """Return the trace header for messages: only that of a recorded trace, and without the lineage.

    The header of an unrecorded trace would prevent the receivers from recording their traces. Lambda uses the lineage
    to count how many times a function was invoked in one chain, and ends the chain after about sixteen invocations (AWS
    Lambda Developer Guide, "Use Lambda recursive loop detection"). The attempts and waits of a run are such a chain of
    the worker and the function that it calls, and have separate limits.
    """
    if header is None or RECORDED not in header:
        return None
    return ";".join(part for part in header.split(";") if not part.startswith(_LINEAGE))


def drop_trace_lineage(client: Any, service: str) -> None:
    """Remove the lineage from the client's requests to SQS, which copies the trace header of a request to its messages.
    botocore adds the header of the invocation before it creates a request.
    """
    if service == "sqs":
        client.meta.events.register("request-created.sqs", _drop_lineage)


def _drop_lineage(request: Any, **_: Any) -> None:
    borne = for_messages(request.headers.get(HEADER))
    if HEADER in request.headers:
        del request.headers[HEADER]
    if borne is not None:
        request.headers[HEADER] = borne
