"""What the use cases need of the outside. One suite of contract tests runs over every adapter of a store."""

from __future__ import annotations

from duecourse.ports.audit import AuditStore, Finding, JobsPage, Undecided
from duecourse.ports.basics import Clock, Executor, InlineExecutor, Randomness
from duecourse.ports.cursors import BrokenCursor, Claim, Claimed, ClaimResult, CursorStore, ShardQueue, Timer, Timers
from duecourse.ports.jobs import (
    ChangePage,
    JobPage,
    JobQuotaError,
    JobStore,
    KeyUsedError,
    SeatsChangedError,
    SeatStore,
    StoreBusyError,
    UsedKey,
)
from duecourse.ports.lanes import DeadLetterQueue, DeadMessage, Lanes, Outgoing, Received
from duecourse.ports.limits import BucketConflict, Depth, Depths, Progress, TenantLimits, TickMark
from duecourse.ports.patrol import Patrolled, PatrolPage, PatrolStore
from duecourse.ports.runs import Conflict, DeadMark, Input, Inputs, Lines, RunStore, Watch
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
    "AuditStore",
    "BrokenCursor",
    "BucketConflict",
    "Bus",
    "Call",
    "Caller",
    "ChangePage",
    "Claim",
    "ClaimResult",
    "Claimed",
    "Clock",
    "Conflict",
    "CursorStore",
    "DeadLetterQueue",
    "DeadMark",
    "DeadMessage",
    "Death",
    "Depth",
    "Depths",
    "Executor",
    "Finding",
    "InlineExecutor",
    "Input",
    "Inputs",
    "JobPage",
    "JobQuotaError",
    "JobStore",
    "JobsPage",
    "KeyUsedError",
    "Lanes",
    "Lines",
    "Notices",
    "Occasion",
    "Outgoing",
    "PatrolPage",
    "PatrolStore",
    "Patrolled",
    "Progress",
    "Randomness",
    "Received",
    "RegisteredTask",
    "Results",
    "RunStore",
    "SeatStore",
    "SeatsChangedError",
    "SecretUnknownError",
    "Secrets",
    "SecretsUnavailableError",
    "ShardQueue",
    "StoreBusyError",
    "Tasks",
    "TasksUnavailableError",
    "TenantLimits",
    "TickMark",
    "Timer",
    "Timers",
    "Undecided",
    "UsedKey",
    "Watch",
]
