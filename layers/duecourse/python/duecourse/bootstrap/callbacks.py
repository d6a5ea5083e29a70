"""The routes that a run's token opens, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.runs.run_store import DynamoRunStore
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.system import SystemClock, SystemRandomness
from duecourse.api.callback_app import CallbackParts
from duecourse.settings import CallbackSettings
from duecourse.usecases.runs.commands import Callbacks, CommandSender


def callbacks(environ: Mapping[str, str]) -> CallbackParts:
    """The callbacks of this environment. Raises SettingsError."""
    settings = CallbackSettings.from_env(environ)
    clock, randomness, dynamodb = SystemClock(), SystemRandomness(), client("dynamodb", short_timeouts=True)
    lanes = SqsLanes(
        client("sqs", short_timeouts=True, once=True),
        settings.queue_urls,
        clock,
        randomness,
        bulk_urls=settings.bulk_urls,
        short_timeouts=True,
    )
    return CallbackParts(
        Callbacks(
            runs=DynamoRunStore(dynamodb, settings.runs_table),
            jobs=DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock),
            clock=clock,
            orders=CommandSender(lanes, clock, randomness),
        ),
        settings.stage,
    )
