"""The workers of a lane, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.clients import client, clients
from duecourse.adapters.aws.secrets import SecretsManagerSecrets, SsmSecrets
from duecourse.adapters.aws.tasks import SsmTasks
from duecourse.adapters.targets import Targets
from duecourse.adapters.targets.aws.names import Arns
from duecourse.adapters.targets.callers import Callers, Means
from duecourse.bootstrap.worker_ports import worker_ports
from duecourse.ports import Clock, Secrets
from duecourse.settings import ExecuteSettings
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.wiring import worker_of
from duecourse.usecases.worker.work_item import WorkerRules


def execute(environ: Mapping[str, str], *, bulk: bool = False) -> LaneWorker:
    """The workers of this environment's lane, for its own queue or its bulk queue. Raises SettingsError."""
    settings = ExecuteSettings.from_env(environ)
    queue = settings.bulk_url if bulk else settings.queue_url
    ports = worker_ports(settings, queue=queue, bucket=settings.results_bucket)
    clock = ports.clock
    means = Means(
        private=settings.private_targets == "allow",
        clock=clock,
        arns=Arns(settings.partition, settings.region, settings.account),
        secrets=_secrets(settings, clock),
        clients=clients(),
    )
    targets = Targets(Callers(means), SsmTasks(client("ssm"), settings.stage, clock), settings.allowed_targets)
    rules = WorkerRules(settings.lane, settings.max_receive_count, settings.run_retention_days)
    return worker_of(ports, targets, rules)


def _secrets(settings: ExecuteSettings, clock: Clock) -> Secrets:
    if settings.secret_store == "parameters":
        return SsmSecrets(client("ssm"), settings.stage, clock)
    return SecretsManagerSecrets(client("secretsmanager"), settings.stage, clock)
