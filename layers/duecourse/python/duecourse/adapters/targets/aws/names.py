"""Names of resources and attempts. Jobs contain names, and the ARNs are built here. AWS deduplicates attempts by their
names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from duecourse.domain.jobs.job import Completion
from duecourse.domain.targets.executions import NAME_PREFIX
from duecourse.ports import Call

_MARK_CHARACTERS = 16
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Arns:
    """The partition (`aws`), region and account that the stage shares with its targets."""

    partition: str
    region: str
    account: str

    def arn(self, service: str, resource: str) -> str:
        """Return an ARN, such as `arn:aws:states:eu-west-1:123456789012:stateMachine:report` for `states` and
        `stateMachine:report`.
        """
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def role_arn(self, role: str) -> str:
        """Return the ARN of a role. Roles belong to the account and have no region."""
        return f"arn:{self.partition}:iam::{self.account}:role/{role}"


def attempt_name(call: Call, limit: int) -> str:
    """Return a name of at most `limit` characters (A-Z, a-z, 0-9, `_`, `-`) that is the same whenever this attempt is
    called.

    It consists of `nightly-20261121T064700Z-1-` and a hash, after NAME_PREFIX if its end is followed. The hash
    distinguishes jobs of different tenants with the same id, and truncated names.
    """
    run = call.run
    mark = sha256(f"{run.tenant}/{run.name}/{run.attempt}".encode()).hexdigest()[:_MARK_CHARACTERS]
    prefix = NAME_PREFIX if call.job.completion is Completion.END else ""
    shown = prefix + _UNSAFE.sub("-", f"{run.name}-{run.attempt}")
    return f"{shown[: limit - _MARK_CHARACTERS - 1]}-{mark}"


def deduplication_id(call: Call) -> str:
    """Return the id by which FIFO queues and topics discard duplicates for five minutes: a hash of the tenant's
    idempotency key.

    So an attempt that is repeated after a lost response does not send a second message. If the run waits for a
    callback, the attempt number is also hashed: the message of each attempt has a different token, without which the
    run could not be completed.
    """
    words = [call.run.tenant, call.idempotency_key]
    if call.callback_token is not None:
        words.append(str(call.run.attempt))
    return sha256("\n".join(words).encode()).hexdigest()
