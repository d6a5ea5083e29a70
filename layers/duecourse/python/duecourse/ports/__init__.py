"""The interfaces that the use cases need. The same contract tests run against every adapter of a store."""

from __future__ import annotations

from duecourse.ports.api_keys import AllKeys, ApiKeyStore
from duecourse.ports.basics import Background, Clock, Executor, InlineExecutor, Randomness
from duecourse.ports.calendars import CalendarPage, CalendarStore
from duecourse.ports.cursors import (
    BrokenCursor,
    Claim,
    Claimed,
    ClaimResult,
    CursorStore,
    ShardQueue,
    Timer,
    Timers,
)
from duecourse.ports.jobs import (
    EVERY_JOB,
    NO_TERMS,
    ChangePage,
    Creation,
    CreationTerms,
    CursorPage,
    IdPage,
    JobCursor,
    JobFilter,
    JobPage,
    JobQuotaError,
    JobStore,
    KeyUsedError,
    Refusal,
    SeatsChangedError,
    SeatStore,
    StoreBusyError,
    Total,
    UsedKey,
)
from duecourse.ports.key_limits import KeyLimitPage, KeyLimits
from duecourse.ports.lanes import DeadLetterQueue, DeadMessage, Lanes, Outgoing, Received
from duecourse.ports.limits import (
    BucketConflict,
    Depth,
    Depths,
    EventSource,
    Progress,
    QueueDepths,
    TenantLimits,
    TickMark,
)
from duecourse.ports.maintenance import (
    AuditStore,
    Finding,
    IndexPage,
    JobsPage,
    RepairStore,
    RunsInProgress,
    TenantReports,
    Undecided,
)
from duecourse.ports.runs import Conflict, Input, Inputs, LastRun, RunStore, StateMark, WaitQueues, Watch
from duecourse.ports.services import (
    THROTTLED,
    TRANSIENT,
    AwsError,
    Bus,
    CloudWatchUnavailableError,
    DeadlineNotification,
    FailureNotification,
    NoAnswerError,
    Notifier,
    OutboundEvent,
    ServiceError,
    StageAlarms,
    StageMetrics,
)
from duecourse.ports.targets import (
    LINK_SECONDS,
    Call,
    Caller,
    Pinger,
    PublicKeys,
    RegisteredTask,
    ResultRefusedError,
    Results,
    Secrets,
    SecretsUnavailableError,
    SecretUnknownError,
    Tasks,
    TasksUnavailableError,
    TokenSigner,
    TokensUnavailableError,
)
from duecourse.ports.workflows import GraphMissingError, WorkflowRead, WorkflowStore
