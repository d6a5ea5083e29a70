"""The HTTP API, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.aws.results import S3Results
from duecourse.adapters.aws.tasks import SsmTasks
from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.cursors.timers import DynamoTimers
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.jobs.tenant_limits import DynamoTenantLimits
from duecourse.adapters.dynamodb.runs.inputs import DynamoInputs
from duecourse.adapters.dynamodb.runs.lines import DynamoLines
from duecourse.adapters.dynamodb.runs.run_store import DynamoRunStore
from duecourse.adapters.dynamodb.workflows import DynamoWorkflows
from duecourse.adapters.sqs.depths import SqsDepths
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.api.api import Api
from duecourse.domain.jobs.bucket import BucketRules
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
from duecourse.usecases.runs.backfill import Backfills
from duecourse.usecases.runs.callbacks import Callbacks
from duecourse.usecases.runs.commands import Commands, CommandSender
from duecourse.usecases.runs.dead_letters import DeadLetters
from duecourse.usecases.runs.explain import Explain
from duecourse.usecases.runs.health import Health
from duecourse.usecases.runs.history import History
from duecourse.usecases.runs.manual import Manual
from duecourse.usecases.runs.rerun import Reruns
from duecourse.usecases.runs.run_search import RunSearch
from duecourse.usecases.runs.runs import Runs
from duecourse.usecases.runs.skip_next import SkipNext
from duecourse.usecases.runs.stats import Stats
from duecourse.usecases.workflows.cancel_runs import CancelRuns
from duecourse.usecases.workflows.manage import ManageWorkflows
from duecourse.usecases.workflows.view import WorkflowRuns


def api(environ: Mapping[str, str]) -> Api:
    """The API of this environment. Raises SettingsError."""
    settings = ApiSettings.from_env(environ)
    clock, randomness, dynamodb = SystemClock(), SystemRandomness(), client("dynamodb", short_timeouts=True)
    jobs = DynamoJobStore(
        dynamodb, settings.jobs_table, shards=settings.shards, clock=clock, runs_table=settings.runs_table
    )
    store = DynamoRunStore(dynamodb, settings.runs_table)
    lanes = SqsLanes(
        client("sqs", short_timeouts=True, once=True),
        settings.queue_urls,
        clock,
        randomness,
        bulk_urls=settings.bulk_urls,
        short_timeouts=True,
    )
    depths = SqsDepths(client("sqs", short_timeouts=True), settings.queue_urls, clock, bulk_urls=settings.bulk_urls)
    counters = DynamoTenantLimits(dynamodb, settings.jobs_table)
    limits = Limits(counters, clock, BucketRules(settings.requests_per_second, settings.burst))
    health = Health(DynamoTickMark(dynamodb, settings.jobs_table), clock)
    tasks = SsmTasks(client("ssm", short_timeouts=True), settings.stage, clock)
    jobs_may = JobLimits(settings.job_quota, settings.smallest_interval_seconds, settings.seats)
    executor = Threads()
    workflows = DynamoWorkflows(dynamodb, settings.jobs_table, settings.runs_table, clock, executor)
    membership = Membership(jobs, workflows)
    use = Jobs(jobs, lanes, clock, randomness, settings.horizon_seconds, tasks, membership, jobs_may)
    skipping = Skipping(store, clock, settings.run_retention_days)
    history = History(jobs, store, clock, settings.horizon_seconds, settings.run_retention_days)
    inputs = DynamoInputs(dynamodb, settings.runs_table)
    runs = Runs(store, history, S3Results(client("s3"), settings.results_bucket), inputs)
    search = RunSearch(store, jobs)
    timers = DynamoTimers(dynamodb, settings.jobs_table, shards=settings.shards)
    orders, editing = CommandSender(lanes, clock, randomness), EditJobs(use, jobs, skipping, clock)
    return Api(
        jobs=use,
        editing=editing,
        pausing=Pausing(use, jobs, skipping, clock),
        history=history,
        job_history=JobHistory(jobs),
        runs=runs,
        search=search,
        callbacks=Callbacks(store, jobs, clock, orders),
        commands=Commands(runs, jobs, orders),
        dead_letters=DeadLetters(search, jobs, orders),
        preview=Preview(clock),
        upcoming=Upcoming(jobs, clock),
        manual=Manual(jobs, store, inputs, lanes, clock, randomness, settings.run_retention_days),
        backfills=Backfills(
            jobs, inputs, lanes, timers, clock, randomness, settings.backfill_limit, settings.run_retention_days
        ),
        skip_next=SkipNext(jobs, store, clock, randomness, settings.run_retention_days),
        workflows=ManageWorkflows(
            editing, workflows, CancelRuns(store, lanes, clock, randomness), counters, clock, executor
        ),
        workflow_runs=WorkflowRuns(workflows),
        reruns=Reruns(runs, store, jobs, workflows, inputs, lanes, clock, randomness, settings.run_retention_days),
        explain=Explain(
            jobs,
            store,
            DynamoLines(dynamodb, settings.runs_table),
            depths,
            WorkflowRuns(workflows),
            clock,
            settings.lookahead_seconds,
            settings.horizon_seconds,
            settings.run_retention_days,
        ),
        stats=Stats(counters, store, depths, health, limits),
        health=health,
        limits=limits,
        settings=settings,
    )
