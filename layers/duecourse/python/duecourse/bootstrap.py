"""Wires use cases to AWS: the one place that knows which adapter stands behind which port.

Called by handlers at their first invocation, never at import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock, SystemRandomness
from duecourse.adapters.dynamodb.cursor_store import DynamoCursorStore
from duecourse.adapters.dynamodb.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.run_store import DynamoRunStore
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.settings import ApiSettings, DispatchSettings, ExecuteSettings, TickSettings
from duecourse.usecases.after_claim import AfterClaim
from duecourse.usecases.dispatch import Dispatch, DispatchRules
from duecourse.usecases.execute import Execute
from duecourse.usecases.tick import Tick

if TYPE_CHECKING:
    from duecourse.usecases.history import History
    from duecourse.usecases.jobs import Jobs
    from duecourse.usecases.pausing import Pausing
    from duecourse.usecases.preview import Preview

Environment = Mapping[str, str]


def tick(environ: Environment) -> Tick:
    """The tick of this environment. Raises SettingsError."""
    from duecourse.adapters.sqs.shard_queue import SqsShardQueue

    settings = TickSettings.from_env(environ)
    clock = SystemClock()
    return Tick(
        cursors=DynamoCursorStore(client("dynamodb"), settings.jobs_table, clock),
        queue=SqsShardQueue(client("sqs"), settings.shard_queue_url),
        clock=clock,
        shards=settings.shards,
    )


def dispatch(environ: Environment) -> Dispatch:
    """The dispatcher of this environment. Raises SettingsError."""
    settings = DispatchSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    return Dispatch(
        cursors=DynamoCursorStore(dynamodb, settings.jobs_table, clock),
        lanes=SqsLanes(client("sqs"), settings.queue_urls),
        clock=clock,
        randomness=SystemRandomness(),
        after_claim=AfterClaim(
            jobs=DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock),
            runs=DynamoRunStore(dynamodb, settings.runs_table),
            clock=clock,
            run_retention_days=settings.run_retention_days,
        ),
        rules=DispatchRules(shards=settings.shards, lead=settings.lead_seconds, reach=settings.reach_seconds),
    )


def execute(environ: Environment) -> Execute:
    """The workers of this environment's lane. Raises SettingsError."""
    from duecourse.adapters.sns import SnsNotices
    from duecourse.adapters.sqs.received import SqsReceived
    from duecourse.adapters.targets import Targets
    from duecourse.usecases.aftermath import Aftermath
    from duecourse.usecases.attempt import Attempts
    from duecourse.usecases.hand import Forwarder, WorkerRules
    from duecourse.usecases.overlap import Overlaps

    settings = ExecuteSettings.from_env(environ)
    clock, randomness = SystemClock(), SystemRandomness()
    dynamodb, sqs = client("dynamodb"), client("sqs")
    # Workers never move a cursor, so they need not know the shard count.
    jobs = DynamoJobStore(dynamodb, settings.jobs_table, shards=1, clock=clock)
    runs = DynamoRunStore(dynamodb, settings.runs_table)
    overlaps = Overlaps(runs, clock)
    lanes = SqsLanes(sqs, {settings.lane: settings.queue_url})
    forwarder = Forwarder(lanes, SqsReceived(sqs, settings.queue_url), clock, settings.lane)
    rules = WorkerRules(settings.lane, settings.max_receive_count, settings.run_retention_days)
    return Execute(
        Attempts(
            jobs=jobs,
            runs=runs,
            caller=Targets.create(private=settings.private_targets == "allow", clock=clock),
            clock=clock,
            randomness=randomness,
            overlaps=overlaps,
            forwarder=forwarder,
            aftermath=Aftermath(
                jobs=jobs,
                runs=runs,
                notices=SnsNotices(client("sns"), settings.deaths_topic_arn),
                clock=clock,
                randomness=randomness,
                overlaps=overlaps,
                forwarder=forwarder,
            ),
            rules=rules,
        )
    )


@dataclass(frozen=True, slots=True)
class Api:
    """What the HTTP API needs."""

    jobs: Jobs
    pausing: Pausing
    history: History
    preview: Preview
    settings: ApiSettings


def api(environ: Environment) -> Api:
    """The API of this environment. Raises SettingsError."""
    from duecourse.usecases.history import History
    from duecourse.usecases.jobs import Jobs
    from duecourse.usecases.pausing import Pausing
    from duecourse.usecases.preview import Preview

    settings = ApiSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    jobs = DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock)
    runs = DynamoRunStore(dynamodb, settings.runs_table)
    lanes = SqsLanes(client("sqs"), settings.queue_urls)
    use = Jobs(jobs, lanes, clock, SystemRandomness(), settings.reach_seconds)
    return Api(
        jobs=use,
        pausing=Pausing(use, jobs, AfterClaim(jobs, runs, clock, settings.run_retention_days), clock),
        history=History(
            jobs=jobs,
            runs=runs,
            clock=clock,
            reach_seconds=settings.reach_seconds,
            run_retention_days=settings.run_retention_days,
        ),
        preview=Preview(clock),
        settings=settings,
    )
