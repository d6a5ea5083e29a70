"""Limits that the stack is made with and the code in it counts on: each stands here alone, and both import it.

The only module of the core that `infra` imports. Constants, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

WORKER_SECONDS: Mapping[str, int] = {"high": 120, "normal": 120, "low": 120, "long": 900}
"""By lane, how long an invocation of its worker lives at most: so long a call may go on."""

LANES = tuple(WORKER_SECONDS)

MAX_DELAY_SECONDS = 900
"""For so long SQS holds a message back at most (Amazon SQS API Reference, "SendMessage": DelaySeconds)."""

MESSAGE_RETENTION_DAYS = 14
"""For so long lanes and the dead-letter queue keep a message, counted from when it was sent: SQS keeps none longer."""

MAX_SHARDS = 9_999
"""Four digits in the names of slots."""

DISPATCH_SECONDS = 58
"""How long an invocation of the dispatcher lives at most: nearly the minute after which the next tick comes. At its
busiest a shard needs it.
"""

ROUND_MARGIN_SECONDS = 12
"""What a round keeps of its invocation: a group that is under way, with every answer slow."""

ROUND_SECONDS = DISPATCH_SECONDS - ROUND_MARGIN_SECONDS
"""How long a round works at most."""

SHARD_VISIBILITY_SECONDS = 65
"""After so long a shard whose dispatcher died is free for the next: a little more than an invocation lives."""

SHARD_RETENTION_SECONDS = 300
"""A tick that has waited for so long is dropped: the ones after it do the same work."""

TASK_NAME = r"[A-Za-z0-9_-]{1,64}"
"""What a registered task may be called."""
