"""Names of resources and attempts. Jobs contain names, and ARNs are built here. AWS deduplicates attempts by their
names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from duecourse.ports import Call

_MARK_CHARACTERS = 16
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Arns:
    """Partition (`aws`), region and account of the stage; its targets are there too."""

    partition: str
    region: str
    account: str

    def arn(self, service: str, resource: str) -> str:
        """`arn:aws:states:eu-west-1:123456789012:stateMachine:report` for `states`, `stateMachine:report`."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def role_arn(self, role: str) -> str:
        """Roles belong to the account and no region."""
        return f"arn:{self.partition}:iam::{self.account}:role/{role}"


def attempt_name(call: Call, limit: int) -> str:
    """A name of at most `limit` characters (A-Z, a-z, 0-9, `_`, `-`), the same whenever this attempt is called.

    `nightly-20261121T064700Z-1-` and a hash, which distinguishes what the readable part cannot: tenants with jobs of
    the same id, and names that had to be cut.
    """
    run = call.run
    mark = sha256(f"{run.tenant}/{run.name}/{run.attempt}".encode()).hexdigest()[:_MARK_CHARACTERS]
    shown = _UNSAFE.sub("-", f"{run.name}-{run.attempt}")
    return f"{shown[: limit - _MARK_CHARACTERS - 1]}-{mark}"


def deduplication_id(call: Call) -> str:
    """What FIFO queues and topics drop repeats by, for five minutes: the tenant's idempotency key, hashed.

    So an attempt whose answer was lost puts no second message in when it is tried again. Where the run waits for a
    callback the attempt counts too: its message brings a token of its own, without which the run could not be
    completed.
    """
    words = [call.run.tenant, call.idempotency_key]
    if call.callback_token is not None:
        words.append(str(call.run.attempt))
    return sha256("\n".join(words).encode()).hexdigest()
