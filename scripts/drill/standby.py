"""The drill of a standby: two local stacks in two regions, and a simulated replication that loses its last seconds.

Each item arrives on its own: of each item, the standby gets the version of a random moment of the last LAG_SECONDS
before the loss. So transactions are torn, as in DynamoDB's global tables.
"""

from __future__ import annotations

import json
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

from duecourse.cli.local.demo.receiver import CallLog, Receiver
from duecourse.cli.local.deployment import Deployment, Step
from duecourse.cli.local.emulator.environment import REGION as HOME
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.emulator.ministack import MiniStack
from duecourse.cli.local.project import Project
from duecourse.cli.local.stack import DataFolder, Stack
from duecourse.cli.terminal import CliError
from duecourse.client import ApiError, Client
from scripts.drill.pages import Commands
from scripts.drill.stage import JOBS, READ_SECONDS, DrillStage, Outcome

STANDBY = "eu-central-1"
REGIONS = {"home": HOME, "region": STANDBY}
OUTPUTS = ("JobsTable", "RunsTable")
REPAIR = Commands("completeness.md", "Index repair", 0)
LAG_SECONDS = 5.0
LEAST_COPIES = 8
"""On a busy machine, a copy takes seconds; then the moments are those of the last copies."""
WORK_SECONDS = 45.0
"""How long the home region works at least before it is lost, in seconds."""
BUSY_SECONDS = 150.0
"""For how many seconds the drill then waits for a moment at which runs have just changed."""
LATE_JOBS = tuple(f"late-{number}" for number in range(1, 11))
"""Jobs that are created in the last seconds. Each is a transaction of a definition, a cursor and other items."""

SEED = 2311
"""Of the random moments."""

Items = Mapping[tuple[str, str], Mapping[str, Any]]
Backfilled = Callable[[DrillStage, datetime, datetime], Outcome]
"""Waits for the end of the lost time, and then backfills the missing occurrences since the first instant."""

AHEAD = timedelta(minutes=15)


@dataclass
class Replication:
    """Copies of both tables of the last LAG_SECONDS."""

    home: DrillStage
    tables: Mapping[str, str]
    _copies: deque[tuple[float, dict[str, Items]]] = field(default_factory=deque)
    _ended: Event = field(default_factory=Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Copy the tables until the end of the context."""
        thread = Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def copy(self) -> dict[str, Items]:
        """Return all items of both tables now."""
        return {output: _items(self.home, name) for output, name in self.tables.items()}

    def arrived(self, draw: random.Random) -> dict[str, Items]:
        """Return what had arrived when the home region was lost: of each item the version of a random copy."""
        copies = [copy for _, copy in self._copies]
        if len(copies) < 2:
            raise CliError("the replication has fewer than two copies, so nothing would be torn; run the drill again")
        found: dict[str, Items] = {}
        for output in self.tables:
            keys = sorted({key for copy in copies for key in copy[output]})
            versions = {key: copies[draw.randrange(len(copies))][output].get(key) for key in keys}
            found[output] = {key: item for key, item in versions.items() if item is not None}
        return found

    def newest(self) -> dict[str, Items]:
        """Return the last copy."""
        return self._copies[-1][1]

    def is_busy(self) -> bool:
        """Return whether runs have changed since the oldest copy."""
        oldest, newest = self._copies[0][1]["RunsTable"], self._copies[-1][1]["RunsTable"]
        return sum(oldest.get(key) != item for key, item in newest.items()) >= len(JOBS)

    def _run(self) -> None:
        while not self._ended.wait(0.5):
            now = time.monotonic()
            self._copies.append((now, self.copy()))
            while len(self._copies) > LEAST_COPIES and self._copies[0][0] < now - LAG_SECONDS:
                self._copies.popleft()


@dataclass(frozen=True, slots=True)
class Torn:
    """The differences of the standby from the home region at its loss: items that are missing or older."""

    missing: int
    older: int

    @classmethod
    def of(cls, lost: Mapping[str, Items], arrived: Mapping[str, Items]) -> Torn:
        """Compare both."""
        pairs = [(item, arrived[output].get(key)) for output, items in lost.items() for key, item in items.items()]
        return cls(
            sum(other is None for _, other in pairs),
            sum(other is not None and other != item for item, other in pairs),
        )


def play(project: Project, folder: Path, step: Step, backfilled: Backfilled) -> Outcome:
    """Lose the home region of a stage with a standby, and let the standby work."""
    log = CallLog()
    with Receiver(log) as receiver, ExitStack() as both, ExitStack() as lost:
        home = lost.enter_context(_stage(project, folder / "home", step, receiver, log, HOME, lambda _: REGIONS))
        tables = {output: home.output_of(output) for output in OUTPUTS}
        home.run(f'duecourse failover --to {HOME} --alone --stage "$STAGE" --yes --no-wait')
        replication = Replication(home, tables)

        def replicas(endpoint: str) -> Mapping[str, str]:
            stream = _replicas(home, endpoint, tables)
            return REGIONS | {
                "jobs_table": tables["JobsTable"],
                "runs_table": tables["RunsTable"],
                "runs_stream": stream,
            }

        other = both.enter_context(_stage(project, folder / "standby", step, receiver, log, STANDBY, replicas))
        home.start_jobs()
        _write(other, tables, replication.copy())
        with replication.running():
            time.sleep(WORK_SECONDS)
            _refuses(other)
            home.wait("waiting for a moment at which runs change", replication.is_busy, BUSY_SECONDS)
            for job_id in LATE_JOBS:
                home.client.create_job(home.definition(job_id) | {"schedule": "rate(1 hour)"})
            wanted = {(f"JOB#default#{job_id}", "JOB") for job_id in LATE_JOBS}
            home.wait(
                "waiting for a copy with the late jobs", lambda: wanted <= replication.newest()["JobsTable"].keys()
            )
        since, newest = datetime.now(UTC), replication.newest()
        lost.close()
        step("lost", f"the region {HOME} is lost")
        arrived = replication.arrived(random.Random(SEED))  # noqa: S311 - not for cryptography
        torn = Torn.of(newest, arrived)
        step("torn", f"{torn.missing} items did not arrive, {torn.older} arrived in an older version")
        _write(other, tables, arrived)
        step("failover", f"to {STANDBY}")
        other.run(f'duecourse failover --to {STANDBY} --alone --stage "$STAGE" --yes')
        step("works", f"{(datetime.now(UTC) - since).total_seconds():.0f} s after the loss")
        step("late jobs", _late(other))
        outcome = backfilled(other, since, since + AHEAD)
        step("outcome", f"{outcome.lost_at_first} lost at first, {outcome.lost} lost, {outcome.repeated} repeated")
        # The page's last command reads logs, which the emulator cannot search.
        other.run(REPAIR.text().partition("logged ")[0].replace("--invocation-type Event ", ""))
        step("late jobs", f"after index repair: {_late(other)}")
        return outcome


def _refuses(standby: DrillStage) -> None:
    """Check that the standby answers no request while the home region works. Raises CliError."""
    try:
        standby.client.get_health()
    except ApiError as error:
        if error.status == 503:
            return
        raise
    raise CliError("the standby answers requests although the fence names the home region")


@contextmanager
def _stage(
    project: Project,
    folder: Path,
    step: Step,
    receiver: Receiver,
    log: CallLog,
    region: str,
    standby: Callable[[str], Mapping[str, str]],
) -> Iterator[DrillStage]:
    """Deploy a stack with a standby into an emulator of a region. `standby` returns the setting; its argument is the
    emulator's endpoint.
    """
    place = DataFolder(folder=folder, log=folder / "ministack.log")
    place.make()
    port = free_port()
    step("region", f"{region} on 127.0.0.1:{port}")
    with MiniStack(port=port, state=place.state, temporary=place.temporary, log=place.log, region=region) as ministack:
        context = {"standby": json.dumps(standby(ministack.endpoint))}
        deployment = Deployment(
            project,
            endpoint=ministack.endpoint,
            work=place.work,
            temporary=place.temporary,
            context=context,
            region=region,
        )
        stack = Stack(ministack=ministack, outputs=deployment.deploy(step))
        with Client(stack.api, trust_env=False, timeout=READ_SECONDS) as client:
            yield DrillStage(stack, client, receiver, log, project.root, folder / "commands.log", region)


def _replicas(home: DrillStage, endpoint: str, tables: Mapping[str, str]) -> str:
    """Create empty tables with the same names, keys and indexes. Return the ARN of the stream of the runs table."""
    from duecourse.cli.local.emulator import aws

    database, stream = aws.client(endpoint, "dynamodb", STANDBY), ""
    for output, name in tables.items():
        found = home.aws("dynamodb").describe_table(TableName=name)["Table"]
        indexes = [
            {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
            for index in found["GlobalSecondaryIndexes"]
        ]
        made = database.create_table(
            TableName=name,
            AttributeDefinitions=found["AttributeDefinitions"],
            KeySchema=found["KeySchema"],
            GlobalSecondaryIndexes=indexes,
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        if output == "RunsTable":
            stream = made["TableDescription"]["LatestStreamArn"]
    return stream


def _items(stage: DrillStage, table: str) -> Items:
    pages = stage.aws("dynamodb").get_paginator("scan").paginate(TableName=table)
    return {(item["PK"]["S"], item["SK"]["S"]): item for page in pages for item in page["Items"]}


def _late(stage: DrillStage) -> str:
    """Return how many of the late jobs are complete, torn and missing."""
    keys = _items(stage, stage.output_of("JobsTable")).keys()
    parts = [[(f"JOB#default#{job_id}", sort) in keys for sort in ("JOB", "CURSOR")] for job_id in LATE_JOBS]
    whole, gone = parts.count([True, True]), parts.count([False, False])
    only = parts.count([True, False])
    return (
        f"{whole} complete, {only} without a cursor, {len(parts) - whole - gone - only} only a cursor, {gone} missing"
    )


def _write(stage: DrillStage, tables: Mapping[str, str], items: Mapping[str, Items]) -> None:
    """Make the tables of a stage equal to these items."""
    database = stage.aws("dynamodb")
    for output, name in tables.items():
        for key in _items(stage, name).keys() - items[output].keys():
            database.delete_item(TableName=name, Key={"PK": {"S": key[0]}, "SK": {"S": key[1]}})
        for item in items[output].values():
            database.put_item(TableName=name, Item=item)
