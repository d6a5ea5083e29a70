"""What the use cases need of the outside. One suite of contract tests runs over every adapter of a store."""

from __future__ import annotations

from duecourse.ports.basics import Clock, Randomness
from duecourse.ports.cursors import BrokenCursor, Claim, ClaimResult, CursorStore, ShardQueue, Wake, Wakes
from duecourse.ports.jobs import JobPage, JobStore
from duecourse.ports.lanes import DeadLetterQueue, DeadMessage, Lanes, Outgoing, Received
from duecourse.ports.runs import Conflict, DeadMark, RunStore, Waiters
from duecourse.ports.targets import (
    LINK_SECONDS,
    Call,
    Caller,
    RegisteredTask,
    Results,
    Secrets,
    SecretsUnavailableError,
    SecretUnknownError,
    Tasks,
    TasksUnavailableError,
)
from duecourse.ports.told import Bus, Death, Notices, Occasion

__all__ = [
    "LINK_SECONDS",
    "BrokenCursor",
    "Bus",
    "Call",
    "Caller",
    "Claim",
    "ClaimResult",
    "Clock",
    "Conflict",
    "CursorStore",
    "DeadLetterQueue",
    "DeadMark",
    "DeadMessage",
    "Death",
    "JobPage",
    "JobStore",
    "Lanes",
    "Notices",
    "Occasion",
    "Outgoing",
    "Randomness",
    "Received",
    "RegisteredTask",
    "Results",
    "RunStore",
    "SecretUnknownError",
    "Secrets",
    "SecretsUnavailableError",
    "ShardQueue",
    "Tasks",
    "TasksUnavailableError",
    "Waiters",
    "Wake",
    "Wakes",
]
