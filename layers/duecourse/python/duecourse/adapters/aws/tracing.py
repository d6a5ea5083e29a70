"""The AWS X-Ray trace of the current invocation."""

from __future__ import annotations

import os
import re
from typing import Any

TRACE_VARIABLE = "_X_AMZN_TRACE_ID"
"""Where Lambda puts the header of each invocation (AWS Lambda Developer Guide, "Defined runtime environment
variables")."""

HEADER = "X-Amzn-Trace-Id"
RECORDED = "Sampled=1"
"""What a trace header says of a trace that is recorded (AWS X-Ray Developer Guide, "Tracing header")."""

_LINEAGE = "Lineage="
_IDS = re.compile("Root=1-([0-9a-f]{8})-([0-9a-f]{24});Parent=([0-9a-f]{16})")


def trace_header() -> str | None:
    """The value of the header `X-Amzn-Trace-Id` for what this invocation sends and calls; None outside of Lambda."""
    return os.environ.get(TRACE_VARIABLE) or None


def trace_headers(header: str | None) -> dict[str, str]:
    """The headers of a call that belongs to a recorded trace: that of X-Ray, and the same as `traceparent` (W3C Trace
    Context, "Traceparent Header"), whose trace id has the digits of X-Ray's. None for a trace that is not recorded: the
    receiver would not record its own.
    """
    found = None if header is None or RECORDED not in header else _IDS.match(header)
    if header is None or found is None:
        return {}
    return {HEADER: header, "traceparent": f"00-{found[1]}{found[2]}-{found[3]}-01"}


def for_messages(header: str | None) -> str | None:
    """What messages bear of a trace: one that is recorded, and no lineage.

    A trace that is not recorded would keep their receivers from recording theirs. By the lineage Lambda counts how
    often a function was invoked in one chain, and ends the chain after some sixteen times (AWS Lambda Developer Guide,
    "Use Lambda recursive loop detection"). The attempts and waits of a run are such a chain, of the worker and of the
    function that it calls; they have bounds of their own.
    """
    if header is None or RECORDED not in header:
        return None
    return ";".join(part for part in header.split(";") if not part.startswith(_LINEAGE))


def drop_trace_lineage(client: Any, service: str) -> None:
    """Let the client's requests to SQS bear what messages may: SQS hands the header of a request on with them, and
    botocore adds the invocation's before it makes one.
    """
    if service == "sqs":
        client.meta.events.register("request-created.sqs", _drop_lineage)


def _drop_lineage(request: Any, **_: Any) -> None:
    borne = for_messages(request.headers.get(HEADER))
    if HEADER in request.headers:
        del request.headers[HEADER]
    if borne is not None:
        request.headers[HEADER] = borne
