"""The stack's shard count is raised by an update of the deployed stack while its jobs fire: none is lost or doubled.

Real time passes: what fires later than two minutes after a job was made comes from the dispatcher alone.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

from duecourse_cli.api_call import ApiUnreachableError
from duecourse_cli.client import Client
from duecourse_cli.local.calls import CallLog
from duecourse_cli.local.receiver import OK_PATH, Receiver
from duecourse_cli.models import Job
from infra.stack import DuecourseStack
from infra.stages import STAGES
from tests.support.deployed import BUCKET, STACK, Template, deploy
from tests.support.emulators import client, ministack

pytestmark = [pytest.mark.long, pytest.mark.emulator]

ROOT = Path(__file__).resolve().parents[2]
FEW = STAGES["local"].shards
MANY = 8
PERIOD = timedelta(seconds=10)
QUIET_SECONDS = range(2, 5)  # of each period: long enough before the next that nothing is held yet
AT_ONCE_SECONDS = 120  # what the API sends by itself
LEAD_SECONDS = 60  # as little as functions take, so that cursors move every minute
LEADING = {"DUECOURSE_LEAD_SECONDS": str(LEAD_SECONDS), "DUECOURSE_REACH_SECONDS": str(LEAD_SECONDS)}
PATIENCE_SECONDS = 240  # with whatever is waited for here
SETTLED_SECONDS = 10  # by when a call that was due has come, on a machine that does other things, too


@dataclass(frozen=True)
class Raised:
    """The deployed stack with what its jobs call."""

    endpoint: str
    outputs: dict[str, str]
    api: Client
    target: dict[str, Any]
    log: CallLog

    def create(self, job_id: str) -> Job:
        """A job that fires at every tenth second from now on."""
        every = {"schedule": "*/10 * * * * *", "overlap": "allow"}
        return self.api.create_job({"id": job_id, "target": self.target, **every})

    def cursors(self) -> dict[str, dict[str, Any]]:
        """Every job's cursor, as it stands in the jobs table."""
        table, database = self.outputs["JobsTable"], client("dynamodb", self.endpoint)
        items = database.scan(TableName=table, ConsistentRead=True)["Items"]
        return {item["PK"]["S"].split("#")[-1]: item for item in items if item["SK"]["S"] == "CURSOR"}

    def update(self, template: Template) -> None:
        """What a deployment does with a template whose assets are there already."""
        cloudformation = client("cloudformation", self.endpoint)
        body = json.dumps(template, separators=(",", ":")).encode()
        client("s3", self.endpoint).put_object(Bucket=BUCKET, Key="raised.json", Body=body)
        url = f"{self.endpoint}/{BUCKET}/raised.json"
        cloudformation.update_stack(StackName=STACK, TemplateURL=url, Capabilities=["CAPABILITY_IAM"])
        cloudformation.get_waiter("stack_update_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
        until(self.answers)

    def ended(self, jobs: list[Job]) -> bool:
        """Whether each job has fired, and all that is due by now has its final record."""
        now = time.time()
        due = {job.id: set(instants(job, now)) for job in jobs}
        return all(due.values()) and all(due[job.id] <= self._succeeded(job) for job in jobs)

    def _succeeded(self, job: Job) -> set[datetime]:
        return {run.occurrence for run in self.api.runs(job.id, limit=100).items if run.state == "SUCCEEDED"}

    def answers(self) -> bool:
        """Whether the API's cold start is over."""
        try:
            self.api.health()
        except ApiUnreachableError:
            return False
        return True


def functions(template: Template) -> Iterator[dict[str, str]]:
    """The variables of each function."""
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function":
            yield resource["Properties"]["Environment"]["Variables"]


def led(template: Template) -> None:
    """A shorter lead than a stage may have."""
    for variables in functions(template):
        variables |= {name: value for name, value in LEADING.items() if name in variables}


def configured(shards: int, folder: Path) -> Template:
    """The stage's template, with no other difference in its configuration than the count."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}
    app = App(outdir=str(folder), context=context, analytics_reporting=False)
    DuecourseStack(app, replace(STAGES["local"], shards=shards))
    template: Template = app.synth().get_stack_by_name(STACK).template
    for bootstrap in ("Parameters", "Rules"):
        template.pop(bootstrap, None)
    led(template)
    return template


@pytest.fixture(scope="module")
def raised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raised]:
    folder = tmp_path_factory.mktemp("raised")
    (folder / "ministack").mkdir()
    log = CallLog()
    with Receiver(log) as receiver, ministack(folder / "ministack") as endpoint:
        outputs = deploy(endpoint, folder / "cdk.out", led)
        with Client(f"{endpoint}/_aws/execute-api/{outputs['ApiId']}", trust_env=False) as api:
            raised = Raised(endpoint, outputs, api, {"type": "http", "url": receiver.url + OK_PATH}, log)
            until(raised.answers)
            yield raised


def test_raising_the_count_on_the_deployed_stack_loses_and_doubles_no_firing(raised: Raised, tmp_path: Path) -> None:
    template = configured(MANY, tmp_path / "cdk.out")
    before = [raised.create(f"before-{number}") for number in range(3)]

    # Lambda lets a call end that is under way when its function is updated; the emulator kills it, and the message
    # comes back after this test. So the update waits for a moment at which all that was due has ended.
    until(lambda: raised.ended(before) and int(time.time()) % PERIOD.seconds in QUIET_SECONDS)
    raised.update(template)
    after = [raised.create(f"after-{number}") for number in range(5)]
    last = time.time() + AT_ONCE_SECONDS
    # By then the dispatcher has moved every cursor by the new count, and fired what it found where it had moved them.
    until(lambda: time.time() > last + LEAD_SECONDS / 2)
    end = time.time()
    until(lambda: time.time() > end + SETTLED_SECONDS)

    jobs = [*before, *after]
    calls = Counter((call.job_id, call.scheduled_at) for call in raised.log.calls)
    assert {key: times for key, times in calls.items() if times > 1} == {}
    missing = [(job.id, at) for job in jobs for at in instants(job, end) if (job.id, at) not in calls]
    assert missing == []
    for job in jobs:
        states = {run.occurrence: run.state for run in raised.api.runs(job.id, limit=100).items}
        due = [at for at in instants(job, end) if at in states]
        assert due
        assert {states[at] for at in due} == {"SUCCEEDED"}
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


def until(reached: Callable[[], bool]) -> None:
    """Let real time pass, as the stack's clock is its own."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < end, f"not reached within {PATIENCE_SECONDS} s"
        time.sleep(0.25)
