"""One container for all functions: only this module binds adapters to ports and builds use cases.

Each object is created at its first use, and its modules are imported there: a function imports only the modules of the
use case that it requests. Tests and duecourse.testing assign other objects, such as stores in memory and a simulated
clock, before they request a use case.

A property declares in the type of `self` the settings that it reads: mypy rejects a use case for a function whose
environment does not have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from duecourse.adapters.aws.clients import client
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.settings import (
    ApiSettings,
    ArchiveSettings,
    AuditSettings,
    CallbackSettings,
    DispatchSettings,
    ExecuteSettings,
    LaneSettings,
    ReconcilerSettings,
    RepairSettings,
    SettingsError,
    TableSettings,
    TickSettings,
)
from duecourse.usecases.parts import Parts, S_co

if TYPE_CHECKING:
    from duecourse.adapters.targets.callers import Means
    from duecourse.api.api import Api
    from duecourse.api.callback_app import CallbackParts
    from duecourse.domain.jobs.job import Lane
    from duecourse.messages import OperationMessage
    from duecourse.ports import (
        Bus,
        Caller,
        Clock,
        Depths,
        Executions,
        Executor,
        Lanes,
        Notifier,
        Pinger,
        PublicKeys,
        Randomness,
        Received,
        RegisteredTask,
        Results,
        Secrets,
        StageAlarms,
        StageMetrics,
        Tasks,
        TokenSigner,
    )
    from duecourse.ports.logs import LogStore
    from duecourse.stores.cursors import CursorStore
    from duecourse.stores.prescale import PrescaleStore
    from duecourse.stores.table import Tables
    from duecourse.usecases.announce import Announcements
    from duecourse.usecases.dispatch.claim import Skipping
    from duecourse.usecases.dispatch.prescale import Prescale
    from duecourse.usecases.dispatch.round import Dispatch
    from duecourse.usecases.dispatch.tick import Tick
    from duecourse.usecases.dispatch.watch import Heartbeat, StageWatch
    from duecourse.usecases.forwarder import Forwarder
    from duecourse.usecases.maintenance.archive import ArchiveRuns
    from duecourse.usecases.maintenance.audit import Audit
    from duecourse.usecases.maintenance.calendar_check import CalendarCheck
    from duecourse.usecases.maintenance.index_repair import IndexRepair
    from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters
    from duecourse.usecases.maintenance.report import MakeReport
    from duecourse.usecases.maintenance.tenants import AllTenants
    from duecourse.usecases.ping import Pings
    from duecourse.usecases.report import Report
    from duecourse.usecases.run_counts import RunCounts
    from duecourse.usecases.runs.commands import Callbacks, CommandSender
    from duecourse.usecases.runs.discards import Discards
    from duecourse.usecases.runs.logs import LogWriter
    from duecourse.usecases.runs.notices import JobNotices
    from duecourse.usecases.runs.operations import CarryOn
    from duecourse.usecases.runs.successors import Successors
    from duecourse.usecases.standby import Standby
    from duecourse.usecases.worker.attempt import LaneWorker, TransitionWriter
    from duecourse.usecases.worker.effects import SideEffects
    from duecourse.usecases.worker.executions import FollowedExecutions
    from duecourse.usecases.worker.forecasts import ForecastChecks
    from duecourse.usecases.worker.logs import CallLogs
    from duecourse.usecases.worker.trends import Trends
    from duecourse.usecases.worker.work_item import Disposition, ReceivedMessage, WorkerRules
    from duecourse.usecases.workflows.workflows import Payloads

T = TypeVar("T")

HOUR_SECONDS = 3600

SLOWEST_WRITE_SECONDS, SLOWEST_SHORT_SECONDS = 35, 12
"""The longest time (seconds) that a request to DynamoDB can take without a response, and with short timeouts
(adapters.aws.clients).
"""


def made_at_start(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that returns the same object at every call. The object is created immediately, while Lambda
    initializes the function, so that the first invocation imports nothing. If the settings are invalid, the object is
    created at the first call instead, which raises SettingsError: the invocation then reports the invalid settings.
    """
    made = cache(make)
    with suppress(SettingsError):
        made()
    return made


def made_now(*parts: object) -> None:
    """Do nothing: the arguments are parts that were created for this call, because their use cases would only create
    them in the first invocation.
    """
    del parts


def _never_stops(publish: Callable[[Report], None], *, raises: bool = True) -> bool:
    """The answer of a stage without a standby."""
    del publish, raises
    return False


class _NoTasks:
    """The tasks of a function that only edits jobs: their targets are already known."""

    def get(self, name: str) -> RegisteredTask | None:
        """Return None."""
        del name
        return None


class Wiring(Parts[S_co]):
    """The objects of one function, or of one stage of a test."""

    def __init__(self, settings: S_co) -> None:
        self.settings = settings

    # Objects that do not use AWS.

    @cached_property
    def clock(self) -> Clock:
        return SystemClock()

    @cached_property
    def randomness(self) -> Randomness:
        return SystemRandomness()

    @cached_property
    def threads(self) -> Threads:
        return Threads()

    @cached_property
    def executor(self) -> Executor:
        return self.threads

    def _client(self, service: str, *, once: bool = False) -> Any:
        return client(service, short_timeouts=self.settings.short_timeouts, once=once)

    @cached_property
    def tables(self: Wiring[TableSettings | TickSettings]) -> Tables:
        from duecourse.adapters.dynamodb.tables import DynamoTables
        from duecourse.stores.table import Table

        names = {Table.JOBS: self.settings.jobs_table, Table.RUNS: self.settings.runs_table}
        return DynamoTables(self._client("dynamodb"), names, self.clock, self.threads)

    @cached_property
    def results(self: Wiring[ApiSettings | ExecuteSettings | ReconcilerSettings]) -> Results:
        """The store of large results."""
        from duecourse.adapters.aws.s3 import S3Results

        return S3Results(client("s3"), self.settings.results_bucket)

    @cached_property
    def log_store(self: Wiring[ApiSettings | CallbackSettings | ExecuteSettings]) -> LogStore:
        """The store of logs: the bucket of results. A worker stores a log at the end of an attempt, hence the short
        timeouts. A caller who waits repeats its own requests: meanwhile, others need the function.
        """
        from duecourse.adapters.aws.s3_logs import S3Logs

        s3 = client("s3", short_timeouts=True, once=self.settings.caller_waits)
        return S3Logs(s3, self.settings.results_bucket)

    @cached_property
    def log_writer(self: Wiring[ApiSettings | CallbackSettings]) -> LogWriter:
        from duecourse.usecases.runs.logs import LogWriter

        return LogWriter(self.log_store)

    def _call_logs(self: Wiring[ExecuteSettings]) -> CallLogs:
        from duecourse.usecases.worker.logs import CallLogs

        return CallLogs(self.log_store, self.clock)

    @cached_property
    def cursors(self: Wiring[TableSettings]) -> CursorStore:
        from duecourse.stores import cursors

        return cursors.CursorStore(self.tables, self.clock, self.threads, self.listing)

    @cached_property
    def standby(self: Wiring[TableSettings | TickSettings]) -> Standby | None:
        """Whether this region works; None if the stage has no standby."""
        if self.settings.fence is None:
            return None
        from duecourse.adapters.shared_cache import SharedCache
        from duecourse.checks.standby import FENCE_SECONDS, Fence
        from duecourse.stores.fence import FenceStore
        from duecourse.usecases.standby import Standby

        known: SharedCache[Fence | None] = SharedCache(self.clock, kept=1)
        fences = FenceStore(self.tables)
        return Standby(
            lambda: known.get("fence", lambda _: (fences.get(), FENCE_SECONDS)), self.clock, self.settings.fence
        )

    @cached_property
    def stops(self: Wiring[TableSettings | TickSettings]) -> Callable[..., bool]:
        """Return whether this region does not work (usecases.standby.Standby.stops)."""
        return _never_stops if self.standby is None else self.standby.stops

    # Queues, notifications, metrics.

    @cached_property
    def lanes(self: Wiring[LaneSettings | CallbackSettings]) -> Lanes:
        from duecourse.adapters.sqs.lanes import SqsLanes

        return SqsLanes(
            self._client("sqs", once=True),
            self.settings.queue_urls,
            self.clock,
            self.randomness,
            bulk_urls=self.settings.bulk_urls,
            short_timeouts=self.settings.caller_waits,
            executor=self.threads,
        )

    def received(self, queue_url: str) -> Received:
        """Return the access to a queue from which messages are received."""
        from duecourse.adapters.sqs.received import SqsReceived

        return SqsReceived(self._client("sqs"), queue_url)

    @cached_property
    def depths(self: Wiring[LaneSettings]) -> Depths:
        from duecourse.adapters.sqs.depths import SqsDepths

        settings = self.settings
        return SqsDepths(self._client("sqs"), settings.queue_urls, self.clock, bulk_urls=settings.bulk_urls)

    @cached_property
    def notices(self: Wiring[ExecuteSettings | ReconcilerSettings]) -> Notifier:
        from duecourse.adapters.aws.sns import SnsNotifier

        return SnsNotifier(self._client("sns"), self.settings.deaths_topic_arn)

    @cached_property
    def bus(self: Wiring[DispatchSettings | ExecuteSettings | ReconcilerSettings]) -> Bus:
        """The bus for the events of jobs with the `events` field."""
        from duecourse.adapters.aws.event_bus import EventBridgeBus

        return EventBridgeBus(self._client("events"), self.settings.bus_name)

    @cached_property
    def alarms(self: Wiring[ApiSettings]) -> StageAlarms:
        from duecourse.adapters.aws.cloudwatch import CloudWatchAlarms

        return CloudWatchAlarms(self._client("cloudwatch"), self.settings.stage, self.clock)

    @cached_property
    def metrics(self: Wiring[ApiSettings]) -> StageMetrics:
        from duecourse.adapters.aws.cloudwatch import CloudWatchMetrics

        settings = self.settings
        return CloudWatchMetrics(
            self._client("cloudwatch"), settings.stage, self.clock, settings.queue_urls, settings.bulk_urls
        )

    # Targets.

    @cached_property
    def tasks(self: Wiring[ApiSettings | ExecuteSettings]) -> Tasks:
        from duecourse.adapters.aws.tasks import SsmTasks

        return SsmTasks(self._client("ssm"), self.settings.stage, self.clock)

    @cached_property
    def secrets(self: Wiring[ExecuteSettings]) -> Secrets:
        from duecourse.adapters.aws.secrets import SecretsManagerSecrets, SsmSecrets

        if self.settings.secret_store == "parameters":
            return SsmSecrets(self._client("ssm"), self.settings.stage, self.clock, self.randomness.draw)
        client = self._client("secretsmanager")
        return SecretsManagerSecrets(client, self.settings.stage, self.clock, self.randomness.draw)

    @cached_property
    def token_signer(self: Wiring[ExecuteSettings]) -> TokenSigner | None:
        """The signer of OIDC tokens; None if the stage has no keys for them."""
        if self.settings.oidc is None:
            return None
        from duecourse.adapters.aws.tokens import KmsTokens

        return KmsTokens(self._client("kms"), self.settings.oidc, self.clock)

    @cached_property
    def public_keys(self: Wiring[ApiSettings]) -> PublicKeys | None:
        """The keys of OIDC tokens; None if the stage has none."""
        if self.settings.oidc is None:
            return None
        from duecourse.adapters.aws.tokens import KmsPublicKeys

        return KmsPublicKeys(self._client("kms"), self.settings.oidc)

    @cached_property
    def caller(self: Wiring[ExecuteSettings]) -> Caller:
        from duecourse.adapters.targets.callers import Callers, Targets

        return Targets(Callers(self.means), self.tasks, self.settings.allowed_targets)

    @cached_property
    def means(self: Wiring[ExecuteSettings]) -> Means:
        """The dependencies of calls."""
        from duecourse.adapters.aws.clients import clients
        from duecourse.adapters.targets.aws.names import Arns
        from duecourse.adapters.targets.callers import Means

        settings = self.settings
        return Means(
            private=settings.private_targets == "allow",
            clock=self.clock,
            arns=Arns(settings.partition, settings.region, settings.account),
            secrets=self.secrets,
            clients=clients(),
            signer=self.token_signer,
            connectors=settings.allowed_targets.connectors,
            audit_function=settings.audit_function,
        )

    @cached_property
    def pinger(self: Wiring[TickSettings | ExecuteSettings]) -> Pinger:
        from duecourse.adapters.targets.http.ping import HttpPinger

        return HttpPinger(self.clock, private=self.settings.private_targets == "allow")

    # Parts that several use cases share.

    @cached_property
    def announcements(self: Wiring[DispatchSettings | ExecuteSettings | ReconcilerSettings]) -> Announcements:
        from duecourse.usecases.announce import Announcements

        return Announcements(self.bus, self.clock, lambda: self.notifier, lambda: self.pings)

    @cached_property
    def successors(self: Wiring[ExecuteSettings | ReconcilerSettings]) -> Successors:
        """The starter of runs after others. It is created for the first of them."""
        from duecourse.usecases.runs.successors import Successors

        return Successors(self, self.results)

    @cached_property
    def notifier(self: Wiring[LaneSettings]) -> JobNotices:
        """The sender of notices. It is created for the first notice."""
        from duecourse.usecases.runs.notices import JobNotices

        return JobNotices(self)

    @cached_property
    def skipping(self: Wiring[LaneSettings]) -> Skipping:
        from duecourse.usecases.dispatch.claim import Skipping

        return Skipping(self.runs, self.clock, self.settings.run_retention_days, self.run_counts)

    @cached_property
    def run_counts(self: Wiring[TableSettings]) -> RunCounts:
        from duecourse.usecases.run_counts import RunCounts

        slowest = SLOWEST_SHORT_SECONDS if self.settings.short_timeouts else SLOWEST_WRITE_SECONDS
        return RunCounts(self.run_count_store, self.clock, self.executor, slowest)

    @cached_property
    def payloads(self: Wiring[ApiSettings | ExecuteSettings]) -> Payloads:
        from duecourse.usecases.workflows.workflows import Payloads

        return Payloads(self, self.results)

    @cached_property
    def commands(self: Wiring[ApiSettings | CallbackSettings | ExecuteSettings]) -> CommandSender:
        from duecourse.usecases.runs.commands import CommandSender

        return CommandSender(self.lanes, self.clock, self.randomness)

    @cached_property
    def discards(self: Wiring[ApiSettings | ExecuteSettings]) -> Discards:
        from duecourse.usecases.runs.discards import Discards

        return Discards(self.runs, self.clock, self.randomness)

    # Use cases.

    @cached_property
    def tick(self: Wiring[TickSettings]) -> Tick:
        from duecourse.adapters.sqs.shard_queue import SqsShardQueue
        from duecourse.settings.functions import NO_MONITOR
        from duecourse.stores.cursors import CursorStore
        from duecourse.usecases.dispatch.tick import Tick
        from duecourse.usecases.ping import StagePing

        settings = self.settings
        return Tick(
            cursors=CursorStore(self.tables, self.clock),
            queue=SqsShardQueue(self._client("sqs"), settings.shard_queue_url),
            mark=self.tick_mark,
            clock=self.clock,
            executor=self.executor,
            shards=settings.shards,
            lookahead=settings.lookahead_seconds,
            watch=self.watch,
            ping=None if settings.ping_url == NO_MONITOR else StagePing(self.pings, settings.ping_url),
            prescale=None if settings.prescale is None else self.prescale,
        )

    @cached_property
    def prescale_store(self: Wiring[TableSettings | TickSettings]) -> PrescaleStore:
        from duecourse.stores.prescale import PrescaleStore

        return PrescaleStore(self.tables)

    @cached_property
    def prescale(self: Wiring[TickSettings]) -> Prescale:
        """The part of the tick that raises capacity before a peak, in stages with this setting."""
        from duecourse.adapters.aws.capacity import DynamoThroughput, LambdaPollers
        from duecourse.domain.maintenance.peaks import rules_of
        from duecourse.usecases.dispatch.prescale import Prescale

        rules = rules_of(self.settings.prescale or "")
        tables = {"jobs": self.settings.jobs_table, "runs": rules.runs_table}
        return Prescale(
            store=self.prescale_store,
            pollers=LambdaPollers(self._client("lambda", once=True)),
            throughput=DynamoThroughput(self._client("dynamodb", once=True), tables),
            rules=rules,
            clock=self.clock,
            executor=self.executor,
        )

    @cached_property
    def pings(self: Wiring[Any]) -> Pings:
        from duecourse.usecases.ping import Pings

        return Pings(self.pinger, self.clock)

    @cached_property
    def heartbeat(self: Wiring[TableSettings]) -> Heartbeat:
        from duecourse.usecases.dispatch.watch import Heartbeat

        return Heartbeat(self.tick_mark, self.clock)

    @cached_property
    def watch(self: Wiring[TickSettings]) -> StageWatch:
        """The part of the tick that checks queues, maintenance, the archive and the account's quota."""
        from duecourse.adapters.aws.account import LambdaAccount
        from duecourse.adapters.aws.event_source import LambdaEventSource
        from duecourse.adapters.sqs.depths import SqsQueueDepths
        from duecourse.usecases.dispatch.watch import SHARDS, StageWatch

        settings = self.settings
        lanes = {lane.value: url for lane, url in settings.queue_urls.items()} | {"callbacks": settings.callback_url}
        bulk = {f"{lane.value} bulk": url for lane, url in settings.bulk_urls.items()}
        letters = {url.rpartition("/")[2]: url for url in settings.letters_urls.split()}
        urls = lanes | bulk | letters | {SHARDS: settings.shard_queue_url}
        return StageWatch(
            depths=SqsQueueDepths(self._client("sqs"), urls),
            source=LambdaEventSource(self._client("lambda"), settings.archive_source),
            mark=self.tick_mark,
            clock=self.clock,
            executor=self.executor,
            lanes=tuple(lanes),
            bulk=tuple(bulk),
            letters=tuple(letters),
            quota=LambdaAccount(self._client("lambda")),
            account_concurrency=settings.account_concurrency,
        )

    @cached_property
    def dispatch(self: Wiring[DispatchSettings]) -> Dispatch:
        from duecourse.usecases.dispatch.claim import Claiming
        from duecourse.usecases.dispatch.round import Dispatch, DispatchRules

        settings = self.settings
        return Dispatch(
            cursors=self.cursors,
            lanes=self.lanes,
            clock=self.clock,
            randomness=self.randomness,
            claiming=Claiming(self.jobs, self.skipping, self.clock, self.announcements),
            rules=DispatchRules(settings.shards, settings.lookahead_seconds, settings.horizon_seconds),
            executor=self.executor,
        )

    @cached_property
    def workers(self: Wiring[ExecuteSettings]) -> Mapping[str, LaneWorker]:
        """The workers by the name of their queue: of the lane, of its bulk queue, and of the callbacks, which start no
        runs.
        """
        from duecourse.usecases.worker.work_item import WorkerRules

        made_now(self.lanes, self.inputs, self.timers, self.workflows, self.run_counts)
        settings = self.settings
        rules = WorkerRules(
            settings.lane, settings.max_receive_count, settings.run_retention_days, settings.failed_share
        )
        callbacks = replace(rules, lane=None)
        queues = {settings.queue_url: rules, settings.bulk_url: rules, settings.callback_url: callbacks}
        return {
            url.rpartition("/")[2]: self.worker(each, self.received(url), self.caller) for url, each in queues.items()
        }

    def worker(self: Wiring[ExecuteSettings], rules: WorkerRules, received: Received, caller: Caller) -> LaneWorker:
        """Return a worker for the messages of `received`."""
        from duecourse.gates.runner import GateItems, Gates
        from duecourse.usecases.worker.attempt import Coverage, LaneWorker, Starter
        from duecourse.usecases.worker.call import Calls
        from duecourse.usecases.worker.requeue import Requeue

        forwarder = self.forwarder(received, rules.lane)
        effects = self.effects(forwarder, cache(lambda: self._followed(forwarder)))
        transitions, coverage, wait_queue = self.transitions(effects), Coverage(self.runs), effects.wait_queue
        requeue = Requeue(self, forwarder)
        starter = Starter(
            parts=self,
            coverage=coverage,
            overlaps=effects.overlaps,
            gates=Gates(
                items=GateItems(self.wait_queues, self.clock),
                places=effects.overlaps,
                jobs=self.jobs,
                prepared=self.payloads.prepared,
                clock=self.clock,
                randomness=self.randomness,
            ),
            wait_queue=wait_queue,
            payloads=self.payloads,
            calls=Calls(self, caller, effects.workflows),
            transitions=transitions,
            requeue=requeue,
            forwarder=forwarder,
            rules=rules,
            call_logs=self._call_logs,
            forecasts=cache(lambda: self._forecasts(forwarder)),
        )
        return LaneWorker(
            parts=self,
            workflows=effects.workflows,
            coverage=coverage,
            starter=starter,
            transitions=transitions,
            effects=effects,
            wait_queue=wait_queue,
            requeue=requeue,
            forwarder=forwarder,
            rules=rules,
            trends=self.trends,
            operations=self.carry_on(received),
            standby=self.standby,
        )

    def carry_on(
        self: Wiring[ExecuteSettings], received: Received
    ) -> Callable[[OperationMessage, ReceivedMessage, Report], Disposition]:
        """Return a function that handles the messages of operations. Its parts are created for each of them: most
        workers never receive one.
        """

        def handle(message: OperationMessage, delivery: ReceivedMessage, report: Report) -> Disposition:
            return self._operations(received)(message, delivery, report)

        return handle

    def _operations(self: Wiring[ExecuteSettings], received: Received) -> CarryOn:
        from duecourse.domain.tenants.rate import BucketRules
        from duecourse.usecases.runs.commands import ManyCommands
        from duecourse.usecases.runs.lists import History, RunSearch
        from duecourse.usecases.runs.operations import CarryOn, Walk
        from duecourse.usecases.tenants import Limits
        from duecourse.usecases.workflows.workflows import WorkflowRuns

        commands = ManyCommands(self.jobs, WorkflowRuns(self.workflows, self.jobs), self.commands, self.discards)
        rules = BucketRules(self.settings.requests_per_second, self.settings.burst)
        limits = Limits(self.tenant_limits, self.clock, rules)
        return CarryOn(self, Walk(RunSearch(self), History(self)), commands, limits, received)

    @cached_property
    def trends(self) -> Trends:
        from duecourse.usecases.worker.trends import Trends

        return Trends()

    def forwarder(self: Wiring[LaneSettings], received: Received | None, lane: Lane | None) -> Forwarder:
        """Return a sender of copies of the messages of `received`. Without a lane each copy is sent to the lane that it
        names.
        """
        from duecourse.usecases.forwarder import Forwarder

        return Forwarder(self, received, lane)

    def _followed(self: Wiring[ExecuteSettings], forwarder: Forwarder) -> FollowedExecutions:
        from duecourse.usecases.worker.executions import FollowedExecutions

        return FollowedExecutions(self, forwarder, self.execution_services)

    def _forecasts(self: Wiring[ExecuteSettings], forwarder: Forwarder) -> ForecastChecks:
        from duecourse.usecases.worker.forecasts import ForecastChecks

        return ForecastChecks(self, forwarder, lambda: self.notifier)

    @cached_property
    def execution_services(self: Wiring[ExecuteSettings]) -> Executions:
        """The access to the executions that calls have started."""
        from duecourse.adapters.targets.aws.executions import AwsExecutions

        return AwsExecutions(self.means)

    def effects(
        self: Wiring[ExecuteSettings | ReconcilerSettings],
        forwarder: Forwarder,
        executions: Callable[[], FollowedExecutions] | None = None,
    ) -> SideEffects:
        from duecourse.gates.places import Overlaps
        from duecourse.usecases.worker.effects import FailingJobs, SideEffects
        from duecourse.usecases.worker.wait_queue import WaitQueue
        from duecourse.usecases.workflows.workflows import Workflows

        return SideEffects(
            parts=self,
            notices=self.notices,
            announcements=self.announcements,
            failing=FailingJobs(self, self.skipping, self.announcements),
            overlaps=Overlaps(self.runs, self.wait_queues, self.jobs, self.clock),
            wait_queue=WaitQueue(self, forwarder),
            forwarder=forwarder,
            workflows=Workflows(self, forwarder),
            successors=lambda: self.successors,
            executions=executions,
        )

    def transitions(self: Wiring[ExecuteSettings | ReconcilerSettings], effects: SideEffects) -> TransitionWriter:
        from duecourse.usecases.worker.attempt import TransitionWriter

        return TransitionWriter(self, effects, self.results, self.settings.result_buckets)

    @cached_property
    def reconcile(self: Wiring[ReconcilerSettings]) -> ReconcileDeadLetters:
        from duecourse.adapters.sqs.received import SqsDeadLetterQueue
        from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters

        made_now(self.lanes, self.inputs, self.timers, self.workflows, self.run_counts)
        queue_url = self.settings.dead_letter_queue_url
        threads = Threads()  # separate from the threads of the lanes, which wait for each other
        effects = self.effects(self.forwarder(self.received(queue_url), None))
        return ReconcileDeadLetters(
            parts=self,
            queue=SqsDeadLetterQueue(self._client("sqs"), queue_url, threads),
            transitions=self.transitions(effects),
            effects=effects,
            executor=threads,
        )

    @cached_property
    def index_repair(self: Wiring[RepairSettings]) -> IndexRepair:
        from duecourse.usecases.maintenance.index_repair import CleanUp, IndexCheck, IndexRepair, TenantCount

        settings, store, clock = self.settings, self.repair_store, self.clock
        made_now(self.lanes, self.timers, self.wait_queues, self.tick_mark)
        index = IndexCheck(self, store)
        clean_up = CleanUp(self.jobs, self.runs, clock, settings.completed_job_retention_days)
        checks = index, clean_up, self.calendar_check
        tenants = None if settings.operator_tenant is None else TenantCount(self.tenant_reports, clock)
        return IndexRepair(store, checks, clock, settings.repair_hours * HOUR_SECONDS, tenants)

    @cached_property
    def calendar_check(self: Wiring[RepairSettings]) -> CalendarCheck:
        from duecourse.usecases.jobs.calendars import Calendars
        from duecourse.usecases.jobs.change import EditJobs, JobLimits, Jobs
        from duecourse.usecases.jobs.membership import Membership
        from duecourse.usecases.maintenance.calendar_check import CalendarCheck

        membership, limits = Membership(self.jobs, self.workflows), JobLimits(seats=self.settings.seats)
        jobs = Jobs(self, _NoTasks(), membership, limits)
        return CalendarCheck(Calendars(self.jobs, EditJobs(self, jobs, self.skipping), self.clock), self.clock)

    @cached_property
    def audit(self: Wiring[AuditSettings]) -> Audit:
        from duecourse.usecases.maintenance.audit import Audit, AuditSteps, ClassifyGaps, CompareWindow
        from duecourse.usecases.workflows.workflows import WorkflowRuns

        made_now(self.audit_store, self.depths)
        steps = AuditSteps(self, WorkflowRuns(self.workflows, self.jobs))
        return Audit(self, CompareWindow(self.runs), ClassifyGaps(self), steps)

    @cached_property
    def reports(self: Wiring[AuditSettings]) -> MakeReport:
        """The maker of reports, which is created for the first of them."""
        from duecourse.domain.tenants.rate import BucketRules
        from duecourse.usecases.maintenance.audit import ClassifyGaps
        from duecourse.usecases.maintenance.report import MakeReport
        from duecourse.usecases.tenants import Limits

        rules = BucketRules(self.settings.requests_per_second, self.settings.burst)
        return MakeReport(self, ClassifyGaps(self), Limits(self.tenant_limits, self.clock, rules))

    @cached_property
    def archive(self: Wiring[ArchiveSettings]) -> ArchiveRuns:
        from duecourse.adapters.aws.s3 import S3Archive
        from duecourse.adapters.dynamodb.run_changes import DynamoRunChanges
        from duecourse.usecases.maintenance.archive import ArchiveRuns

        changes = DynamoRunChanges(client("dynamodbstreams"))
        return ArchiveRuns(changes=changes, archive=S3Archive(client("s3"), self.settings.archive_bucket))

    @cached_property
    def callbacks(self: Wiring[ApiSettings | CallbackSettings]) -> Callbacks:
        from duecourse.usecases.runs.commands import Callbacks
        from duecourse.usecases.runs.workers import WorkerNotes

        return Callbacks(self, self.commands, WorkerNotes(self))

    @cached_property
    def callback_parts(self: Wiring[CallbackSettings]) -> CallbackParts:
        from duecourse.api.callback_app import CallbackParts

        made_now(self.jobs, self.runs)
        return CallbackParts(self.callbacks, self.log_writer, self.settings.stage, self.standby)

    @cached_property
    def all_tenants(self: Wiring[ApiSettings]) -> AllTenants | None:
        """The figures of all tenants; None if the stage has no operator tenant."""
        from duecourse.usecases.maintenance.tenants import AllTenants

        if self.settings.operator_tenant is None:
            return None
        return AllTenants(self.tenant_reports, self.runs_in_progress, self.clock)

    @cached_property
    def api(self: Wiring[ApiSettings]) -> Api:
        from duecourse.api.api import Api
        from duecourse.domain.tenants.rate import BucketRules
        from duecourse.gates.places import Overlaps
        from duecourse.gates.runner import GateItems
        from duecourse.usecases.jobs.calendars import Calendars
        from duecourse.usecases.jobs.change import EditJobs, JobLimits, Jobs
        from duecourse.usecases.jobs.membership import Membership
        from duecourse.usecases.jobs.pausing import Pausing
        from duecourse.usecases.jobs.shadow import Shadows
        from duecourse.usecases.jobs.spreading import Spreading
        from duecourse.usecases.jobs.upcoming import Upcoming
        from duecourse.usecases.runs.api_keys import ApiKeys
        from duecourse.usecases.runs.commands import Commands
        from duecourse.usecases.runs.explain import Explain
        from duecourse.usecases.runs.health import Health, StageChecks
        from duecourse.usecases.runs.key_limits import KeyLimitsInUse
        from duecourse.usecases.runs.lists import History, Runs, RunSearch, Stats
        from duecourse.usecases.runs.logs import LogReader
        from duecourse.usecases.runs.operations import Operations, Walk
        from duecourse.usecases.runs.payload import RunPayloads
        from duecourse.usecases.runs.requests import Backfills, Manual
        from duecourse.usecases.runs.rerun import Reruns
        from duecourse.usecases.runs.rescheduling import Rescheduling
        from duecourse.usecases.runs.skip_next import SkipNext
        from duecourse.usecases.runs.workers import WorkerList
        from duecourse.usecases.tenants import DelayedRunQuota, Limits
        from duecourse.usecases.worker.wait_queue import WaitQueue
        from duecourse.usecases.workflows.manage import CancelRuns, ManageWorkflows
        from duecourse.usecases.workflows.workflows import WorkflowRuns

        settings, clock, randomness = self.settings, self.clock, self.randomness
        store, runs, workflows = self.jobs, self.runs, self.workflows
        made_now(self.inputs, self.timers)
        limits = Limits(self.tenant_limits, clock, BucketRules(settings.requests_per_second, settings.burst))
        health = Health(self.tick_mark, clock)
        jobs_may = JobLimits(settings.job_quota, settings.smallest_interval_seconds, settings.seats)
        membership = Membership(store, workflows)
        jobs = Jobs(self, self.tasks, membership, jobs_may)
        history, search = History(self), RunSearch(self)
        single = Runs(self, history, self.results)
        workflow_runs = WorkflowRuns(workflows, store)
        commands = Commands(store, workflow_runs, self.commands, self.discards, single)
        editing = EditJobs(self, jobs, self.skipping)
        pausing = Pausing(self, jobs, self.skipping)
        overlaps = Overlaps(runs, self.wait_queues, store, clock)
        wait_queue = WaitQueue(self, self.forwarder(None, None))
        manual = Manual(self, DelayedRunQuota(self.tenant_limits, randomness, settings.delayed_runs_per_hour))
        return Api(
            jobs=jobs,
            editing=editing,
            calendars=Calendars(store, editing, clock),
            api_keys=ApiKeys(self, manual, limits),
            key_limits=KeyLimitsInUse(self, GateItems(self.wait_queues, clock), overlaps, wait_queue),
            pausing=pausing,
            shadows=Shadows(self, pausing),
            history=history,
            runs=single,
            run_payloads=RunPayloads(single, store, self.payloads),
            log_reader=LogReader(self.log_store, clock),
            log_writer=self.log_writer,
            search=search,
            callbacks=self.callbacks,
            commands=commands,
            operations=Operations(self, Walk(search, history), commands),
            upcoming=Upcoming(store, self.delayed_runs, self.tick_mark, clock),
            spreading=Spreading(jobs, clock),
            manual=manual,
            rescheduling=Rescheduling(self, single, manual),
            workers=WorkerList(self),
            backfills=Backfills(self),
            notices=self.notifier,
            skip_next=SkipNext(self),
            workflows=ManageWorkflows(self, editing, CancelRuns(self)),
            workflow_runs=workflow_runs,
            reruns=Reruns(self, single),
            explain=Explain(self, workflow_runs, membership),
            stats=Stats(self, health, limits, None if settings.prescale_dollars is None else self.prescale_store),
            run_counts=self.run_counts,
            health=health,
            stage_checks=StageChecks(health, self.depths, self.alarms, settings.shards),
            stage_metrics=self.metrics,
            tenants=self.all_tenants,
            limits=limits,
            public_keys=self.public_keys,
            standby=self.standby,
            settings=settings,
        )
