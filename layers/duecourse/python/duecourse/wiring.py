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
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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

if TYPE_CHECKING:
    from duecourse.api.api import Api
    from duecourse.api.callback_app import CallbackParts
    from duecourse.domain.jobs.job import Lane
    from duecourse.ports import (
        Bus,
        Caller,
        Clock,
        Depths,
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
    from duecourse.stores.cursors import CursorStore
    from duecourse.stores.inputs import Inputs
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.maintenance import AuditStore, RepairStore, TenantReports
    from duecourse.stores.runs import RunsInProgress, RunStore
    from duecourse.stores.table import Tables
    from duecourse.stores.tenants import TenantLimits
    from duecourse.stores.tick_mark import TickMark
    from duecourse.stores.timers import Timers
    from duecourse.stores.waits import WaitQueues
    from duecourse.stores.workflows import WorkflowStore
    from duecourse.usecases.announce import Announcements
    from duecourse.usecases.dispatch.claim import Skipping
    from duecourse.usecases.dispatch.round import Dispatch
    from duecourse.usecases.dispatch.tick import Tick
    from duecourse.usecases.dispatch.watch import Heartbeat, StageWatch
    from duecourse.usecases.forwarder import Forwarder
    from duecourse.usecases.maintenance.archive import ArchiveRuns
    from duecourse.usecases.maintenance.audit import Audit
    from duecourse.usecases.maintenance.calendar_check import CalendarCheck
    from duecourse.usecases.maintenance.index_repair import IndexRepair
    from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters
    from duecourse.usecases.maintenance.tenants import AllTenants
    from duecourse.usecases.ping import Pings
    from duecourse.usecases.runs.commands import Callbacks, CommandSender
    from duecourse.usecases.runs.notices import JobNotices
    from duecourse.usecases.worker.attempt import LaneWorker, TransitionWriter
    from duecourse.usecases.worker.effects import SideEffects
    from duecourse.usecases.worker.trends import Trends
    from duecourse.usecases.worker.work_item import WorkerRules
    from duecourse.usecases.workflows.workflows import Payloads

S_co = TypeVar("S_co", covariant=True)
T = TypeVar("T")

AUDIT_PAGE_ITEMS = 500
"""Maximum number of items in one scan request of the audit. A job has at least two items, and a page of 250 jobs is
always processed in time.
"""

HOUR_SECONDS = 3600


def made_at_start(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that returns the same object at every call. The object is created immediately, while Lambda
    initializes the function, so that the first invocation imports nothing. If the settings are invalid, the object is
    created at the first call instead, which raises SettingsError: the invocation then reports the invalid settings.
    """
    made = cache(make)
    with suppress(SettingsError):
        made()
    return made


class _NoTasks:
    """The tasks of a function that only edits jobs: their targets are already known."""

    def get(self, name: str) -> RegisteredTask | None:
        """Return None."""
        del name
        return None


class Wiring(Generic[S_co]):
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
        """The executor for concurrent requests, by default `threads`."""
        return self.threads

    @property
    def _caller_waits(self) -> bool:
        """Whether a program waits for the response of this function."""
        return isinstance(self.settings, ApiSettings | CallbackSettings)

    def _client(self, service: str, *, once: bool = False) -> Any:
        """Return the client of a service. Its timeouts are short if a program waits for the response, and in a dispatch
        round.
        """
        return client(
            service, short_timeouts=self._caller_waits or isinstance(self.settings, DispatchSettings), once=once
        )

    # Stores.

    @cached_property
    def jobs(self: Wiring[TableSettings]) -> JobStore:
        from duecourse.stores import jobs

        return jobs.JobStore(self.tables, shards=self.settings.shards, clock=self.clock)

    @cached_property
    def tables(self: Wiring[TableSettings | TickSettings]) -> Tables:
        """Both tables, or those that the settings name. Requests of many writes are sent concurrently."""
        from duecourse.adapters.dynamodb.tables import DynamoTables
        from duecourse.stores.table import Table

        settings, names = self.settings, {Table.JOBS: self.settings.jobs_table}
        if not isinstance(settings, TickSettings):
            names[Table.RUNS] = settings.runs_table
        return DynamoTables(self._client("dynamodb"), names, self.clock, self.threads)

    @cached_property
    def runs(self: Wiring[TableSettings]) -> RunStore:
        from duecourse.stores import runs

        return runs.RunStore(self.tables, self.executor)

    @cached_property
    def cursors(self: Wiring[TableSettings]) -> CursorStore:
        from duecourse.stores import cursors

        return cursors.CursorStore(self.tables, self.clock, self.threads)

    @cached_property
    def timers(self: Wiring[TableSettings]) -> Timers:
        """The store of messages that are due later than the maximum delay of a queue."""
        from duecourse.stores import timers

        return timers.Timers(self.tables, shards=self.settings.shards)

    @cached_property
    def wait_queues(self: Wiring[TableSettings]) -> WaitQueues:
        from duecourse.stores import waits

        return waits.WaitQueues(self.tables)

    @cached_property
    def inputs(self: Wiring[TableSettings]) -> Inputs:
        from duecourse.stores import inputs

        return inputs.Inputs(self.tables)

    @cached_property
    def workflows(self: Wiring[TableSettings]) -> WorkflowStore:
        from duecourse.stores import workflows

        return workflows.WorkflowStore(self.tables, self.clock, self.threads if self._caller_waits else None)

    @cached_property
    def tick_mark(self: Wiring[TableSettings | TickSettings]) -> TickMark:
        from duecourse.stores import tick_mark

        return tick_mark.TickMark(self.tables)

    @cached_property
    def tenant_limits(self: Wiring[TableSettings]) -> TenantLimits:
        from duecourse.stores import tenants

        return tenants.TenantLimits(self.tables)

    @cached_property
    def repair_store(self: Wiring[RepairSettings]) -> RepairStore:
        from duecourse.stores import maintenance

        return maintenance.RepairStore(self.tables, figures=self.settings.operator_tenant is not None)

    @cached_property
    def tenant_reports(self: Wiring[ApiSettings | RepairSettings]) -> TenantReports:
        from duecourse.stores import maintenance

        return maintenance.TenantReports(self.tables)

    @cached_property
    def runs_in_progress(self: Wiring[ApiSettings]) -> RunsInProgress:
        from duecourse.stores import runs

        return runs.RunsInProgress(self.tables)

    @cached_property
    def audit_store(self: Wiring[TableSettings]) -> AuditStore:
        from duecourse.stores import maintenance

        return maintenance.AuditStore(self.tables, limit=AUDIT_PAGE_ITEMS)

    @cached_property
    def results(self: Wiring[ApiSettings | ExecuteSettings | ReconcilerSettings]) -> Results:
        """The store of large results. The dead-letter reconciler does not write results."""
        from duecourse.adapters.aws.s3 import S3Results

        settings = self.settings
        return S3Results(client("s3"), "" if isinstance(settings, ReconcilerSettings) else settings.results_bucket)

    # Queues, notifications, metrics.

    @cached_property
    def lanes(self: Wiring[LaneSettings | CallbackSettings]) -> Lanes:
        """The queues to which messages about runs are sent."""
        from duecourse.adapters.sqs.lanes import SqsLanes

        return SqsLanes(
            self._client("sqs", once=True),
            self.settings.queue_urls,
            self.clock,
            self.randomness,
            bulk_urls=self.settings.bulk_urls,
            short_timeouts=self._caller_waits,
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
            return SsmSecrets(self._client("ssm"), self.settings.stage, self.clock)
        return SecretsManagerSecrets(self._client("secretsmanager"), self.settings.stage, self.clock)

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
        from duecourse.adapters.aws.clients import clients
        from duecourse.adapters.targets import Targets
        from duecourse.adapters.targets.aws.names import Arns
        from duecourse.adapters.targets.callers import Callers, Means

        settings = self.settings
        means = Means(
            private=settings.private_targets == "allow",
            clock=self.clock,
            arns=Arns(settings.partition, settings.region, settings.account),
            secrets=self.secrets,
            clients=clients(),
            signer=self.token_signer,
        )
        return Targets(Callers(means), self.tasks, settings.allowed_targets)

    @cached_property
    def pinger(self: Wiring[TickSettings | ExecuteSettings]) -> Pinger:
        from duecourse.adapters.targets.http.ping import HttpPinger

        return HttpPinger(self.clock, private=self.settings.private_targets == "allow")

    # Parts that several use cases share.

    @cached_property
    def announcements(self: Wiring[DispatchSettings | ExecuteSettings | ReconcilerSettings]) -> Announcements:
        from duecourse.usecases.announce import Announcements

        return Announcements(self.bus, self.clock, lambda: self.notifier)

    @cached_property
    def notifier(self: Wiring[LaneSettings]) -> JobNotices:
        """The sender of notices. It is created for the first notice."""
        from duecourse.usecases.runs.notices import JobNotices

        days = self.settings.run_retention_days
        return JobNotices(self.jobs, self.inputs, self.lanes, self.clock, self.randomness, days)

    @cached_property
    def skipping(self: Wiring[LaneSettings]) -> Skipping:
        from duecourse.usecases.dispatch.claim import Skipping

        return Skipping(self.runs, self.clock, self.settings.run_retention_days)

    @cached_property
    def payloads(self: Wiring[TableSettings]) -> Payloads:
        from duecourse.usecases.workflows.workflows import Payloads

        return Payloads(self.workflows, self.jobs, self.inputs)

    @cached_property
    def commands(self: Wiring[ApiSettings | CallbackSettings]) -> CommandSender:
        from duecourse.usecases.runs.commands import CommandSender

        return CommandSender(self.lanes, self.clock, self.randomness)

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
        """The part of the tick that checks queues, maintenance and the archive."""
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

        settings = self.settings
        rules = WorkerRules(
            settings.lane, settings.max_receive_count, settings.run_retention_days, settings.late_seconds
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

        jobs, runs, clock, randomness = self.jobs, self.runs, self.clock, self.randomness
        forwarder = self.forwarder(received, rules.lane)
        effects = self.effects(forwarder)
        transitions, coverage, wait_queue = self.transitions(effects), Coverage(runs), effects.wait_queue
        requeue = Requeue(runs, clock, randomness, forwarder)
        starter = Starter(
            jobs=jobs,
            runs=runs,
            coverage=coverage,
            overlaps=effects.overlaps,
            gates=Gates(
                GateItems(self.wait_queues, clock), effects.overlaps, jobs, self.payloads.prepared, clock, randomness
            ),
            wait_queue=wait_queue,
            payloads=self.payloads,
            calls=Calls(caller, runs, clock, randomness, effects.workflows),
            transitions=transitions,
            requeue=requeue,
            forwarder=forwarder,
            clock=clock,
            randomness=randomness,
            rules=rules,
        )
        return LaneWorker(
            jobs=jobs,
            runs=runs,
            wait_queues=self.wait_queues,
            workflows=effects.workflows,
            coverage=coverage,
            starter=starter,
            transitions=transitions,
            effects=effects,
            wait_queue=wait_queue,
            requeue=requeue,
            forwarder=forwarder,
            clock=clock,
            randomness=randomness,
            rules=rules,
            trends=self.trends,
        )

    @cached_property
    def trends(self) -> Trends:
        from duecourse.usecases.worker.trends import Trends

        return Trends()

    def forwarder(self: Wiring[LaneSettings], received: Received | None, lane: Lane | None) -> Forwarder:
        """Return a sender of copies of the messages of `received`. Without a lane each copy is sent to the lane that it
        names.
        """
        from duecourse.usecases.forwarder import Forwarder

        return Forwarder(self.lanes, received, self.timers, self.clock, lane)

    def effects(self: Wiring[ExecuteSettings | ReconcilerSettings], forwarder: Forwarder) -> SideEffects:
        from duecourse.gates.places import Overlaps
        from duecourse.usecases.worker.effects import FailingJobs, SideEffects
        from duecourse.usecases.worker.wait_queue import WaitQueue
        from duecourse.usecases.workflows.workflows import Workflows

        jobs, runs, clock, randomness = self.jobs, self.runs, self.clock, self.randomness
        return SideEffects(
            jobs=jobs,
            runs=runs,
            notices=self.notices,
            announcements=self.announcements,
            failing=FailingJobs(jobs, runs, self.skipping, clock, self.announcements),
            clock=clock,
            randomness=randomness,
            overlaps=Overlaps(runs, self.wait_queues, jobs, clock),
            wait_queue=WaitQueue(self.wait_queues, forwarder, clock, randomness),
            forwarder=forwarder,
            workflows=Workflows(self.workflows, jobs, self.inputs, forwarder, clock, randomness),
            pings=None if isinstance(self.settings, ReconcilerSettings) else lambda: self.pings,
        )

    def transitions(self: Wiring[ExecuteSettings | ReconcilerSettings], effects: SideEffects) -> TransitionWriter:
        from duecourse.usecases.worker.attempt import TransitionWriter

        buckets = {} if isinstance(self.settings, ReconcilerSettings) else self.settings.result_buckets
        return TransitionWriter(self.runs, effects, self.results, buckets, self.clock, self.randomness)

    @cached_property
    def reconcile(self: Wiring[ReconcilerSettings]) -> ReconcileDeadLetters:
        from duecourse.adapters.sqs.received import SqsDeadLetterQueue
        from duecourse.usecases.maintenance.reconcile import ReconcileDeadLetters

        queue_url = self.settings.dead_letter_queue_url
        threads = Threads()  # separate from the threads of the lanes, which wait for each other
        effects = self.effects(self.forwarder(self.received(queue_url), None))
        return ReconcileDeadLetters(
            queue=SqsDeadLetterQueue(self._client("sqs"), queue_url, threads),
            jobs=self.jobs,
            runs=self.runs,
            lanes=self.lanes,
            clock=self.clock,
            randomness=self.randomness,
            transitions=self.transitions(effects),
            effects=effects,
            run_retention_days=self.settings.run_retention_days,
            executor=threads,
        )

    @cached_property
    def index_repair(self: Wiring[RepairSettings]) -> IndexRepair:
        from duecourse.usecases.maintenance.index_repair import CleanUp, IndexCheck, IndexRepair, TenantCount

        settings, store, jobs, runs, clock = self.settings, self.repair_store, self.jobs, self.runs, self.clock
        index = IndexCheck(store, jobs, runs, self.wait_queues, self.timers, self.tick_mark, clock)
        clean_up = CleanUp(jobs, runs, clock, settings.completed_job_retention_days)
        checks = index, clean_up, self.calendar_check
        tenants = None if settings.operator_tenant is None else TenantCount(self.tenant_reports, clock)
        return IndexRepair(store, checks, clock, settings.repair_hours * HOUR_SECONDS, tenants)

    @cached_property
    def calendar_check(self: Wiring[RepairSettings]) -> CalendarCheck:
        from duecourse.usecases.jobs.calendars import Calendars
        from duecourse.usecases.jobs.change import EditJobs, JobLimits, Jobs
        from duecourse.usecases.jobs.membership import Membership
        from duecourse.usecases.maintenance.calendar_check import CalendarCheck

        settings, store, clock = self.settings, self.jobs, self.clock
        membership, limits = Membership(store, self.workflows), JobLimits(seats=settings.seats)
        horizon, tasks = settings.horizon_seconds, _NoTasks()
        jobs = Jobs(store, self.lanes, clock, self.randomness, horizon, tasks, membership, limits)
        return CalendarCheck(Calendars(store, EditJobs(jobs, store, self.skipping, clock), clock), clock)

    @cached_property
    def audit(self: Wiring[AuditSettings]) -> Audit:
        from duecourse.usecases.maintenance.audit import Audit, AuditSteps, ClassifyGaps, CompareWindow
        from duecourse.usecases.workflows.workflows import WorkflowRuns

        settings, jobs, runs, clock = self.settings, self.jobs, self.runs, self.clock
        return Audit(
            store=self.audit_store,
            compare=CompareWindow(runs),
            classify=ClassifyGaps(
                jobs=jobs,
                runs=runs,
                depths=self.depths,
                clock=clock,
                lookahead=settings.lookahead_seconds,
                horizon=settings.horizon_seconds,
                retention_days=settings.run_retention_days,
            ),
            steps=AuditSteps(jobs, runs, WorkflowRuns(self.workflows, jobs), self.depths, clock),
            clock=clock,
            segments=settings.audit_segments,
            retention_days=settings.run_retention_days,
            executor=self.executor,
        )

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

        return Callbacks(self.runs, self.jobs, self.clock, self.commands)

    @cached_property
    def callback_parts(self: Wiring[CallbackSettings]) -> CallbackParts:
        from duecourse.api.callback_app import CallbackParts

        return CallbackParts(self.callbacks, self.settings.stage)

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
        from duecourse.usecases.jobs.spreading import Spreading
        from duecourse.usecases.jobs.upcoming import Upcoming
        from duecourse.usecases.runs.all_runs import AllRuns
        from duecourse.usecases.runs.api_keys import ApiKeys
        from duecourse.usecases.runs.commands import Commands
        from duecourse.usecases.runs.explain import Explain
        from duecourse.usecases.runs.health import Health, StageChecks
        from duecourse.usecases.runs.key_limits import KeyLimitsInUse
        from duecourse.usecases.runs.lists import History, Runs, RunSearch, Stats
        from duecourse.usecases.runs.payload import RunPayloads
        from duecourse.usecases.runs.requests import Backfills, Manual
        from duecourse.usecases.runs.rerun import Reruns
        from duecourse.usecases.runs.skip_next import SkipNext
        from duecourse.usecases.tenants import DelayedRunQuota, Limits
        from duecourse.usecases.worker.wait_queue import WaitQueue
        from duecourse.usecases.workflows.manage import CancelRuns, ManageWorkflows
        from duecourse.usecases.workflows.workflows import WorkflowRuns

        settings, clock, randomness = self.settings, self.clock, self.randomness
        store, runs, lanes, inputs, workflows = self.jobs, self.runs, self.lanes, self.inputs, self.workflows
        kept_days, horizon = settings.run_retention_days, settings.horizon_seconds
        limits = Limits(self.tenant_limits, clock, BucketRules(settings.requests_per_second, settings.burst))
        health = Health(self.tick_mark, clock)
        jobs_may = JobLimits(settings.job_quota, settings.smallest_interval_seconds, settings.seats)
        membership = Membership(store, workflows)
        jobs = Jobs(store, lanes, clock, randomness, horizon, self.tasks, membership, jobs_may)
        history = History(store, runs, self.timers, clock, horizon, kept_days, self.executor)
        search = RunSearch(runs, store, clock)
        single = Runs(runs, history, self.results, inputs)
        workflow_runs = WorkflowRuns(workflows, store)
        commands = Commands(single, store, workflow_runs, self.commands)
        editing = EditJobs(jobs, store, self.skipping, clock)
        cancel_runs = CancelRuns(runs, workflows, lanes, clock, randomness)
        overlaps = Overlaps(runs, self.wait_queues, store, clock)
        wait_queue = WaitQueue(self.wait_queues, self.forwarder(None, None), clock, randomness)
        manual = Manual(
            store,
            runs,
            inputs,
            lanes,
            self.timers,
            clock,
            randomness,
            DelayedRunQuota(self.tenant_limits, randomness, settings.delayed_runs_per_hour),
            kept_days,
        )
        return Api(
            jobs=jobs,
            editing=editing,
            calendars=Calendars(store, editing, clock),
            api_keys=ApiKeys(store, manual, limits, clock, randomness),
            key_limits=KeyLimitsInUse(
                store, runs, self.wait_queues, GateItems(self.wait_queues, clock), overlaps, wait_queue, clock
            ),
            pausing=Pausing(jobs, store, self.skipping, self.wait_queues, clock),
            history=history,
            all_runs=AllRuns(store, runs, clock, self.executor),
            runs=single,
            run_payloads=RunPayloads(single, store, self.payloads),
            search=search,
            callbacks=self.callbacks,
            commands=commands,
            upcoming=Upcoming(store, clock),
            spreading=Spreading(jobs, clock),
            manual=manual,
            backfills=Backfills(
                store, self.runs, inputs, lanes, self.timers, clock, randomness, settings.backfill_limit, kept_days
            ),
            notices=self.notifier,
            skip_next=SkipNext(store, runs, inputs, clock, randomness, kept_days),
            workflows=ManageWorkflows(
                editing, workflows, cancel_runs, self.tenant_limits, clock, self.executor, kept_days
            ),
            workflow_runs=workflow_runs,
            reruns=Reruns(single, runs, store, workflows, inputs, lanes, clock, randomness, kept_days),
            explain=Explain(
                store,
                runs,
                self.wait_queues,
                self.depths,
                workflow_runs,
                clock,
                settings.lookahead_seconds,
                horizon,
                kept_days,
            ),
            stats=Stats(self.tenant_limits, runs, self.depths, health, limits),
            health=health,
            stage_checks=StageChecks(health, self.depths, self.alarms, settings.shards),
            stage_metrics=self.metrics,
            tenants=self.all_tenants,
            limits=limits,
            public_keys=self.public_keys,
            settings=settings,
        )
