"""The tick, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.dynamodb.cursors.cursor_store import DynamoCursorStore
from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.sqs.shard_queue import SqsShardQueue
from duecourse.adapters.system import SystemClock
from duecourse.settings import TickSettings
from duecourse.usecases.dispatch.tick import Tick


def tick(environ: Mapping[str, str]) -> Tick:
    """The tick of this environment. Raises SettingsError."""
    settings = TickSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    return Tick(
        cursors=DynamoCursorStore(dynamodb, settings.jobs_table, clock),
        queue=SqsShardQueue(client("sqs"), settings.shard_queue_url),
        mark=DynamoTickMark(dynamodb, settings.jobs_table),
        clock=clock,
        shards=settings.shards,
    )
