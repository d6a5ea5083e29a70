"""The writer of runs' records and their side effects, wired to AWS, for workers and the dead-letter reconciler."""

from __future__ import annotations

from dataclasses import dataclass

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
from duecourse.adapters.system import SystemClock, SystemRandomness
from duecourse.usecases.announce import Announcements
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.worker.failing_jobs import FailingJobs
from duecourse.usecases.worker.finish import TransitionWriter
from duecourse.usecases.worker.line import Line
from duecourse.usecases.worker.overlap import Overlaps
from duecourse.usecases.worker.side_effects import SideEffects
from duecourse.usecases.workflows.workflows import Workflows


@dataclass(frozen=True, slots=True)
class Stores:
    """Both tables' stores."""

    jobs: DynamoJobStore
    runs: DynamoRunStore
    timers: DynamoTimers
    lines: DynamoLines
    inputs: DynamoInputs
    workflows: DynamoWorkflows


def stores_of(jobs: str, runs: str, shards: int, clock: SystemClock) -> Stores:
    """The stores of two tables; timers are spread over `shards`."""
    dynamodb = client("dynamodb")
    return Stores(
        jobs=DynamoJobStore(dynamodb, jobs, shards=shards, clock=clock),
        runs=DynamoRunStore(dynamodb, runs),
        timers=DynamoTimers(dynamodb, jobs, shards=shards),
        lines=DynamoLines(dynamodb, runs),
        inputs=DynamoInputs(dynamodb, runs),
        workflows=DynamoWorkflows(dynamodb, jobs, runs, clock),
    )


def transitions_of(
    stores: Stores, forwarder: Forwarder, clock: SystemClock, *, topic: str, bus: str, bucket: str
) -> TransitionWriter:
    """The writer of records and their side effects."""
    randomness = SystemRandomness()
    effects = SideEffects(
        jobs=stores.jobs,
        runs=stores.runs,
        notices=SnsNotices(client("sns"), topic),
        announcements=Announcements(EventBridgeBus(client("events"), bus), clock),
        failing=FailingJobs(stores.jobs, stores.runs, clock),
        clock=clock,
        randomness=randomness,
        overlaps=Overlaps(stores.runs, stores.lines, clock),
        line=Line(stores.lines, forwarder, clock, randomness),
        forwarder=forwarder,
        workflows=Workflows(stores.workflows, stores.jobs, stores.inputs, forwarder, clock, randomness),
    )
    return TransitionWriter(effects, S3Results(client("s3"), bucket))
