"""The workers of a lane, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client, clients
from duecourse.adapters.aws.secrets import SecretsManagerSecrets, SsmSecrets
from duecourse.adapters.aws.tasks import SsmTasks
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.sqs.received import SqsReceived
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.adapters.targets import Targets
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.callers import Callers
from duecourse.bootstrap.transitions import stores_of, transitions_of
from duecourse.ports import Secrets
from duecourse.settings import ExecuteSettings
from duecourse.usecases.forwarder import Forwarder
from duecourse.usecases.worker.call import Calls
from duecourse.usecases.worker.coverage import Coverage
from duecourse.usecases.worker.receive import LaneWorker
from duecourse.usecases.worker.requeue import Requeue
from duecourse.usecases.worker.start import Starter
from duecourse.usecases.worker.work_item import WorkerRules


def execute(environ: Mapping[str, str], *, bulk: bool = False) -> LaneWorker:
    """The workers of this environment's lane, for its own queue or its bulk queue. Raises SettingsError."""
    settings = ExecuteSettings.from_env(environ)
    clock, randomness = SystemClock(), SystemRandomness()
    stores = stores_of(settings.jobs_table, settings.runs_table, settings.shards, clock)
    forwarder = Forwarder(
        lanes=SqsLanes(
            client("sqs", once=True),
            settings.queue_urls,
            clock,
            randomness,
            bulk_urls=settings.bulk_urls,
            executor=Threads(),
        ),
        received=SqsReceived(client("sqs"), settings.bulk_url if bulk else settings.queue_url),
        timers=stores.timers,
        clock=clock,
        lane=settings.lane,
    )
    transitions = transitions_of(
        stores,
        forwarder,
        clock,
        topic=settings.deaths_topic_arn,
        bus=settings.bus_name,
        bucket=settings.results_bucket,
    )
    callers = Callers(
        private=settings.private_targets == "allow",
        clock=clock,
        arns=Arns(settings.partition, settings.region, settings.account),
        secrets=_secrets(settings, clock),
        clients=clients(),
    )
    targets = Targets(callers, SsmTasks(client("ssm"), settings.stage, clock), settings.allowed_targets)
    rules = WorkerRules(settings.lane, settings.max_receive_count, settings.run_retention_days)
    requeue, coverage = Requeue(stores.runs, clock, randomness, forwarder, rules), Coverage(stores.runs)
    workflows = transitions.effects.workflows
    starter = Starter(Calls(targets, stores.inputs, clock, workflows), transitions, requeue, coverage)
    return LaneWorker(stores.jobs, starter, transitions, requeue, coverage, workflows)


def _secrets(settings: ExecuteSettings, clock: SystemClock) -> Secrets:
    if settings.secret_store == "parameters":
        return SsmSecrets(client("ssm"), settings.stage, clock)
    return SecretsManagerSecrets(client("secretsmanager"), settings.stage, clock)
