"""The completeness audit, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client
from duecourse.adapters.dynamodb.jobs.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.maintenance.audit_store import DynamoAuditStore
from duecourse.adapters.dynamodb.runs.run_store import DynamoRunStore
from duecourse.adapters.dynamodb.workflows import DynamoWorkflows
from duecourse.adapters.sqs.depths import SqsDepths
from duecourse.adapters.system import SystemClock, Threads
from duecourse.settings import AuditSettings
from duecourse.usecases.maintenance.audit import Audit
from duecourse.usecases.maintenance.audit_members import AuditMembers
from duecourse.usecases.maintenance.classify_gaps import ClassifyGaps
from duecourse.usecases.maintenance.compare_window import CompareWindow
from duecourse.usecases.workflows.view import WorkflowRuns

PAGE_ITEMS = 500
"""Items per scan: a job has at least two, and a page of 250 jobs is always done in time."""


def audit(environ: Mapping[str, str]) -> Audit:
    """The audit of this environment. Raises SettingsError."""
    settings = AuditSettings.from_env(environ)
    clock, dynamodb = SystemClock(), client("dynamodb")
    runs = DynamoRunStore(dynamodb, settings.runs_table)
    jobs = DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock)
    depths = SqsDepths(client("sqs"), settings.queue_urls, clock, bulk_urls=settings.bulk_urls)
    workflows = DynamoWorkflows(dynamodb, settings.jobs_table, settings.runs_table, clock)
    classify = ClassifyGaps(
        jobs=jobs,
        runs=runs,
        depths=depths,
        clock=clock,
        lookahead=settings.lookahead_seconds,
        horizon=settings.horizon_seconds,
        retention_days=settings.run_retention_days,
    )
    return Audit(
        store=DynamoAuditStore(dynamodb, settings.jobs_table, limit=PAGE_ITEMS),
        compare=CompareWindow(runs),
        classify=classify,
        members=AuditMembers(jobs, runs, WorkflowRuns(workflows), depths, clock),
        clock=clock,
        segments=settings.audit_segments,
        retention_days=settings.run_retention_days,
        executor=Threads(),
    )
