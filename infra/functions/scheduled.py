"""The functions that a rule starts: the tick, the dead-letter reconciler, index repair and the audit."""

from collections.abc import Mapping

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from infra.functions.python_function import PythonFunction
from infra.nag import acknowledge_wildcards
from infra.parts import SharedResources
from infra.settings.lanes_config import CALLBACK_CONCURRENCY
from infra.stores.archive import ArchiveStore
from infra.stores.tables import ACTIVE_INDEX, DUE_INDEX, ENDED_INDEX

QUARTER = Duration.minutes(15)
"""Index repair and the audit start more often than they have new work, so that they continue the work of an invocation
that ran out of time. A start without work costs one or two reads.
"""


class Scheduled(Construct):
    """A function and its rule. A late start is dropped, because the next one does the same work."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        parts: SharedResources,
        *,
        source: str,
        description: str,
        every: Duration,
        rule: str,
        timeout_seconds: int,
        memory_mb: int,
        settings: dict[str, str],
        reserved_concurrency: int | None = None,
    ) -> None:
        """`rule` is the construct id of the rule."""
        super().__init__(scope, construct_id)
        self.function = PythonFunction(
            self,
            "Worker",
            runtime=parts.runtime,
            source=source,
            description=description,
            timeout_seconds=timeout_seconds,
            memory_mb=memory_mb,
            reserved_concurrency=reserved_concurrency,
            scheduled=True,
            environment=settings,
        )
        self.function.function.configure_async_invoke(max_event_age=every, retry_attempts=0)
        events.Rule(
            self,
            rule,
            description=f"Duecourse: starts the function {construct_id}",
            schedule=events.Schedule.rate(every),
            targets=[targets.LambdaFunction(self.function.function, retry_attempts=1, max_event_age=every)],
        )


def tick(scope: Construct, parts: SharedResources, archive: ArchiveStore, sources: Mapping[str, str]) -> PythonFunction:
    """Return the tick: once a minute, it sends a message for each shard with due work. A missed or late tick does not
    delay runs within the lookahead. The tick also detects what other functions cannot report: queues that are not read,
    maintenance functions that do not run, an archive function that does not read its stream, and too small a quota.
    `sources` has the ids of the lanes' event sources by queue; with `prescale`, the tick changes their pollers.
    """
    letters = [archive.failures, *([] if parts.bus.failures is None else [parts.bus.failures])]
    function = Scheduled(
        scope,
        "Tick",
        parts,
        source="tick",
        description="Duecourse: starts a dispatch round of every shard with due work",
        every=Duration.minutes(1),
        rule="EveryMinute",
        timeout_seconds=30,
        memory_mb=256,
        reserved_concurrency=parts.config.reserved_concurrency.tick,
        settings={
            "DUECOURSE_LETTERS_URLS": " ".join(queue.queue_url for queue in letters),
            "DUECOURSE_ARCHIVE_SOURCE": archive.source,
            "DUECOURSE_ACCOUNT_CONCURRENCY": str(parts.config.account_concurrency),
            "DUECOURSE_PING_URL": parts.config.ping_url or "none",
            **parts.settings("JOBS_TABLE", "SHARDS", "LOOKAHEAD_SECONDS", "SHARD_QUEUE_URL", "PRIVATE_TARGETS"),
            **parts.lanes.environment,
            "DUECOURSE_CALLBACK_URL": parts.lanes.callbacks.queue_url,
            **_prescale(scope, parts, sources),
        },
    ).function
    function.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], [parts.jobs.arn])
    function.allow(["dynamodb:Query"], [parts.jobs.index_arn(DUE_INDEX)])
    function.allow(["sqs:SendMessage", "sqs:GetQueueAttributes"], [parts.shard_queue.queue.queue_arn])
    queues = [*parts.lanes.watched.values(), *letters]
    function.allow(["sqs:GetQueueAttributes"], [queue.queue_arn for queue in queues])
    function.allow(["lambda:GetEventSourceMapping"], [_source_arn(scope, archive.source)])
    function.allow(["lambda:GetAccountSettings"], ["*"])
    if parts.config.prescale is not None:
        arns = [_source_arn(scope, source) for source in sources.values()]
        function.allow(["lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping"], arns)
        # Warm throughput of a table and of its indexes. There is no narrower permission.
        function.allow(["dynamodb:DescribeTable", "dynamodb:UpdateTable"], [parts.jobs.arn, parts.runs.arn])
    acknowledge_wildcards(function, "Lambda has no resources for the quotas of the account.", ["*"])
    return function


def _source_arn(scope: Construct, source: str) -> str:
    """Return the ARN of an event source with this id."""
    return Stack.of(scope).format_arn(
        service="lambda",
        resource="event-source-mapping",
        resource_name=source,
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )


def _prescale(scope: Construct, parts: SharedResources, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the variable with the rules of `prescale` (duecourse.domain.maintenance.peaks.PrescaleRules), in stages
    with this setting.
    """
    config = parts.config
    if config.prescale is None:
        return {}
    queues = {}
    for name, lane in config.lanes.items():
        for queue, most in ((name, lane.max_concurrency), (f"{name} bulk", lane.bulk_max_concurrency)):
            queues[queue] = {"source": sources[queue], "concurrent": most or None, "batch": lane.batch_size}
    rules = {
        "dollars_per_day": config.prescale.dollars_per_day,
        "table_quota": config.prescale.table_quota,
        "spare": max(config.account_concurrency - config.most_concurrent - CALLBACK_CONCURRENCY, 0),
        "list_successes": config.list_successes,
        "runs_table": parts.runs.name,
        "queues": queues,
    }
    return {"DUECOURSE_PRESCALE": Stack.of(scope).to_json_string(rules)}


def reconcile(scope: Construct, parts: SharedResources) -> PythonFunction:
    """Return the dead-letter reconciler. If a worker dies during a message's last delivery, nothing records it. The
    reconciler ends the run as a worker would: record, lock, notice, event, completion or pause of the job, next
    message.
    """
    function = Scheduled(
        scope,
        "Reconcile",
        parts,
        source="reconcile",
        description="Duecourse: reconciles the dead-letter queue with the records of runs",
        every=Duration.minutes(parts.config.reconcile_minutes),
        rule="EveryFewMinutes",
        timeout_seconds=120,
        memory_mb=256,
        settings=parts.settings(
            *("JOBS_TABLE", "RUNS_TABLE", "RUN_RETENTION_DAYS", "SHARDS"),
            *("DEAD_LETTER_QUEUE_URL", "DEATHS_TOPIC_ARN", "BUS_NAME", "RESULTS_BUCKET"),
        )
        | parts.lanes.environment,
    ).function
    hold = ("ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility")
    function.allow([f"sqs:{action}" for action in hold], [parts.dead_letters.queue.queue_arn])
    function.allow([f"dynamodb:{action}" for action in ("GetItem", "PutItem", "UpdateItem")], [parts.jobs.arn])
    record = ("GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "Query")
    function.allow([f"dynamodb:{action}" for action in record], [parts.runs.arn])
    function.allow(["sqs:SendMessage"], parts.lanes.arns)
    function.allow(["sns:Publish"], [parts.notices.deaths.topic_arn])
    function.allow(["events:PutEvents"], [parts.bus.arn])
    function.allow(["s3:GetObject"], [parts.results.objects_arn])
    reason = "Results are objects of runs, whose names are not known when the role is created."
    acknowledge_wildcards(function, reason, [parts.results.objects_arn])
    return function


def repair(scope: Construct, parts: SharedResources) -> PythonFunction:
    """Return the index repair: once a day, it checks all items of the jobs table and corrects errors. It also deletes
    completed jobs, and edits jobs that a change of their calendar has not reached.
    """
    function = Scheduled(
        scope,
        "Repair",
        parts,
        source="repair",
        description="Duecourse: finds and repairs errors of the due index",
        every=QUARTER,
        rule="EveryQuarterOfAnHour",
        timeout_seconds=600,
        memory_mb=512,
        settings=parts.settings(
            *("JOBS_TABLE", "RUNS_TABLE", "SHARDS", "LOOKAHEAD_SECONDS", "HORIZON_SECONDS", "RUN_RETENTION_DAYS"),
            *("REPAIR_HOURS", "COMPLETED_JOB_RETENTION_DAYS", "OPERATOR_TENANT"),
        )
        | parts.seats
        | parts.lanes.environment,
    ).function
    job = ("Scan", "GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem")
    function.allow([f"dynamodb:{action}" for action in job], [parts.jobs.arn])
    # PutItem: the record of a job's deletion, and of skipped occurrences. BatchWriteItem: the records of moved
    # occurrences.
    record = ("GetItem", "BatchGetItem", "Query", "PutItem", "BatchWriteItem")
    function.allow([f"dynamodb:{action}" for action in record], [parts.runs.arn])
    # Runs that wait for a key of their job.
    function.allow(["dynamodb:Query"], [parts.runs.index_arn(ENDED_INDEX), parts.runs.index_arn(ACTIVE_INDEX)])
    function.allow(["sqs:SendMessage"], parts.lanes.arns)  # the first occurrences of an edited job
    return function


def audit(scope: Construct, parts: SharedResources) -> PythonFunction:
    """Return the completeness audit: each hour, it compares the occurrences of a closed window with their records.
    Workers invoke it for reports, whose work is charged to their tenants.
    """
    function = Scheduled(
        scope,
        "Audit",
        parts,
        source="audit",
        description="Duecourse: finds occurrences that were lost or run twice",
        every=QUARTER,
        rule="EveryQuarterOfAnHour",
        timeout_seconds=600,
        memory_mb=1024,
        settings=parts.settings(
            *("JOBS_TABLE", "RUNS_TABLE", "SHARDS", "LOOKAHEAD_SECONDS", "HORIZON_SECONDS"),
            *("RUN_RETENTION_DAYS", "AUDIT_SEGMENTS", "REQUESTS_PER_SECOND", "BURST"),
        )
        | parts.lanes.environment,
    ).function
    job = ("Scan", "GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")
    function.allow([f"dynamodb:{action}" for action in job], [parts.jobs.arn])
    record = ("GetItem", "BatchGetItem", "Query")  # BatchGetItem: the jobs of a workflow's run
    function.allow([f"dynamodb:{action}" for action in record], [parts.runs.arn])
    function.allow(["sqs:GetQueueAttributes"], parts.lanes.arns)
    return function
