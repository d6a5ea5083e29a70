"""Handlers in this process, configured only by their environment, with real tables and queues on MiniStack."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from duecourse.adapters.aws.clients import clients
from duecourse.domain.jobs.job import Lane
from tests.support.emulators import client
from tests.support.queues import create_queue
from tests.support.tables import Tables

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
CACHES = {
    "callbacks": "application",
    "archive": "_archive",
    "tick": "_tick",
    "dispatch": "_dispatch",
    "execute": "_workers",
}


class Stdout:
    """Writes to the current stdout: a logger would keep the stdout of the test that imported it."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


@dataclass(frozen=True)
class Stage:
    """The resources of a stage that the functions' environments name."""

    sqs: Any
    sns: Any
    tables: Tables
    shard_queue: str
    lane: str
    topic: str
    deaths: str

    def attributes(self, queue_url: str) -> dict[str, str]:
        found: dict[str, str] = self.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["All"])["Attributes"]
        return found


@pytest.fixture
def stage(served_tables: Tables, ministack: str) -> Stage:
    """New tables, queues and a topic whose notices arrive in the queue `deaths`."""
    sqs, sns = client("sqs", ministack), client("sns", ministack)
    deaths = create_queue(sqs)
    topic: str = sns.create_topic(Name=served_tables.jobs)["TopicArn"]
    attributes = sqs.get_queue_attributes(QueueUrl=deaths, AttributeNames=["QueueArn"])["Attributes"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=attributes["QueueArn"])
    return Stage(sqs, sns, served_tables, create_queue(sqs, fifo=True), create_queue(sqs), topic, deaths)


@pytest.fixture
def environ(stage: Stage, ministack: str) -> dict[str, str]:
    """All variables of the functions; a function ignores variables without a field."""
    settings = {
        "STAGE": "test",
        "JOBS_TABLE": stage.tables.jobs,
        "RUNS_TABLE": stage.tables.runs,
        "SHARDS": "1",
        "RUN_INDEX_PARTITIONS": "8",
        "LIST_SUCCESSES": "true",
        "SHARD_QUEUE_URL": stage.shard_queue,
        "LETTERS_URLS": stage.lane,
        "ACCOUNT_CONCURRENCY": "1000",
        "ARCHIVE_SOURCE": "91eaeb7e-c976-1234-9451-8709db01f137",
        "PING_URL": "none",
        "FAILED_SHARE": "0.4",
        "AUDIT_FUNCTION": "audit",
        "REQUESTS_PER_SECOND": "50",
        "BURST": "100",
        "LOOKAHEAD_SECONDS": "300",
        "HORIZON_SECONDS": "840",
        "RUN_RETENTION_DAYS": "90",
        **{f"{of}_URL_{lane.name}": stage.lane for of in ("QUEUE", "BULK") for lane in Lane},
        "LANE": "normal",
        "QUEUE_URL": stage.lane,
        "BULK_URL": f"{stage.lane}-bulk",
        "CALLBACK_URL": f"{stage.lane}-callbacks",
        "DEATHS_TOPIC_ARN": stage.topic,
        "MAX_RECEIVE_COUNT": "5",
        "PRIVATE_TARGETS": "allow",
        "BUS_NAME": "duecourse-test",
        "RESULTS_BUCKET": "duecourse-test-results",
        "RESULT_BUCKETS": "{}",
        "OIDC": "none",
        "ACCOUNT": "000000000000",
        "PARTITION": "aws",
        "REGION": "us-east-1",
        "SECRET_STORE": "parameters",
        "ALLOWED_TARGETS": "{}",
    }
    return {
        "AWS_ENDPOINT_URL": ministack,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_LAMBDA_FUNCTION_NAME": "duecourse-test",
        "POWERTOOLS_SERVICE_NAME": "duecourse",
        "POWERTOOLS_METRICS_NAMESPACE": "Duecourse",
    } | {f"DUECOURSE_{name}": value for name, value in settings.items()}


@pytest.fixture
def function(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Handler]]:
    """A function that returns a handler by name, as after a cold start, without the environment of other tests."""
    started: list[Any] = []
    imported: set[str] = set()

    def cold_start(name: str, **changes: str) -> Handler:
        for variable, value in (environ | {f"DUECOURSE_{each}": text for each, text in changes.items()}).items():
            monkeypatch.setenv(variable, value)
        imported.add(f"functions.{name}.handler")
        module = import_module(f"functions.{name}.handler")
        started.extend(getattr(module, each) for each in (CACHES[name], "_stops") if hasattr(module, each))
        module.logger.registered_handler.stream = Stdout()
        for cached in (*started, clients):
            cached.cache_clear()
        handler: Handler = module.handler
        return handler

    yield cold_start
    for cached in (*started, clients):
        cached.cache_clear()
    for name in imported:  # its metrics keep the namespace with which they were created
        del sys.modules[name]
