"""The trace that this invocation belongs to, as AWS X-Ray names it."""

from __future__ import annotations

import os

TRACE_VARIABLE = "_X_AMZN_TRACE_ID"
"""Where Lambda puts the header of each invocation (AWS Lambda Developer Guide, "Defined runtime environment
variables")."""


def trace_header() -> str | None:
    """The value of the header `X-Amzn-Trace-Id` for what this invocation sends and calls; None outside of Lambda."""
    return os.environ.get(TRACE_VARIABLE) or None
