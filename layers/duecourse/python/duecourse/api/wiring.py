"""The API over whatever stores, queues and clock there are: AWS's (bootstrap), or those of duecourse.testing."""

from __future__ import annotations

from dataclasses import dataclass, field

from duecourse.api.api import Api
from duecourse.domain.jobs.bucket import BucketRules
from duecourse.ports import (
    Clock,
    Depths,
    Executor,
    InlineExecutor,
    Inputs,
    JobStore,
    Lanes,
    Lines,
    Randomness,
    Results,
    RunStore,
    StageAlarms,
    StageMetrics,
    Tasks,
    TenantLimits,
    TickMark,
    Timers,
    WorkflowStore,
)
from duecourse.settings import ApiSettings
from duecourse.usecases.dispatch.skipping import Skipping
from duecourse.usecases.jobs.edit_jobs import EditJobs
from duecourse.usecases.jobs.job_history import JobHistory
from duecourse.usecases.jobs.jobs import JobLimits, Jobs
from duecourse.usecases.jobs.limits import Limits
from duecourse.usecases.jobs.membership import Membership
from duecourse.usecases.jobs.pausing import Pausing
from duecourse.usecases.jobs.preview import Preview
from duecourse.usecases.jobs.upcoming import Upcoming
from duecourse.usecases.runs.commands import Callbacks, Commands, CommandSender
from duecourse.usecases.runs.dead_letters import DeadLetters
from duecourse.usecases.runs.explain import Explain
from duecourse.usecases.runs.health import Health, StageChecks
from duecourse.usecases.runs.lists import History, Runs, RunSearch, Stats
from duecourse.usecases.runs.payload import RunPayloads
from duecourse.usecases.runs.requests import Backfills, Manual
from duecourse.usecases.runs.rerun import Reruns
from duecourse.usecases.runs.skip_next import SkipNext
from duecourse.usecases.workflows.cancel_runs import CancelRuns
from duecourse.usecases.workflows.manage import ManageWorkflows
from duecourse.usecases.workflows.payloads import Payloads
from duecourse.usecases.workflows.view import WorkflowRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPorts:
    """What the API reads and writes."""

    jobs: JobStore
    runs: RunStore
    timers: Timers
    lines: Lines
    inputs: Inputs
    workflows: WorkflowStore
    lanes: Lanes
    depths: Depths
    counters: TenantLimits
    mark: TickMark
    alarms: StageAlarms
    metrics: StageMetrics
    tasks: Tasks
    results: Results
    clock: Clock
    randomness: Randomness
    executor: Executor = field(default_factory=InlineExecutor)


def api_of(ports: ApiPorts, settings: ApiSettings) -> Api:
    """The API of a stage."""
    store, runs, lanes, inputs, workflows = ports.jobs, ports.runs, ports.lanes, ports.inputs, ports.workflows
    clock, randomness, kept_days = ports.clock, ports.randomness, settings.run_retention_days
    limits = Limits(ports.counters, clock, BucketRules(settings.requests_per_second, settings.burst))
    health = Health(ports.mark, clock)
    jobs_may = JobLimits(settings.job_quota, settings.smallest_interval_seconds, settings.seats)
    membership = Membership(store, workflows)
    jobs = Jobs(store, lanes, clock, randomness, settings.horizon_seconds, ports.tasks, membership, jobs_may)
    skipping = Skipping(runs, clock, kept_days)
    history = History(store, runs, clock, settings.horizon_seconds, kept_days)
    search = RunSearch(runs, store)
    single = Runs(runs, history, ports.results, inputs)
    orders, editing = CommandSender(lanes, clock, randomness), EditJobs(jobs, store, skipping, clock)
    return Api(
        jobs=jobs,
        editing=editing,
        pausing=Pausing(jobs, store, skipping, ports.lines, clock),
        history=history,
        job_history=JobHistory(store),
        runs=single,
        run_payloads=RunPayloads(single, store, Payloads(workflows, store, inputs)),
        search=search,
        callbacks=Callbacks(runs, store, clock, orders),
        commands=Commands(single, store, orders),
        dead_letters=DeadLetters(search, store, orders),
        preview=Preview(clock),
        upcoming=Upcoming(store, clock),
        manual=Manual(store, runs, inputs, lanes, clock, randomness, kept_days),
        backfills=Backfills(store, inputs, lanes, ports.timers, clock, randomness, settings.backfill_limit, kept_days),
        skip_next=SkipNext(store, runs, inputs, clock, randomness, kept_days),
        workflows=ManageWorkflows(
            editing, workflows, CancelRuns(runs, lanes, clock, randomness), ports.counters, clock, ports.executor
        ),
        workflow_runs=WorkflowRuns(workflows),
        reruns=Reruns(single, runs, store, workflows, inputs, lanes, clock, randomness, kept_days),
        explain=Explain(
            store,
            runs,
            ports.lines,
            ports.depths,
            WorkflowRuns(workflows),
            clock,
            settings.lookahead_seconds,
            settings.horizon_seconds,
            kept_days,
        ),
        stats=Stats(ports.counters, runs, ports.depths, health, limits),
        health=health,
        stage_checks=StageChecks(health, ports.depths, ports.alarms, settings.shards),
        stage_metrics=ports.metrics,
        limits=limits,
        settings=settings,
    )
