"""The stack's shard count is raised by an update of the deployed stack: what fires is neither lost nor doubled."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from duecourse.cli.local.demo.receiver import OK_PATH, CallLog, Receiver
from duecourse.client import ApiUnreachableError, Client
from duecourse.client.models import Job
from duecourse.domain.instants import to_iso
from duecourse.domain.targets.targets import HttpTarget
from duecourse.testing.clock import SettableClock
from infra.stages import STAGES
from tests.support.deployed import deploy, functions, invoke, send
from tests.support.emulators import client, ministack
from tests.support.jobs import cursor
from tests.support.jobs import job as made_job
from tests.support.tables import Tables
from tests.support.template import template
from tests.support.waiting import PATIENCE_SECONDS, awaited

FEW = STAGES["local"].shards
MANY = 8
PERIOD = timedelta(seconds=10)
QUIET_SECONDS = range(2, 5)  # of each period: long enough before the next that nothing is held yet
AT_ONCE_SECONDS = 120  # what the API sends by itself
LOOKAHEAD_SECONDS = 60  # as little as functions take, so that cursors move every minute
LOOKING_AHEAD = {
    "DUECOURSE_LOOKAHEAD_SECONDS": str(LOOKAHEAD_SECONDS),
    "DUECOURSE_HORIZON_SECONDS": str(LOOKAHEAD_SECONDS),
}


@dataclass(frozen=True)
class Raised:
    """The deployed stack with what its jobs call."""

    endpoint: str
    outputs: dict[str, str]
    api: Client
    url: str
    log: CallLog

    def create(self, job_id: str) -> Job:
        """A job that fires at every tenth second from now on."""
        every = {"schedule": "*/10 * * * * *", "overlap": "allow"}
        return self.api.create_job({"id": job_id, "target": {"type": "http", "url": self.url}, **every})

    def write(self, job_id: str, *, shards: int) -> None:
        """A job that has been due for some seconds, as functions of this count have left it to the dispatcher."""
        now = time.time()
        tables = Tables(client("dynamodb", self.endpoint), self.outputs["JobsTable"], self.outputs["RunsTable"])
        once, target = f"at({to_iso(int(now) - 5).removesuffix('Z')})", HttpTarget(self.url)
        made = made_job(once, id=job_id, at=float(int(now) - 60), target=target)
        assert tables.job_store(SettableClock(now), shards).create(made, cursor(made))

    def cursors(self) -> dict[str, dict[str, Any]]:
        """Every job's cursor, as it stands in the jobs table."""
        items = self.items("CURSOR")
        return {item["PK"]["S"].split("#")[-1]: item for item in items}

    def items(self, sort: str) -> list[dict[str, Any]]:
        table, database = self.outputs["JobsTable"], client("dynamodb", self.endpoint)
        items: list[dict[str, Any]] = database.scan(TableName=table, ConsistentRead=True)["Items"]
        return [item for item in items if item["SK"]["S"] == sort]

    def update(self, **variables: str) -> None:
        """What a deployment does with another configuration, whose assets are there already. The count is said to
        functions in a variable, and nowhere else.
        """
        made = deepcopy(template("local"))
        for of in functions(made):
            of |= {name: value for name, value in variables.items() if name in of}
        send(self.endpoint, made, "update")
        awaited("the API", self.answers)

    def answers(self) -> bool:
        """Whether the API's cold start is over."""
        try:
            self.api.get_health()
        except ApiUnreachableError:
            return False
        return True

    def ended(self, jobs: list[Job]) -> bool:
        """Whether each job has fired, and all that is due by now has its final record."""
        now = time.time()
        due = {job.id: set(instants(job, now)) for job in jobs}
        return all(due.values()) and all(due[job.id] <= self.succeeded(job.id) for job in jobs)

    def succeeded(self, job_id: str) -> set[datetime]:
        return {run.occurrence for run in self.api.list_runs(job_id, limit=100).items if run.state == "SUCCEEDED"}

    def calls(self) -> Mapping[tuple[str, datetime | None], int]:
        """How often each job was called for each of its instants."""
        return Counter((call.job_id, call.scheduled_at) for call in self.log.calls)


@pytest.fixture
def raised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raised]:
    log = CallLog()
    with Receiver(log) as receiver, ministack(tmp_path_factory.mktemp("raised")) as endpoint:
        outputs = deploy(endpoint)
        url = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}"
        with Client(url, timeout=PATIENCE_SECONDS, trust_env=False) as api:
            yield Raised(endpoint, outputs, api, receiver.url + OK_PATH, log)


def test_shard_increase_entries_written_under_either_count_fire_once(raised: Raised) -> None:
    before, after = ([f"{when}-{number}" for number in range(MANY)] for when in ("before", "after"))
    for job_id in before:
        raised.write(job_id, shards=FEW)
    raised.update(DUECOURSE_SHARDS=str(MANY))
    for job_id in after:
        raised.write(job_id, shards=MANY)
    slots = {int(item["slot"]["S"].split("/")[1]) for item in raised.cursors().values() if "slot" in item}
    assert max(slots) >= FEW, "nobody uses the new shards"
    invoke(raised.endpoint, raised.outputs["TickFunction"])
    for job_id in (*before, *after):
        awaited(f"the run of {job_id}", lambda job_id=job_id: raised.succeeded(job_id))
    awaited("a round of each shard", lambda: len(raised.items("WATERMARK")) == MANY)
    # A run may end before the round that sent it has claimed its cursor.
    awaited("nothing left for another round", lambda: all("slot" not in item for item in raised.cursors().values()))
    assert set(raised.calls().values()) == {1}
    assert len(raised.calls()) == 2 * MANY


@pytest.mark.extended
def test_shard_increase_while_jobs_fire_neither_loses_nor_duplicates_firings(raised: Raised) -> None:
    """Real time passes: what fires later than two minutes after a job was made comes from the dispatcher alone."""
    raised.update(**LOOKING_AHEAD)
    before = [raised.create(f"before-{number}") for number in range(3)]

    # Lambda lets a call end that is under way when its function is updated; the emulator kills it, and the message
    # comes back after this test. So the update waits for a moment at which all that was due has ended.
    awaited("a quiet moment", lambda: raised.ended(before) and int(time.time()) % PERIOD.seconds in QUIET_SECONDS)
    raised.update(**LOOKING_AHEAD, DUECOURSE_SHARDS=str(MANY))
    after = [raised.create(f"after-{number}") for number in range(5)]
    last = time.time() + AT_ONCE_SECONDS
    # By then the dispatcher has moved every cursor by the new count, and fired what it found where it had moved them.
    awaited("what the dispatcher alone fires", lambda: time.time() > last + LOOKAHEAD_SECONDS / 2)
    jobs, end = [*before, *after], time.time()
    due = {(job.id, at) for job in jobs for at in instants(job, end)}
    awaited("the last calls", lambda: due <= raised.calls().keys())
    awaited("their records", lambda: all(set(instants(job, end)) <= raised.succeeded(job.id) for job in jobs))
    assert {key: times for key, times in raised.calls().items() if times > 1} == {}
    slots = {job_id: item["slot"]["S"] for job_id, item in raised.cursors().items()}
    assert len(slots) == len(jobs)
    assert max(int(slot.split("/")[1]) for slot in slots.values()) >= FEW, "nobody has used the new shards"
    assert all(float(item["due"]["N"]) > last for item in raised.cursors().values())


def instants(job: Job, end: float) -> Iterator[datetime]:
    """Every instant of a job through `end`."""
    at = job.next_occurrence
    assert at is not None
    while at.timestamp() <= end:
        yield at
        at += PERIOD
