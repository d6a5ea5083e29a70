"""The flow, composed: api, tick -> shards -> dispatch -> lanes -> execute -> tables, results, notices, events."""

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from infra.api import Api
from infra.auth import Auth
from infra.config import StageConfig
from infra.dead_letters import DeadLetters
from infra.dispatch import Dispatch
from infra.event_bus import EventBus
from infra.execute import Execute
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.notices import Notices
from infra.observability import Observability
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
            termination_protection=config.retain_data,
        )
        Tags.of(self).add("project", "duecourse")
        Tags.of(self).add("stage", config.stage)

        jobs = JobsTable(self, "Jobs", config=config)
        runs = RunsTable(self, "Runs", config=config)
        dead_letters = DeadLetters(self, "DeadLetters", config=config)
        lanes = Lanes(self, "Lanes", config=config, dead_letters=dead_letters)
        shard_queue = ShardQueue(self, "Shards", config=config)
        notices = Notices(self, "Notices", config=config)
        bus = EventBus(self, "Events")
        results = Results(self, "Results", config=config)
        tasks = Tasks(self, "Tasks", config=config)
        Observability(self, "Observability", config=config, dead_letters=dead_letters, notices=notices)

        runtime = PythonRuntime(self, "Python", config=config)
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

        self._outputs(
            ApiUrl=api.http.api_endpoint,
            ApiId=api.http.api_id,
            JobsTable=jobs.name,
            RunsTable=runs.name,
            DeadLetterQueueUrl=dead_letters.queue.queue_url,
            ShardQueueUrl=shard_queue.queue.queue_url,
            **{f"Lane{name.capitalize()}Url": queue.queue_url for name, queue in lanes.queues.items()},
            DeathsTopicArn=notices.deaths.topic_arn,
            AlarmsTopicArn=notices.alarms.topic_arn,
            BusName=bus.name,
            ResultsBucket=results.name,
            TickFunction=tick.function.name,
            DispatchFunction=dispatch.function.name,
            **{f"Execute{name.capitalize()}Function": worker.name for name, worker in execute.functions.items()},
            SweepFunction=sweep.function.name,
            ApiFunction=api.function.name,
            **auth.outputs,
        )

    def _outputs(self, **values: str) -> None:
        """What clients, operators and the local stack's commands read."""
        for name, value in values.items():
            CfnOutput(self, name, value=value)
