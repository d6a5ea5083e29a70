"""The HTTP API, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from duecourse.adapters.aws import client
from duecourse.adapters.clock import SystemClock, SystemRandomness
from duecourse.adapters.dynamodb.job_store import DynamoJobStore
from duecourse.adapters.dynamodb.run_store import DynamoRunStore
from duecourse.adapters.results import S3Results
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.tasks import SsmTasks
from duecourse.settings import ApiSettings
from duecourse.usecases.after_claim import AfterClaim
from duecourse.usecases.callbacks import Callbacks
from duecourse.usecases.commands import Commands, Orders
from duecourse.usecases.dead_letters import DeadLetters
from duecourse.usecases.history import History
from duecourse.usecases.jobs import Jobs
from duecourse.usecases.pausing import Pausing
from duecourse.usecases.preview import Preview
from duecourse.usecases.runs import Runs


@dataclass(frozen=True, slots=True)
class Api:
    """What the HTTP API needs."""

    jobs: Jobs
    pausing: Pausing
    history: History
    runs: Runs
    callbacks: Callbacks
    commands: Commands
    dead_letters: DeadLetters
    preview: Preview
    settings: ApiSettings


def api(environ: Mapping[str, str]) -> Api:
    """The API of this environment. Raises SettingsError."""
    settings = ApiSettings.from_env(environ)
    clock, randomness, dynamodb = SystemClock(), SystemRandomness(), client("dynamodb")
    jobs = DynamoJobStore(dynamodb, settings.jobs_table, shards=settings.shards, clock=clock)
    store = DynamoRunStore(dynamodb, settings.runs_table)
    lanes = SqsLanes(client("sqs"), settings.queue_urls)
    tasks = SsmTasks(client("ssm"), settings.stage, clock)
    use = Jobs(jobs, lanes, clock, randomness, settings.reach_seconds, tasks)
    history = History(jobs, store, clock, settings.reach_seconds, settings.run_retention_days)
    runs = Runs(store, history, S3Results(client("s3"), settings.results_bucket))
    orders = Orders(lanes, clock, randomness)
    return Api(
        jobs=use,
        pausing=Pausing(use, jobs, AfterClaim(jobs, store, clock, settings.run_retention_days), clock),
        history=history,
        runs=runs,
        callbacks=Callbacks(store, jobs, clock, orders),
        commands=Commands(runs, jobs, orders),
        dead_letters=DeadLetters(store, jobs, orders),
        preview=Preview(clock),
        settings=settings,
    )
