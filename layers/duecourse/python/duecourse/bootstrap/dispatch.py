"""The dispatcher, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.aws.event_bus import EventBridgeBus
from duecourse.adapters.dynamodb.cursors.cursor_store import DynamoCursorStore
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.runs.run_store import DynamoRunStore
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.settings import DispatchSettings
from duecourse.usecases.announce import Announcements
from duecourse.usecases.dispatch.claiming import Claiming
from duecourse.usecases.dispatch.dispatch import Dispatch, DispatchRules
from duecourse.usecases.dispatch.skipping import Skipping


def dispatch(environ: Mapping[str, str]) -> Dispatch:
    """The dispatcher of this environment. Raises SettingsError."""
    settings = DispatchSettings.from_env(environ)
    clock, randomness, threads = SystemClock(), SystemRandomness(), Threads()
    dynamodb, sqs = (
        client("dynamodb", short_timeouts=True),
        client("sqs", short_timeouts=True, once=True),
    )  # a round is short
    return Dispatch(
        cursors=DynamoCursorStore(dynamodb, settings.jobs_table, clock, threads, runs_table=settings.runs_table),
        lanes=SqsLanes(sqs, settings.queue_urls, clock, randomness, bulk_urls=settings.bulk_urls, executor=threads),
        clock=clock,
        randomness=randomness,
        claiming=Claiming(
            jobs=DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock),
            skipping=Skipping(DynamoRunStore(dynamodb, settings.runs_table), clock, settings.run_retention_days),
            clock=clock,
            announcements=Announcements(
                EventBridgeBus(client("events", short_timeouts=True), settings.bus_name), clock
            ),
        ),
        rules=DispatchRules(
            shards=settings.shards, lookahead=settings.lookahead_seconds, horizon=settings.horizon_seconds
        ),
        executor=threads,
    )
