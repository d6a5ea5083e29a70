"""A stage whose jobs fire every ten seconds, and the outcomes of their occurrences."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from duecourse.cli.local.demo.receiver import OK_PATH, CallLog, Receiver
from duecourse.cli.local.deployment import Step
from duecourse.cli.local.emulator import aws, environment
from duecourse.cli.local.emulator.environment import REGION, STACK_NAME, STAGE, free_port
from duecourse.cli.local.project import Project
from duecourse.cli.local.stack import DataFolder, Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import Client
from duecourse.client.models import Run

JOBS = tuple(f"drill-{number}" for number in range(1, 6))
EVERY = timedelta(seconds=10)
MISSED = 100
"""The maximum number of missed occurrences that a job catches up, so that a drill ends within 1,000 seconds."""
SETTLE_SECONDS = 420.0
HEALTHY_SECONDS = 180.0
POLL_SECONDS = 2.0
READ_SECONDS = aws.READ_SECONDS
OPEN = frozenset({"QUEUED", "RUNNING", "RETRYING", "WAITING"})
LAST_LINES = 12

# Version 1 of the AWS command line ignores AWS_ENDPOINT_URL for SQS, hence the option.
PRELUDE = """\
set -euo pipefail
aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }
source docs/runbooks.sh
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcomes of the occurrences between the failure and the moment at which all of them had ended.

    `lost` occurrences have no record; `repeated` runs were called again although a call had succeeded.
    `lost_at_first` is the number before the repair (None: the drill does not count it).
    """

    seconds: float
    occurrences: int
    succeeded: int
    lost: int
    repeated: int
    latest_seconds: float
    lost_at_first: int | None = None


class DrillStage:
    """A deployed stack, its jobs and their receiver."""

    def __init__(
        self,
        stack: Stack,
        client: Client,
        receiver: Receiver,
        log: CallLog,
        root: Path,
        output: Path,
        region: str = REGION,
    ) -> None:
        """`output` is the file that receives the output of all commands."""
        self.region = region
        self.stack = stack
        self.client = client
        self.receiver = receiver
        self.log = log
        self._root = root
        self._output = output

    def start_jobs(self) -> None:
        """Create the jobs, and wait for a successful run of each."""
        self.client.get_health()
        for job_id in JOBS:
            self.client.create_job(self.definition(job_id))
        began = datetime.now(UTC)
        self.wait(
            "waiting for the first runs", lambda: all(self._settled(each, began, datetime.now(UTC)) for each in JOBS)
        )

    def definition(self, job_id: str) -> Any:
        """Return the document of one of the jobs."""
        return {
            "id": job_id,
            "schedule": "rate(10 seconds)",
            "target": {"type": "http", "url": self.receiver.url + OK_PATH, "method": "POST"},
            "overlap": "allow",
            "missed": {"policy": "run_all", "max_missed": MISSED},
        }

    def aws(self, service: str) -> Any:
        """Return a boto3 client of the emulator."""
        return aws.client(self.stack.endpoint, service, self.region)

    def output_of(self, name: str) -> str:
        """Return an output of the stack."""
        found = aws.stack(self.stack.endpoint, STACK_NAME, self.region) or {"Outputs": []}
        outputs: dict[str, str] = {each["OutputKey"]: each["OutputValue"] for each in found["Outputs"]}
        return outputs[name]

    def run(self, commands: str, **variables: str) -> str:
        """Run commands in the checkout, as an operator does. Return their output. Raises CliError if one fails."""
        given = environment.base(os.environ, self._output.parent, self.region) | {
            "AWS_ENDPOINT_URL": self.stack.endpoint,
            "STAGE": STAGE,
            "AWS_REGION": self.region,
            "AWS_PAGER": "",
            "DUECOURSE_API": self.stack.api,
            **variables,
        }
        done = subprocess.run(
            ["bash", "-c", PRELUDE + commands],
            env=given,
            cwd=self._root,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        with self._output.open("a") as output:
            output.write(f"$ {commands}\n{done.stdout}{done.stderr}\n")
        if done.returncode:
            last = [each for each in (done.stdout + done.stderr).strip().splitlines() if not each.startswith("ok ")]
            raise CliError("\n".join([f"a command failed ({self._output}):", commands, *last[-LAST_LINES:]]))
        return done.stdout

    def check(self) -> None:
        """Wait until `duecourse doctor` finds nothing that a person must do now. Raises CliError after 3 minutes."""

        def healthy() -> bool:
            try:
                self.run('duecourse doctor --stage "$STAGE"')
            except CliError:
                return False
            return True

        self.wait("waiting until the doctor finds a healthy stage", healthy, seconds=HEALTHY_SECONDS)

    def wait(self, what: str, ready: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> None:
        """Wait until `ready()` is true. Raises CliError after `seconds`."""
        until = time.monotonic() + seconds
        while not ready():
            self.stack.ministack.require_running()
            if time.monotonic() > until:
                raise CliError(f"timed out after {seconds:.0f} s: {what}; the output is in {self._output}")
            time.sleep(POLL_SECONDS)

    def outcome(self, since: datetime, *, jobs: Sequence[str] = JOBS, lost: bool = False) -> Outcome:
        """Wait until every occurrence since then has ended (with `lost`: until the jobs fire again), and count them."""

        def settled() -> bool:
            now = datetime.now(UTC)
            return all(self._settled(each, since, now, lost=lost) for each in jobs)

        self.wait("waiting for the end of the runs", settled)
        now = datetime.now(UTC)
        runs = [(each, self._runs(each, since)) for each in jobs]
        until = now - 2 * EVERY
        expected = {each: _grid(found, since, until) for each, found in runs}
        known = {each: _ended(found) for each, found in runs}
        ids = {run.id for _, found in runs for run in found}
        calls = Counter(call.run_id for call in self.log.calls if call.run_id in ids and call.status == 200)
        return Outcome(
            seconds=round((now - since).total_seconds(), 1),
            occurrences=sum(map(len, expected.values())),
            succeeded=sum(run.state == "SUCCEEDED" and run.occurrence <= until for _, found in runs for run in found),
            lost=sum(len(expected[each] - known[each]) for each in jobs),
            repeated=sum(count > 1 for count in calls.values()),
            latest_seconds=max((run.lateness_seconds or 0.0 for _, found in runs for run in found), default=0.0),
        )

    def _settled(self, job_id: str, since: datetime, now: datetime, *, lost: bool = False) -> bool:
        """Return whether the job fires again, and (unless `lost`) the runs of all occurrences have ended."""
        found = self._runs(job_id, since)
        ended = _ended(found)
        fires = bool(ended) and max(ended) >= now - 2 * EVERY
        return fires and (lost or _grid(found, since, now - 2 * EVERY) <= ended)

    def _runs(self, job_id: str, since: datetime) -> list[Run]:
        return list(self.client.list_runs(job_id, from_=since, limit=100))


def _ended(runs: Sequence[Run]) -> set[datetime]:
    """Return the occurrences whose runs have ended. An occurrence whose message is lost is listed as queued."""
    return {run.occurrence for run in runs if run.state not in OPEN}


def _grid(runs: Sequence[Run], since: datetime, until: datetime) -> set[datetime]:
    """Return the occurrences of a job in that time, given some of its runs."""
    if not runs:
        return set()
    first = min(run.occurrence for run in runs)
    first -= (first - since) // EVERY * EVERY
    return {first + EVERY * number for number in range(max((until - first) // EVERY + 1, 0))}


@contextmanager
def drill_stage(project: Project, folder: Path, step: Step, receiver: Receiver, log: CallLog) -> Iterator[DrillStage]:
    """Deploy a stack into an emulator of its own. Its files are in `folder`."""
    place = DataFolder(folder=folder, log=folder / "ministack.log")
    place.make()
    with (
        local_stack(project, place, free_port(), step) as stack,
        Client(stack.api, trust_env=False, timeout=aws.READ_SECONDS) as client,
    ):
        yield DrillStage(stack, client, receiver, log, root=project.root, output=folder / "commands.log")
