"""The flow, composed: api, tick -> shards -> dispatch -> lanes -> execute -> tables, results, notices, events."""

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from infra.access_logs import AccessLogs
from infra.api import Api
from infra.archive import Archive
from infra.audit import Audit
from infra.auth import Auth
from infra.config import StageConfig
from infra.dead_letters import DeadLetters
from infra.dispatch import Dispatch
from infra.encryption import Encryption
from infra.event_bus import EventBus
from infra.execute import Execute
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.notices import Notices
from infra.observability import Observability, Watched
from infra.patrol import Patrol
from infra.python_function import PythonRuntime
from infra.results import Results
from infra.runs_table import RunsTable
from infra.shard_queue import ShardQueue
from infra.sweep import Sweep
from infra.tasks import Tasks
from infra.tick import Tick


class DuecourseStack(Stack):
    """All of Duecourse in one account and region."""

    def __init__(self, scope: Construct, config: StageConfig) -> None:
        super().__init__(
            scope,
            config.stack_name,
            description=f"Duecourse, a serverless job scheduler (stage {config.stage})",
            termination_protection=config.refuses_deletion,
        )
        Tags.of(self).add("project", "duecourse")
        Tags.of(self).add("stage", config.stage)

        encryption = Encryption(
            self, "Encryption", key=config.encryption_key, name=config.stack_name, retain=config.retain_data
        )
        logs = AccessLogs(self, "AccessLogs", config=config) if config.bucket_access_logs else None
        jobs = JobsTable(self, "Jobs", config=config, encryption=encryption)
        runs = RunsTable(self, "Runs", config=config, encryption=encryption)
        dead_letters = DeadLetters(self, "DeadLetters", config=config, encryption=encryption)
        lanes = Lanes(self, "Lanes", config=config, dead_letters=dead_letters, encryption=encryption)
        shard_queue = ShardQueue(self, "Shards", config=config, encryption=encryption)
        notices = Notices(self, "Notices", config=config, encryption=encryption)
        bus = EventBus(self, "Events", config=config, encryption=encryption)
        results = Results(self, "Results", config=config, encryption=encryption, logs=logs)
        tasks = Tasks(self, "Tasks", config=config)

        runtime = PythonRuntime(self, "Python", config=config, encryption=encryption)
        tick = Tick(self, "Tick", config=config, runtime=runtime, jobs=jobs, shard_queue=shard_queue)
        dispatch = Dispatch(
            self,
            "Dispatch",
            config=config,
            runtime=runtime,
            jobs=jobs,
            runs=runs,
            shard_queue=shard_queue,
            lanes=lanes,
            bus=bus,
        )
        execute = Execute(
            self,
            "Execute",
            config=config,
            runtime=runtime,
            jobs=jobs,
            runs=runs,
            lanes=lanes,
            notices=notices,
            bus=bus,
            results=results,
            tasks=tasks,
        )
        sweep = Sweep(
            self,
            "Sweep",
            config=config,
            runtime=runtime,
            jobs=jobs,
            runs=runs,
            lanes=lanes,
            dead_letters=dead_letters,
            notices=notices,
            bus=bus,
        )
        archive = Archive(self, "Archive", config=config, encryption=encryption, logs=logs, runtime=runtime, runs=runs)
        patrol = Patrol(self, "Patrol", config=config, runtime=runtime, jobs=jobs, runs=runs)
        audit = Audit(self, "Audit", config=config, runtime=runtime, jobs=jobs, runs=runs, lanes=lanes)
        auth = Auth(self, "Auth", config=config, runtime=runtime)
        api = Api(
            self,
            "Api",
            config=config,
            runtime=runtime,
            auth=auth,
            jobs=jobs,
            runs=runs,
            lanes=lanes,
            results=results,
            tasks=tasks,
        )

        watched = Watched(
            jobs=jobs,
            runs=runs,
            lanes=lanes,
            dead_letters=dead_letters,
            shard_queue=shard_queue,
            functions={
                "Tick": tick.function,
                "Dispatch": dispatch.function,
                **{f"Execute{name.capitalize()}": worker for name, worker in execute.functions.items()},
                "Sweep": sweep.function,
                "Patrol": patrol.function,
                "Audit": audit.function,
                "Archive": archive.function,
                "Api": api.function,
                **({} if auth.users is None else {"Claims": auth.users.claims}),
            },
            archive_source=archive.source,
            letters={"Archive": archive.failures} | ({} if bus.failures is None else {"Events": bus.failures}),
        )
        Observability(self, "Observability", config=config, watched=watched, notices=notices)

        encryption.let_policies_use_it()
        self._outputs(
            ApiUrl=api.http.api_endpoint,
            ApiId=api.http.api_id,
            JobsTable=jobs.name,
            RunsTable=runs.name,
            DeadLetterQueueUrl=dead_letters.queue.queue_url,
            ShardQueueUrl=shard_queue.queue.queue_url,
            **{f"Lane{name.title().replace(' ', '')}Url": queue.queue_url for name, queue in lanes.every.items()},
            DeathsTopicArn=notices.deaths.topic_arn,
            AlarmsTopicArn=notices.alarms.topic_arn,
            BusName=bus.name,
            **({} if bus.failures is None else {"EventFailuresQueueUrl": bus.failures.queue_url}),
            ResultsBucket=results.name,
            TickFunction=tick.function.name,
            DispatchFunction=dispatch.function.name,
            **{f"Execute{name.capitalize()}Function": worker.name for name, worker in execute.functions.items()},
            SweepFunction=sweep.function.name,
            PatrolFunction=patrol.function.name,
            AuditFunction=audit.function.name,
            ArchiveBucket=archive.bucket_name,
            ArchiveDatabase=archive.table.database_name,
            ArchiveFailuresQueueUrl=archive.failures.queue_url,
            ArchiveFunction=archive.function.name,
            ApiFunction=api.function.name,
            **auth.outputs,
        )

    def _outputs(self, **values: str) -> None:
        """What clients, operators and the local stack's commands read."""
        for name, value in values.items():
            CfnOutput(self, name, value=value)
