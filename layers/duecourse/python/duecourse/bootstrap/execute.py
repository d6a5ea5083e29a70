"""The workers of a lane, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock, SystemRandomness
from duecourse.adapters.secrets import SecretsManagerSecrets, SsmSecrets
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.sqs.received import SqsReceived
from duecourse.adapters.targets import Targets
from duecourse.adapters.targets.place import Place
from duecourse.adapters.tasks import SsmTasks
from duecourse.bootstrap.settling import line_of, overlaps_of, settler_of, stores_of
from duecourse.ports import Secrets
from duecourse.settings import ExecuteSettings
from duecourse.usecases.attempt import Attempts
from duecourse.usecases.begin import Beginner
from duecourse.usecases.copies import Copies
from duecourse.usecases.coverage import Coverage
from duecourse.usecases.execute import Execute
from duecourse.usecases.hand import Forwarder, WorkerRules


def execute(environ: Mapping[str, str], *, bulk: bool = False) -> Execute:
    """The workers of this environment's lane, for its own queue or its bulk queue. Raises SettingsError."""
    settings = ExecuteSettings.from_env(environ)
    clock, randomness = SystemClock(), SystemRandomness()
    stores = stores_of(settings.jobs_table, settings.runs_table, settings.shards, clock)
    forwarder = Forwarder(
        lanes=SqsLanes(client("sqs", once=True), settings.queue_urls, clock, randomness, bulk_urls=settings.bulk_urls),
        received=SqsReceived(client("sqs"), settings.bulk_url if bulk else settings.queue_url),
        wakes=stores.wakes,
        clock=clock,
        lane=settings.lane,
    )
    rules = WorkerRules(settings.lane, settings.max_receive_count, settings.run_retention_days)
    overlaps = overlaps_of(stores, clock)
    settler = settler_of(
        stores,
        overlaps,
        forwarder,
        clock,
        topic=settings.deaths_topic_arn,
        bus=settings.bus_name,
        bucket=settings.results_bucket,
    )
    copies = Copies(stores.runs, clock, randomness, forwarder, rules)
    coverage = Coverage(stores.runs)
    caller = Targets.create(
        private=settings.private_targets == "allow",
        clock=clock,
        place=Place(settings.partition, settings.region, settings.account),
        secrets=_secrets(settings, clock),
        tasks=SsmTasks(client("ssm"), settings.stage, clock),
        allowed=settings.allowed_targets,
    )
    beginner = Beginner(
        caller=caller,
        inputs=stores.inputs,
        clock=clock,
        randomness=randomness,
        overlaps=overlaps,
        line=line_of(stores, forwarder, clock),
        forwarder=forwarder,
        settler=settler,
        copies=copies,
        coverage=coverage,
        rules=rules,
    )
    return Execute(
        Attempts(
            jobs=stores.jobs,
            runs=stores.runs,
            clock=clock,
            randomness=randomness,
            forwarder=forwarder,
            beginner=beginner,
            settler=settler,
            copies=copies,
            coverage=coverage,
            rules=rules,
        )
    )


def _secrets(settings: ExecuteSettings, clock: SystemClock) -> Secrets:
    if settings.secret_store == "parameters":
        return SsmSecrets(client("ssm"), settings.stage, clock)
    return SecretsManagerSecrets(client("secretsmanager"), settings.stage, clock)
