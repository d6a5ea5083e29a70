"""Limits that both the stack and the code use; both import them from here.

The only module of the core that `infra` imports. It contains only constants.
"""

from __future__ import annotations

from collections.abc import Mapping

WORKER_SECONDS: Mapping[str, int] = {"high": 120, "normal": 120, "low": 120, "long": 900}
"""By lane, the timeout of its worker function, which bounds calls."""

LANES = tuple(WORKER_SECONDS)

MAX_DELAY_SECONDS = 900
"""The longest delay of a message in SQS (Amazon SQS API Reference, "SendMessage": DelaySeconds)."""

MESSAGE_RETENTION_DAYS = 14
"""How long lanes and the dead-letter queue keep a message after it was sent: the maximum of SQS."""

MAX_SHARDS = 9_999
"""Four digits in the names of slots."""

DISPATCH_SECONDS = 58
"""The timeout of the dispatcher: nearly the minute between two ticks, which a shard needs at its busiest.
"""

ROUND_MARGIN_SECONDS = 12
"""The time of an invocation that a round reserves for the group in progress, if every response is slow."""

ROUND_SECONDS = DISPATCH_SECONDS - ROUND_MARGIN_SECONDS
"""The longest time that a round works."""

SHARD_VISIBILITY_SECONDS = 65
"""After this time the shard of a dead dispatcher is free for the next: slightly longer than the function's timeout."""

SHARD_RETENTION_SECONDS = 300
"""A tick that has waited for this time is dropped: later ticks do the same work."""

TASK_NAME = r"[A-Za-z0-9_-]{1,64}"
"""Pattern of a registered task's name."""

EVENTS_SOURCE = "duecourse"
"""Source of Duecourse's own events on EventBridge. Targets of jobs must not use it."""

METRICS_NAMESPACE = "Duecourse/{stage}"
"""Of a stage's own metrics, so that stages of one account do not add up. The names of its alarms begin with it, too."""
