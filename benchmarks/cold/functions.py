"""The functions of the stack, and their environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.execute.environment import ENVIRONMENT as EXECUTE
from benchmarks.execute.environment import QUEUE
from benchmarks.wire.client import FAKE_ACCOUNT

ENVIRONMENT: Mapping[str, str] = {
    **FAKE_ACCOUNT,
    **EXECUTE,
    "DUECOURSE_LOOKAHEAD_SECONDS": "300",
    "DUECOURSE_HORIZON_SECONDS": "840",
    "DUECOURSE_SHARD_QUEUE_URL": f"{QUEUE}.fifo",
    "DUECOURSE_LETTERS_URLS": f"{QUEUE}-letters",
    "DUECOURSE_PING_URL": "none",
    "DUECOURSE_ACCOUNT_CONCURRENCY": "1000",
    "DUECOURSE_ARCHIVE_SOURCE": "91eaeb7e-c976-1234-9451-8709db01f137",
    "DUECOURSE_AUDIT_FUNCTION": "duecourse-audit",
    "DUECOURSE_FAILED_SHARE": "0.4",
    "DUECOURSE_DEAD_LETTER_QUEUE_URL": f"{QUEUE}-dead",
    "DUECOURSE_DEFAULT_PRECISION": "second",
    "DUECOURSE_ALLOWED_TARGETS": "{}",
    "DUECOURSE_RESULT_BUCKETS": "{}",
    "DUECOURSE_OIDC": "none",
    "DUECOURSE_AUTH": "iam",
    "DUECOURSE_TENANT_CLAIM": "tenant",
    "DUECOURSE_JOB_QUOTA": "10000",
    "DUECOURSE_REQUESTS_PER_SECOND": "50",
    "DUECOURSE_BURST": "100",
    "DUECOURSE_SMALLEST_INTERVAL_SECONDS": "1",
    "DUECOURSE_BACKFILL_LIMIT": "1000",
    "DUECOURSE_DELAYED_RUNS_PER_HOUR": "1000",
    "DUECOURSE_OPERATOR_TENANT": "*",
    **{f"DUECOURSE_SEAT_{lane}": "30" for lane in ("HIGH", "NORMAL", "LOW", "LONG")},
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function. `build` returns the objects that its handler creates at import, and again at an event if its settings
    were wrong.
    """

    name: str
    build: str = ""
    most_beyond_boto3: float | None = None
    """The budget: the maximum number of milliseconds by which its import may exceed that of boto3
    (benchmarks/README.md).
    """


FUNCTIONS = (
    Function("tick", "_tick"),
    Function("dispatch", "_dispatch", 300),
    Function("execute", "_workers", 300),
    Function("reconcile", "_reconciler"),
    Function("api", "application"),
    Function("callbacks", "application"),
    Function("token_claims"),
    Function("console"),
)
"""`execute` represents the workers of all four lanes, which have the same code."""
