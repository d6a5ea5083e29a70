"""The HTTP API, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.alarms import CloudWatchAlarms
from duecourse.adapters.aws.clients import client
from duecourse.adapters.aws.metrics import CloudWatchMetrics
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
from duecourse.api.wiring import ApiPorts, api_of
from duecourse.settings import ApiSettings


def api(environ: Mapping[str, str]) -> Api:
    """The API of this environment. Raises SettingsError."""
    settings = ApiSettings.from_env(environ)
    clock, randomness, threads = SystemClock(), SystemRandomness(), Threads()
    dynamodb, jobs, runs = client("dynamodb", short_timeouts=True), settings.jobs_table, settings.runs_table
    cloudwatch = client("cloudwatch", short_timeouts=True)
    ports = ApiPorts(
        jobs=DynamoJobStore(dynamodb, jobs, shards=settings.shards, clock=clock, runs_table=runs),
        runs=DynamoRunStore(dynamodb, runs),
        timers=DynamoTimers(dynamodb, jobs, shards=settings.shards),
        lines=DynamoLines(dynamodb, runs),
        inputs=DynamoInputs(dynamodb, runs),
        workflows=DynamoWorkflows(dynamodb, jobs, runs, clock, threads),
        lanes=SqsLanes(
            client("sqs", short_timeouts=True, once=True),
            settings.queue_urls,
            clock,
            randomness,
            bulk_urls=settings.bulk_urls,
            short_timeouts=True,
        ),
        depths=SqsDepths(client("sqs", short_timeouts=True), settings.queue_urls, clock, bulk_urls=settings.bulk_urls),
        counters=DynamoTenantLimits(dynamodb, jobs),
        mark=DynamoTickMark(dynamodb, jobs),
        alarms=CloudWatchAlarms(cloudwatch, settings.stage, clock),
        metrics=CloudWatchMetrics(cloudwatch, settings.stage, clock, settings.queue_urls, settings.bulk_urls),
        tasks=SsmTasks(client("ssm", short_timeouts=True), settings.stage, clock),
        results=S3Results(client("s3"), settings.results_bucket),
        clock=clock,
        randomness=randomness,
        executor=threads,
    )
    return api_of(ports, settings)
