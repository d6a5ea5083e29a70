"""What writes records of runs and does what follows from them: for workers and the dead-letter reconciler."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock, SystemRandomness
from duecourse.adapters.dynamodb.inputs import DynamoInputs
from duecourse.adapters.dynamodb.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.lines import DynamoLines
from duecourse.adapters.dynamodb.run_store import DynamoRunStore
from duecourse.adapters.dynamodb.wakes import DynamoWakes
from duecourse.adapters.event_bus import EventBridgeBus
from duecourse.adapters.results import S3Results
from duecourse.adapters.sns import SnsNotices
from duecourse.usecases.aftermath import Aftermath
from duecourse.usecases.announce import Announcements
from duecourse.usecases.failing_jobs import FailingJobs
from duecourse.usecases.hand import Forwarder
from duecourse.usecases.keep_result import KeepResult
from duecourse.usecases.line import Line
from duecourse.usecases.overlap import Overlaps
from duecourse.usecases.settle import Settler


@dataclass(frozen=True, slots=True)
class Stores:
    """Both tables' stores."""

    jobs: DynamoJobStore
    runs: DynamoRunStore
    wakes: DynamoWakes
    lines: DynamoLines
    inputs: DynamoInputs


def stores_of(jobs: str, runs: str, shards: int, clock: SystemClock) -> Stores:
    """The stores of two tables; wake-ups are spread over `shards`."""
    dynamodb = client("dynamodb")
    return Stores(
        jobs=DynamoJobStore(dynamodb, jobs, shards=shards, clock=clock),
        runs=DynamoRunStore(dynamodb, runs),
        wakes=DynamoWakes(dynamodb, jobs, shards=shards),
        lines=DynamoLines(dynamodb, runs),
        inputs=DynamoInputs(dynamodb, runs),
    )


def overlaps_of(stores: Stores, clock: SystemClock) -> Overlaps:
    """The locks of jobs that forbid overlap."""
    return Overlaps(stores.runs, stores.lines, clock)


def line_of(stores: Stores, forwarder: Forwarder, clock: SystemClock) -> Line:
    """The lines of jobs whose runs wait for one another."""
    return Line(stores.lines, forwarder, clock, SystemRandomness())


def settler_of(
    stores: Stores,
    overlaps: Overlaps,
    forwarder: Forwarder,
    clock: SystemClock,
    *,
    topic: str,
    bus: str,
    bucket: str,
) -> Settler:
    """What writes records and does what follows from them."""
    aftermath = Aftermath(
        jobs=stores.jobs,
        runs=stores.runs,
        notices=SnsNotices(client("sns"), topic),
        announcements=Announcements(EventBridgeBus(client("events"), bus), clock),
        failing=FailingJobs(stores.jobs, stores.runs, clock),
        clock=clock,
        randomness=SystemRandomness(),
        overlaps=overlaps,
        line=line_of(stores, forwarder, clock),
        forwarder=forwarder,
    )
    return Settler(stores.runs, aftermath, KeepResult(S3Results(client("s3"), bucket)))
