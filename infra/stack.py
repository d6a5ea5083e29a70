"""Composes the stack: api, tick -> shards -> dispatch -> lanes -> execute -> tables, results, notices, events."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from infra.functions.api import HttpApi
from infra.functions.auth import Auth
from infra.functions.connector import Connectors
from infra.functions.console import Console
from infra.functions.dispatch import DispatchFunction
from infra.functions.execute import Execute
from infra.functions.live_alias import Release
from infra.functions.python_function import PythonRuntime
from infra.functions.scheduled import audit, reconcile, repair, tick
from infra.observability import Observability
from infra.parts import Monitored, SharedResources
from infra.queues.end_events import EndEvents
from infra.queues.event_bus import EventBus
from infra.queues.notices import NoticeTopics
from infra.queues.queues import DeadLettersQueue, LaneQueues, ShardFifoQueue
from infra.settings.config import StageConfig
from infra.stores.archive import ArchiveStore
from infra.stores.buckets import AccessLogs, ResultsBucket
from infra.stores.encryption import Encryption
from infra.stores.tables import JobsTable, RunsTable
from infra.stores.tasks import TaskParameters
from infra.stores.token_keys import TokenKeys


class DuecourseStack(Stack):
    """All resources of Duecourse in one account and region."""

    def __init__(
        self,
        scope: Construct,
        config: StageConfig,
        *,
        construct_id: str | None = None,
        flags: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """`flags` are feature flags of the CDK for this stack alone. `options` are those of a Stack. The name of the
        stack does not depend on `construct_id`, because the commands find a stage by it.
        """
        super().__init__(
            scope,
            construct_id or config.stack_name,
            stack_name=config.stack_name,
            description=f"Duecourse, a serverless job scheduler (stage {config.stage})",
            termination_protection=config.refuses_deletion,
            **options,
        )
        for name, value in (flags or {}).items():
            self.node.set_context(name, value)
        Tags.of(self).add("project", "duecourse")
        Tags.of(self).add("stage", config.stage)

        encryption = Encryption(
            self, "Encryption", key=config.encryption_key, name=config.stack_name, retain=config.retain_data
        )
        logs = AccessLogs(self, "AccessLogs", config=config) if config.bucket_access_logs else None
        jobs = JobsTable(self, "Jobs", config=config, encryption=encryption)
        runs = RunsTable(self, "Runs", config=config, encryption=encryption)
        letters = DeadLettersQueue(self, "DeadLetters", config=config, encryption=encryption)
        parts = SharedResources(
            config=config,
            jobs=jobs,
            runs=runs,
            dead_letters=letters,
            lanes=LaneQueues(self, "Lanes", config=config, dead_letters=letters, encryption=encryption),
            shard_queue=ShardFifoQueue(self, "Shards", config=config, encryption=encryption),
            notices=NoticeTopics(self, "Notices", config=config, encryption=encryption),
            bus=EventBus(self, "Events", config=config, encryption=encryption),
            results=ResultsBucket(self, "Results", config=config, encryption=encryption, logs=logs),
            tasks=TaskParameters(self, "Tasks", config=config),
            token_keys=TokenKeys(self, "TokenKeys", config=config),
            runtime=(runtime := PythonRuntime(self, "Python", config=config, encryption=encryption)),
            connectors=Connectors(self, "Connectors", config=config, runtime=runtime),
        )
        EndEvents(self, "Ends", allowed=config.allowed_targets, queue=parts.lanes.callbacks)
        notices, bus = parts.notices, parts.bus
        release = Release(self, "Release", config=config, notices=notices) if config.deployment == "canary" else None
        archive = ArchiveStore(self, "Archive", parts, encryption=encryption, logs=logs)
        api = HttpApi(self, "Api", parts)
        audited = audit(self, parts)
        execute = Execute(self, "Execute", parts, release, issuer=api.address, audit=audited)
        auth = Auth(self, "Auth", config=config, runtime=parts.runtime, consoles=api.console_urls)
        logs_of: dict[str, str | list[str]] = {
            "api": [each.log_group.log_group_name for each in (api.function, api.callbacks)],
            "execute": [worker.log_group.log_group_name for worker in execute.functions.values()],
        }
        console = Console(self, "Console", parts, auth, logs=logs_of).function if config.auth.console else None
        api.open(auth, console)
        functions = {
            "Tick": tick(self, parts, archive, execute.sources),
            "Dispatch": DispatchFunction(self, "Dispatch", parts, release).function,
            **{f"Execute{name.capitalize()}": worker for name, worker in execute.functions.items()},
            "Reconcile": reconcile(self, parts),
            "Repair": repair(self, parts),
            "Audit": audited,
            "Archive": archive.function,
            "Api": api.function,
            "Callbacks": api.callbacks,
            **({} if auth.users is None else {"Claims": auth.users.claims}),
            **({} if console is None else {"Console": console}),
            **{f"Connector{name.capitalize()}": each for name, each in parts.connectors.functions.items()},
        }

        self.api_url: str = api.address
        """The address of the API, also for the jobs of the same app (`Duecourse.from_api`)."""

        self.functions = functions
        watched = Monitored(
            parts=parts,
            functions=functions,
            api_id=api.http.api_id,
            letters={"Archive": archive.failures} | ({} if bus.failures is None else {"Events": bus.failures}),
        )
        Observability(self, "Observability", config=config, watched=watched, notices=notices)

        encryption.let_policies_use_it()
        self._outputs(
            ApiUrl=api.address,
            ApiId=api.http.api_id,
            **({} if api.domain is None else {"ApiDomainTarget": api.domain.target}),
            **({} if console is None else {"ConsoleUrl": api.console_urls[0]}),
            JobsTable=jobs.name,
            RunsTable=runs.name,
            **({} if config.standby is None else {"Regions": f"{config.standby.home} {config.standby.region}"}),
            DeadLetterQueueUrl=letters.queue.queue_url,
            ShardQueueUrl=parts.shard_queue.queue.queue_url,
            **{
                f"Lane{name.title().replace(' ', '')}Url": queue.queue_url
                for name, queue in parts.lanes.watched.items()
            },
            DeathsTopicArn=notices.deaths.topic_arn,
            PagesTopicArn=notices.pages.topic_arn,
            TicketsTopicArn=notices.tickets.topic_arn,
            BusName=bus.name,
            **({} if bus.failures is None else {"EventFailuresQueueUrl": bus.failures.queue_url}),
            ResultsBucket=parts.results.name,
            **{f"{name}Function": function.name for name, function in functions.items()},
            ArchiveBucket=archive.bucket.bucket_name,
            ArchiveDatabase=archive.table.database_name,
            ArchiveFailuresQueueUrl=archive.failures.queue_url,
            **({} if config.prescale is None else {"PrescaleDollars": f"{config.prescale.dollars_per_day:g}"}),
            **auth.outputs,
        )

    def _outputs(self, **values: str) -> None:
        """Add the outputs that clients, operators and the local stack's commands read."""
        for name, value in values.items():
            CfnOutput(self, name, value=value)
