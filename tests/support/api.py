"""The HTTP application for tests: real events as input, parsed responses as output."""

from __future__ import annotations

import json
import logging
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from gzip import decompress
from io import StringIO
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.api.app import Application
from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS
from duecourse.domain.targets.oidc import OidcIssuer
from duecourse.gates.runner import AnyGate
from duecourse.messages import RunMessage
from duecourse.ports import Depths, InlineExecutor, Lanes, RegisteredTask, StageAlarms, StageMetrics
from duecourse.settings import AllowedTargets, ApiSettings
from duecourse.stores.delayed_runs import DelayedRuns
from duecourse.stores.inputs import Inputs
from duecourse.stores.jobs import JobStore
from duecourse.stores.maintenance import TenantReports
from duecourse.stores.prescale import PrescaleStore
from duecourse.stores.run_counts import RunCountStore
from duecourse.stores.runs import RunsInProgress, RunStore
from duecourse.stores.tenants import TenantLimits
from duecourse.stores.tick_mark import TickMark
from duecourse.stores.timers import Timers
from duecourse.telemetry import function_logger
from duecourse.testing.clock import Numbered, SettableClock
from duecourse.testing.outbox import StoredLogs
from duecourse.testing.stores import MemoryStores, Stores
from duecourse.testing.table import MemoryTables
from duecourse.wiring import Wiring
from tests.support.api_events import api_event, json_event
from tests.support.connectors import OFFICE
from tests.support.jobs import NOON
from tests.support.limits import FixedAlarms, FixedDepths, FixedMetrics, MemoryLimits, MemoryMark
from tests.support.openapi import check_answer
from tests.support.tasks import Registered
from tests.support.wheel import Wheel
from tests.support.workflows import NoWorkflows

if TYPE_CHECKING:
    from tests.support.world import World

_numbers = count()
"""Loggers are kept by name, so each client has its own name (Python reuses ids of objects)."""

HTTP_TARGET = {"type": "http", "url": "https://example.com/hook"}
BODY = {"schedule": "rate(10 seconds)", "target": HTTP_TARGET}

STANDARD: dict[str, Any] = {name: known.standard for name, known in ALLOW_LISTS.items()}
ALLOWED = AllowedTargets(
    **STANDARD | {"actions": ("sqs:SendMessage", "ecs:UpdateService")},
    public_ip=True,
    connectors={OFFICE.name: replace(OFFICE, tenants=("*",), hosts=("*",))},
)


def api_settings(**changes: Any) -> ApiSettings:
    """Return the settings of a stage that calls only public addresses."""
    values: dict[str, Any] = {
        "stage": "test",
        "jobs_table": "jobs",
        "runs_table": "runs",
        "shards": 1,
        "lookahead_seconds": 300,
        "horizon_seconds": 840,
        "run_retention_days": 90,
        "queue_urls": {lane: f"https://queue/{lane}" for lane in Lane},
        "bulk_urls": {lane: f"https://queue/{lane}-bulk" for lane in Lane},
        "default_precision": Precision.SECOND,
        "private_targets": "refuse",
        "allowed_targets": ALLOWED,
        "results_bucket": "results",
        "result_buckets": {"reports": {"default": "daily/"}},
        "oidc": OidcIssuer("https://jobs.example", ("key-1", "key-2")),
        "region": "eu-central-1",
        "auth": "none",
        "tenant_claim": "tenant",
        "job_quota": 1_000,
        "requests_per_second": 1_000,
        "burst": 1_000,
        "smallest_interval_seconds": 1,
        "backfill_limit": 1_000,
        "delayed_runs_per_hour": 1_000,
        "seats": dict.fromkeys(Lane, 30),
    }
    return ApiSettings(**(values | changes))


class Untouchable:
    """Replaces a store that a request must not use."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the store was asked to {name}")


@dataclass(frozen=True)
class PublishedKeys:
    """Implementation of ports.PublicKeys with keys without a private part."""

    issuer: OidcIssuer

    def public_keys(self) -> list[tuple[str, bytes]]:
        modulus = bytes(range(256))
        begin = "30820122300d06092a864886f70d01010105000382010f003082010a0282010100"
        return [(key, bytes.fromhex(begin) + modulus + bytes.fromhex("0203010001")) for key in self.issuer.keys]


class Linked:
    """The part of ports.Results that the API needs."""

    def put(self, key: str, document: bytes, bucket: str | None = None) -> None:
        raise AssertionError("the API writes no results")

    def get(self, key: str) -> bytes | None:
        return f'"{key}"'.encode()

    def link(self, key: str) -> str:
        return f"https://results.example/{key}?signature=secret"


@dataclass(frozen=True)
class Answered:
    """A response."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def errors(self) -> dict[str, str]:
        """The problem's errors: their detail by location."""
        found = {}
        for error in self.json["errors"]:
            assert len(error) == 2, error
            where = next(name for key, name in error.items() if key != "detail")
            found[where] = error["detail"]
        return found


class EmptyWaitQueues:
    """The part of WaitQueues that the API needs, with empty wait queues."""

    def waiting(self, *_: object, **__: object) -> list[RunMessage]:
        return []

    def length(self, *_: object, **__: object) -> int:
        return 0

    def state(self, _tenant: str, _key: str, gate: AnyGate, **_: object) -> Any:
        return gate.state()

    def change(self, _tenant: str, _key: str, gate: AnyGate, *_: object, **__: object) -> tuple[bool, Any]:
        return True, gate.state()


@dataclass
class ApiClient:
    """Calls an application in this process with a settable clock, without a network."""

    jobs: JobStore
    runs: RunStore
    clock: SettableClock = field(default_factory=lambda: SettableClock(NOON))
    settings: ApiSettings = field(default_factory=api_settings)
    lanes: Lanes | None = None
    randomness: Numbered = field(default_factory=Numbered)
    tasks: Mapping[str, RegisteredTask] = field(default_factory=dict)
    counters: TenantLimits = field(default_factory=MemoryLimits)
    mark: TickMark = field(default_factory=MemoryMark)
    depths: Depths = field(default_factory=FixedDepths)
    alarms: StageAlarms = field(default_factory=FixedAlarms)
    metrics: StageMetrics = field(default_factory=FixedMetrics)
    inputs: Inputs = field(default_factory=lambda: MemoryStores().inputs())
    timers: Timers = field(default_factory=lambda: MemoryStores().timers())
    delayed_runs: DelayedRuns = field(default_factory=lambda: MemoryStores().delayed_runs())
    workflows: Any = field(default_factory=NoWorkflows)
    reports: TenantReports = field(default_factory=lambda: MemoryStores().tenant_reports())
    in_progress: RunsInProgress = field(default_factory=lambda: MemoryStores().runs_in_progress())
    run_counts: RunCountStore = field(default_factory=lambda: MemoryStores().run_counts())
    wait_queues: Any = field(default_factory=EmptyWaitQueues)
    prescale: PrescaleStore = field(default_factory=lambda: PrescaleStore(MemoryTables()))
    compressed: bytes = b""
    """The body of the last compressed response."""
    caller: Mapping[str, Any] | None = None
    """The caller in the result of the gateway's authorizer, as created by `jwt_caller`."""

    @classmethod
    def over(cls, tables: Stores, clock: SettableClock | None = None, **changes: Any) -> ApiClient:
        """Return a client of an API with these tables. Its clock shows NOON unless another one is given."""
        clock = SettableClock(NOON) if clock is None else clock
        stores: dict[str, Any] = {"inputs": tables.inputs(), "timers": tables.timers()}
        stores |= {"delayed_runs": tables.delayed_runs()}
        stores |= {"reports": tables.tenant_reports(), "in_progress": tables.runs_in_progress()}
        stores |= {"run_counts": tables.run_counts()}
        return cls(tables.job_store(clock), tables.run_store(), clock, **(stores | changes))

    @classmethod
    def of(cls, world: World, **changes: Any) -> ApiClient:
        """Return a client of the API of a world, in addition to its workers."""
        stores: dict[str, Any] = {
            "inputs": world.inputs,
            "timers": world.timers,
            "delayed_runs": world.delayed_runs,
            "reports": world.tenant_reports,
            "in_progress": world.runs_in_progress,
            "run_counts": world.run_count_store,
            "workflows": world.workflows,
            "counters": world.counters,
            "lanes": world.wheel,
            "randomness": world.randomness,
        }
        return cls(world.jobs, world.run_store, world.clock, **(stores | changes))

    def __post_init__(self) -> None:
        self.wheel, self.logs = Wheel(self.clock), StoredLogs(self.clock)
        lanes = self.wheel if self.lanes is None else self.lanes  # an empty wheel is false, too
        self.log = StringIO()
        logger = function_logger(service=f"test-{next(_numbers)}", level=logging.INFO, stream=self.log)
        wiring = Wiring[Any](self.settings)
        wiring.clock, wiring.randomness, wiring.executor = self.clock, self.randomness, InlineExecutor()
        wiring.jobs, wiring.runs, wiring.workflows = self.jobs, self.runs, self.workflows
        wiring.timers, wiring.wait_queues, wiring.inputs = self.timers, self.wait_queues, self.inputs
        wiring.delayed_runs = self.delayed_runs
        wiring.lanes, wiring.depths, wiring.tenant_limits = lanes, self.depths, self.counters
        wiring.tick_mark, wiring.alarms, wiring.metrics = self.mark, self.alarms, self.metrics
        wiring.tasks, wiring.results, wiring.log_store = Registered(self.tasks), Linked(), self.logs
        if self.settings.oidc is not None:
            wiring.public_keys = PublishedKeys(self.settings.oidc)
        wiring.tenant_reports, wiring.runs_in_progress = self.reports, self.in_progress
        wiring.run_count_store, wiring.prescale_store = self.run_counts, self.prescale
        self.application = Application(wiring.api, logger)

    def send(self, event: dict[str, Any]) -> Answered:
        if self.caller is not None:
            event["requestContext"]["authorizer"] = dict(self.caller)
        answer = self.application(event, cast(LambdaContext, Context()))
        if answer["isBase64Encoded"]:
            assert answer["headers"]["Content-Encoding"] == "gzip"
            self.compressed = b64decode(answer["body"])
            answer = answer | {"body": decompress(self.compressed).decode()}
        check_answer(event, answer)
        return Answered(answer["statusCode"], answer["headers"], answer["body"])

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, **query: str) -> Answered:
        return self.send(api_event("GET", path, query=query, content_type=None, headers=headers))

    def pages(self, path: str, **query: str) -> Iterator[Answered]:
        """Yield all pages of a list, one after another."""
        following: str | None = ""
        while following is not None:
            answer = self.get(path, headers=None, **query, **({"cursor": following} if following else {}))
            assert answer.status == 200, answer.text
            yield answer
            following = answer.json["next_cursor"]

    def delete(self, path: str) -> Answered:
        return self.send(api_event("DELETE", path, content_type=None))

    def post(self, value: Any, path: str = "/v1/jobs", *, token: str | None = None) -> Answered:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return self.send(json_event("POST", path, value, headers=headers))

    def ask(self, path: str, *, token: str | None = None) -> Answered:
        """Send a POST without a body."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return self.send(api_event("POST", path, content_type=None, headers=headers))

    def post_text(self, body: str | None, **changes: Any) -> Answered:
        return self.send(api_event("POST", "/v1/jobs", body=body, **changes))

    @property
    def log_lines(self) -> list[dict[str, Any]]:
        """The log."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


@dataclass
class Context:
    """The context that Lambda passes to a function in addition to the event."""

    function_name: str = "duecourse-api"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-2:123456789012:function:duecourse-api"
    aws_request_id: str = "52fdfc07-2182-454f-963f-5f0f9a621d72"


def untouchable_client(**changes: Any) -> ApiClient:
    """Return a client whose requests must not use a store."""
    return ApiClient(cast(JobStore, Untouchable()), cast(RunStore, Untouchable()), **changes)
