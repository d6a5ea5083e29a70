"""The stores, queues and topics of a stage, which are created once and passed to every construct with functions; and
the resources that alarms and dashboards monitor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_sqs as sqs

from infra.functions.connector import Connectors
from infra.functions.python_function import PythonFunction, PythonRuntime
from infra.queues.event_bus import EventBus
from infra.queues.notices import NoticeTopics
from infra.queues.queues import DeadLettersQueue, LaneQueues, ShardFifoQueue
from infra.settings.config import StageConfig
from infra.settings.connectors_config import connector_settings
from infra.settings.stores_config import buckets_json
from infra.stores.buckets import ResultsBucket
from infra.stores.tables import JobsTable, RunsTable
from infra.stores.tasks import TaskParameters
from infra.stores.token_keys import TokenKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResources:
    """The resources that functions read, write and send to. Each construct grants its function the permissions that it
    needs.
    """

    config: StageConfig
    runtime: PythonRuntime
    jobs: JobsTable
    runs: RunsTable
    lanes: LaneQueues
    dead_letters: DeadLettersQueue
    shard_queue: ShardFifoQueue
    notices: NoticeTopics
    bus: EventBus
    results: ResultsBucket
    tasks: TaskParameters
    token_keys: TokenKeys
    connectors: Connectors

    @property
    def seats(self) -> dict[str, str]:
        """The environment variables with the seats of each lane."""
        return {f"DUECOURSE_SEAT_{name.upper()}": str(lane.seats) for name, lane in self.config.lanes.items()}

    def settings(self, *names: str) -> dict[str, str]:
        """Return environment variables by their names without `DUECOURSE_`. Raises KeyError. RUNS_TABLE comes with the
        rules of its lists.
        """
        config = self.config
        names = (*names, *(LISTS if "RUNS_TABLE" in names else ()))
        known = {
            "JOBS_TABLE": self.jobs.name,
            "RUNS_TABLE": self.runs.name,
            "RUN_INDEX_PARTITIONS": str(config.run_index_partitions),
            "LIST_SUCCESSES": str(config.list_successes).lower(),
            "SHARDS": str(config.shards),
            "LOOKAHEAD_SECONDS": str(config.lookahead_seconds),
            "HORIZON_SECONDS": str(config.horizon_seconds),
            "RUN_RETENTION_DAYS": str(config.run_retention_days),
            "COMPLETED_JOB_RETENTION_DAYS": str(config.completed_job_retention_days),
            "REPAIR_HOURS": str(config.repair_hours),
            "OPERATOR_TENANT": config.operator_tenant or "*",
            "AUDIT_SEGMENTS": str(config.audit_segments),
            "MAX_RECEIVE_COUNT": str(config.max_receive_count),
            "REQUESTS_PER_SECOND": str(config.limits.requests_per_second),
            "BURST": str(config.limits.burst),
            "PRIVATE_TARGETS": config.private_targets,
            "ALLOWED_TARGETS": config.allowed_targets.to_json(connector_settings(config.stack_name, config.connectors)),
            "SECRET_STORE": config.secret_store,
            "DEFAULT_PRECISION": config.default_precision,
            "SHARD_QUEUE_URL": self.shard_queue.queue.queue_url,
            "DEAD_LETTER_QUEUE_URL": self.dead_letters.queue.queue_url,
            "DEATHS_TOPIC_ARN": self.notices.deaths.topic_arn,
            "BUS_NAME": self.bus.name,
            "RESULTS_BUCKET": self.results.name,
            "RESULT_BUCKETS": buckets_json(config.result_buckets),
        }
        return {f"DUECOURSE_{name}": known[name] for name in names}


LISTS = ("RUN_INDEX_PARTITIONS", "LIST_SUCCESSES")


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """The resources that alarms and dashboards monitor. The keys of `functions` are the first parts of their outputs'
    names. `letters` are the dead-letter queues other than that of the lanes; the keys are the failed components.
    """

    parts: SharedResources
    functions: Mapping[str, PythonFunction]
    api_id: str
    letters: Mapping[str, sqs.IQueue]
