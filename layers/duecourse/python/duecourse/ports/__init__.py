"""The interfaces that the use cases need, and the records that stores and queues exchange with them."""

from __future__ import annotations

from duecourse.ports.basics import Background, Clock, Executor, InlineExecutor, Randomness
from duecourse.ports.cursors import BrokenCursor, Claim, Claimed, ClaimResult, ShardQueue, Timer, timer_key
from duecourse.ports.jobs import (
    EVERY_JOB,
    NO_TERMS,
    Creation,
    CreationTerms,
    DefinitionUnreadableError,
    JobCursor,
    JobFilter,
    JobPage,
    JobQuotaError,
    KeyUsedError,
    Listed,
    Refusal,
    SeatsChangedError,
    StoreBusyError,
    Total,
    UsedKey,
)
from duecourse.ports.lanes import DeadLetterQueue, DeadMessage, Lanes, Outgoing, OutgoingOperation, Received
from duecourse.ports.limits import (
    BucketConflict,
    ConcurrencyQuota,
    Depth,
    Depths,
    EventSource,
    QueueDepths,
    QueuePollers,
    TableThroughput,
)
from duecourse.ports.maintenance import Finding, IndexPage, Undecided
from duecourse.ports.runs import Conflict, Input, LastRun, QueueWatch, StateMark
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
    Executions,
    ExecutionUnavailableError,
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
from duecourse.ports.workflows import GraphMissingError, RecordedEnd, WorkflowRead
