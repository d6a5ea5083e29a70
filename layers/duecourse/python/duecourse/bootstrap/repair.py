"""Index repair and clean-up, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.dynamodb.cursors.tick_mark import DynamoTickMark
from duecourse.adapters.dynamodb.cursors.timers import DynamoTimers
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.maintenance.repair_store import DynamoRepairStore
from duecourse.adapters.dynamodb.runs.lines import DynamoLines
from duecourse.adapters.dynamodb.runs.run_store import DynamoRunStore
from duecourse.adapters.system import SystemClock
from duecourse.settings import RepairSettings
from duecourse.usecases.maintenance.clean_up import CleanUp
from duecourse.usecases.maintenance.index_check import IndexCheck
from duecourse.usecases.maintenance.index_repair import IndexRepair

HOUR_SECONDS = 3600


def index_repair(environ: Mapping[str, str]) -> IndexRepair:
    """Index repair of this environment. Raises SettingsError."""
    settings = RepairSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    store = DynamoRepairStore(dynamodb, settings.jobs_table)
    jobs = DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock)
    runs = DynamoRunStore(dynamodb, settings.runs_table)
    index = IndexCheck(
        store=store,
        jobs=jobs,
        runs=runs,
        lines=DynamoLines(dynamodb, settings.runs_table),
        timers=DynamoTimers(dynamodb, settings.jobs_table, shards=settings.shards),
        marks=DynamoTickMark(dynamodb, settings.jobs_table),
        clock=clock,
    )
    clean_up = CleanUp(jobs, runs, clock, settings.completed_job_retention_days)
    return IndexRepair(store, (index, clean_up), clock, every_seconds=settings.patrol_hours * HOUR_SECONDS)
