"""The stores, queues and topics of a stage, made once and given to every construct that has functions."""

from dataclasses import dataclass

from infra.functions.python_function import PythonRuntime
from infra.queues.dead_letters import DeadLettersQueue
from infra.queues.event_bus import EventBus
from infra.queues.lanes import LaneQueues
from infra.queues.notices import NoticeTopics
from infra.queues.shard_queue import ShardFifoQueue
from infra.settings.config import StageConfig
from infra.stores.jobs_table import JobsTable
from infra.stores.results import ResultsBucket
from infra.stores.runs_table import RunsTable
from infra.stores.tasks import TaskParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What functions read, write and send to; each construct grants its own function what that one uses."""

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

    def settings(self, *names: str) -> dict[str, str]:
        """Environment variables by their names without `DUECOURSE_`. Raises KeyError."""
        config = self.config
        known = {
            "JOBS_TABLE": self.jobs.name,
            "RUNS_TABLE": self.runs.name,
            "SHARDS": str(config.shards),
            "LOOKAHEAD_SECONDS": str(config.lookahead_seconds),
            "HORIZON_SECONDS": str(config.horizon_seconds),
            "RUN_RETENTION_DAYS": str(config.run_retention_days),
            "COMPLETED_JOB_RETENTION_DAYS": str(config.completed_job_retention_days),
            "PATROL_HOURS": str(config.patrol_hours),
            "AUDIT_SEGMENTS": str(config.audit_segments),
            "MAX_RECEIVE_COUNT": str(config.max_receive_count),
            "PRIVATE_TARGETS": config.private_targets,
            "ALLOWED_TARGETS": config.allowed_targets.to_json(),
            "SECRET_STORE": config.secret_store,
            "DEFAULT_PRECISION": config.default_precision,
            "SHARD_QUEUE_URL": self.shard_queue.queue.queue_url,
            "DEAD_LETTER_QUEUE_URL": self.dead_letters.queue.queue_url,
            "DEATHS_TOPIC_ARN": self.notices.deaths.topic_arn,
            "BUS_NAME": self.bus.name,
            "RESULTS_BUCKET": self.results.name,
        }
        return {f"DUECOURSE_{name}": known[name] for name in names}
