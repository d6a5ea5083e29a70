"""The clean-up of completed jobs, wired to AWS. A part of the patrol's rounds."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock
from duecourse.adapters.dynamodb.completed_jobs import DynamoCompletedJobs, DynamoTraces
from duecourse.adapters.dynamodb.job_store import DynamoJobStore
from duecourse.settings import PatrolSettings
from duecourse.usecases.clean_up import CleanUp


def clean_up(environ: Mapping[str, str]) -> CleanUp:
    """The removal of completed jobs of this environment. Raises SettingsError."""
    settings = PatrolSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    return CleanUp(
        found=DynamoCompletedJobs(dynamodb, settings.jobs_table),
        jobs=DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock),
        traces=DynamoTraces(dynamodb, settings.runs_table),
        clock=clock,
        retention_days=settings.completed_job_retention_days,
    )
