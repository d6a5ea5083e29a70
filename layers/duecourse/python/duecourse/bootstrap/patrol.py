"""The daily patrol, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock
from duecourse.adapters.dynamodb.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.lines import DynamoLines
from duecourse.adapters.dynamodb.patrol_store import DynamoPatrolStore
from duecourse.adapters.dynamodb.run_store import DynamoRunStore
from duecourse.adapters.dynamodb.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.timers import DynamoTimers
from duecourse.settings import PatrolSettings
from duecourse.usecases.patrol import Patrol

HOUR_SECONDS = 3600


def patrol(environ: Mapping[str, str]) -> Patrol:
    """The patrol of this environment. Raises SettingsError."""
    settings = PatrolSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    return Patrol(
        store=DynamoPatrolStore(dynamodb, settings.jobs_table),
        jobs=DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock),
        runs=DynamoRunStore(dynamodb, settings.runs_table),
        lines=DynamoLines(dynamodb, settings.runs_table),
        timers=DynamoTimers(dynamodb, settings.jobs_table, shards=settings.shards),
        marks=DynamoTickMark(dynamodb, settings.jobs_table),
        clock=clock,
        every_seconds=settings.patrol_hours * HOUR_SECONDS,
    )
