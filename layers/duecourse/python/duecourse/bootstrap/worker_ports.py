"""What workers and the dead-letter reconciler read and write, in AWS."""

from __future__ import annotations

from duecourse.adapters.aws.clients import client
from duecourse.adapters.aws.event_bus import EventBridgeBus
from duecourse.adapters.aws.results import S3Results
from duecourse.adapters.aws.sns import SnsNotices
from duecourse.adapters.dynamodb.cursors.timers import DynamoTimers
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.runs.inputs import DynamoInputs
from duecourse.adapters.dynamodb.runs.lines import DynamoLines
from duecourse.adapters.dynamodb.runs.run_store import DynamoRunStore
from duecourse.adapters.dynamodb.workflows import DynamoWorkflows
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.sqs.received import SqsReceived
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.settings import ExecuteSettings, ReconcilerSettings
from duecourse.usecases.worker.wiring import WorkerPorts


def worker_ports(settings: ExecuteSettings | ReconcilerSettings, *, queue: str, bucket: str = "") -> WorkerPorts:
    """Those of a function that receives from the queue of this address. Only workers have results to write."""
    clock, randomness, dynamodb = SystemClock(), SystemRandomness(), client("dynamodb")
    jobs, runs = settings.jobs_table, settings.runs_table
    return WorkerPorts(
        jobs=DynamoJobStore(dynamodb, jobs, shards=settings.shards, clock=clock),
        runs=DynamoRunStore(dynamodb, runs),
        timers=DynamoTimers(dynamodb, jobs, shards=settings.shards),
        lines=DynamoLines(dynamodb, runs),
        inputs=DynamoInputs(dynamodb, runs),
        workflows=DynamoWorkflows(dynamodb, jobs, runs, clock),
        lanes=SqsLanes(
            client("sqs", once=True),
            settings.queue_urls,
            clock,
            randomness,
            bulk_urls=settings.bulk_urls,
            executor=Threads(),
        ),
        received=SqsReceived(client("sqs"), queue),
        notices=SnsNotices(client("sns"), settings.deaths_topic_arn),
        bus=EventBridgeBus(client("events"), settings.bus_name),
        results=S3Results(client("s3"), bucket),
        clock=clock,
        randomness=randomness,
    )
