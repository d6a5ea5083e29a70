"""The HTTP API, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock, SystemRandomness
from duecourse.adapters.dynamodb.inputs import DynamoInputs
from duecourse.adapters.dynamodb.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.lines import DynamoLines
from duecourse.adapters.dynamodb.run_store import DynamoRunStore
from duecourse.adapters.dynamodb.tenant_limits import DynamoTenantLimits
from duecourse.adapters.dynamodb.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.timers import DynamoTimers
from duecourse.adapters.results import S3Results
from duecourse.adapters.sqs.depths import SqsDepths
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.tasks import SsmTasks
from duecourse.domain.bucket import BucketRules
from duecourse.http.api import Api
from duecourse.settings import ApiSettings
from duecourse.usecases.backfill import Backfills
from duecourse.usecases.callbacks import Callbacks
from duecourse.usecases.commands import Commands, CommandSender
from duecourse.usecases.dead_letters import DeadLetters
from duecourse.usecases.edit_jobs import EditJobs
from duecourse.usecases.explain import Explain
from duecourse.usecases.health import Health
from duecourse.usecases.history import History
from duecourse.usecases.job_history import JobHistory
from duecourse.usecases.jobs import JobLimits, Jobs
from duecourse.usecases.limits import Limits
from duecourse.usecases.manual import Manual
from duecourse.usecases.pausing import Pausing
from duecourse.usecases.preview import Preview
from duecourse.usecases.runs import Runs
from duecourse.usecases.skip_next import SkipNext
from duecourse.usecases.skipping import Skipping
from duecourse.usecases.stats import Stats


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
    use = Jobs(jobs, lanes, clock, randomness, settings.horizon_seconds, tasks, jobs_may)
    skipping = Skipping(store, clock, settings.run_retention_days)
    history = History(jobs, store, clock, settings.horizon_seconds, settings.run_retention_days)
    inputs = DynamoInputs(dynamodb, settings.runs_table)
    runs = Runs(store, history, S3Results(client("s3"), settings.results_bucket), inputs)
    timers = DynamoTimers(dynamodb, settings.jobs_table, shards=settings.shards)
    orders = CommandSender(lanes, clock, randomness)
    return Api(
        jobs=use,
        editing=EditJobs(use, jobs, skipping, clock),
        pausing=Pausing(use, jobs, skipping, clock),
        history=history,
        job_history=JobHistory(jobs),
        runs=runs,
        callbacks=Callbacks(store, jobs, clock, orders),
        commands=Commands(runs, jobs, orders),
        dead_letters=DeadLetters(store, jobs, orders),
        preview=Preview(clock),
        manual=Manual(jobs, store, inputs, lanes, clock, randomness, settings.run_retention_days),
        backfills=Backfills(
            jobs, inputs, lanes, timers, clock, randomness, settings.backfill_limit, settings.run_retention_days
        ),
        skip_next=SkipNext(jobs, store, clock, randomness, settings.run_retention_days),
        explain=Explain(
            jobs,
            store,
            DynamoLines(dynamodb, settings.runs_table),
            depths,
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
