"""The measurements on a running stack."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.hops.workers import workers
from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.system import SystemClock, SystemRandomness, Threads
from duecourse.cli.commands.watch import run_of
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.demo import passing_place
from duecourse.cli.local.demo.receiver import OK_PATH, CallLog, Receiver
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.project import find_project
from duecourse.cli.local.stack import Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import Client
from duecourse.client.bodies import HttpTarget, JobRequest
from duecourse.client.models import WorkflowRun
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.messages import RunMessage
from duecourse.ports import Executor, InlineExecutor, Outgoing
from tests.support import emulators

MANY = 1_000
"""The number of jobs of the workflow that is put, and of starts that are sent."""

BATCH = 100
"""The number of jobs that one request creates."""

CALL_SECONDS = 2.0
"""The duration of the calls of the wide workflow: a large part of a run's time here, so that calls are in progress when
workers are killed.
"""

PATIENCE_SECONDS = 600.0
GRAPH = "0123456789abcdef01234567"


@dataclass(frozen=True, slots=True)
class Plan:
    """The length of a chain, the number of its runs, and the number of parallel jobs."""

    chain: int
    chains: int
    wide: int


@dataclass(slots=True)
class Measurement:
    """One measurement on a running stack."""

    plan: Plan
    screen: Screen
    stack: Stack
    client: Client
    log: CallLog
    receiver: str

    def run(self) -> dict[str, Any]:
        """Measure, and return the figures."""
        found: dict[str, Any] = {}
        for name, measured in (
            ("hop_seconds", self._hops),
            ("put_seconds", self._put_many),
            ("starts_sent_seconds", self._sends),
            ("wide", self._wide),
        ):
            found[name] = measured()
            self.screen.step(name, str(found[name]))
        return found

    def _hops(self) -> dict[str, float]:
        names = [f"link-{number:02d}" for number in range(self.plan.chain)]
        after = dict(zip(names, [[], *([name] for name in names)], strict=False))
        job = {"target": self._target(), "precision": "exact"}
        self._put("chain", {name: {"job_id": name, "after": after[name], "job": job} for name in names})
        found: list[float] = []
        for number in range(self.plan.chains + 1):
            self.screen.step("chain", f"{self.plan.chain} jobs, run {number} of {self.plan.chains}")
            run = self._ended(self._start("chain"), lambda: None)
            self._require(run.state == "SUCCEEDED", f"{run.run} is {run.state}: {run.error}")
            local = run.run.partition(".")[2]
            arrivals = [self.log.of_run(f"{name}.{local}")[0].arrived_at for name in names]
            if number > 0:
                found += [(later - earlier).total_seconds() for earlier, later in pairwise(arrivals)]
        cuts = quantiles(found, n=100, method="inclusive")
        return {"hops": len(found), "p50": round(cuts[49], 3), "p95": round(cuts[94], 3), "max": round(max(found), 3)}

    def _put_many(self) -> float:
        self.screen.step("put", f"{MANY:,} jobs are created, then a workflow of them")
        names = _names(MANY)
        jobs: list[JobRequest] = [
            {"id": name, "schedule": None, "overlap": "allow", "target": self._target(CALL_SECONDS)} for name in names
        ]
        for begin in range(0, MANY, BATCH):
            self.client.create_jobs(jobs[begin : begin + BATCH])
        first, *rest = names
        graph = {first: {}, **{name: {"after": [first]} for name in rest}}
        asked_at = time.monotonic()
        self._put("many", graph)
        taken = time.monotonic() - asked_at
        self.client.delete_job("many")  # releases its jobs for the next workflow
        return round(taken, 3)

    def _sends(self) -> dict[str, float]:
        """Measure sends to a separate queue, from which no worker receives."""
        clients = emulators.clients(self.stack.endpoint)
        url = clients.get("sqs").create_queue(QueueName="hops-starts")["QueueUrl"]
        now = time.time()
        clock, randomness = SystemClock(), SystemRandomness()
        outgoing = [Outgoing(_start_of(name, now, randomness.nonce()), 0) for name in _names(MANY)]

        def seconds(executor: Executor) -> float:
            lanes = SqsLanes(clients.get("sqs", once=True), {Lane.NORMAL: url}, clock, randomness, executor=executor)
            lanes.send(outgoing[:BATCH])  # opens the connections
            begin = time.monotonic()
            self._require(all(lanes.send(outgoing)), "not all starts were accepted")
            return round(time.monotonic() - begin, 3)

        return {"side_by_side": seconds(Threads()), "one_after_the_other": seconds(InlineExecutor())}

    def _wide(self) -> dict[str, Any]:
        first, last, *parts = _names(self.plan.wide + 2)
        self._put("wide", {first: {}, **{name: {"after": [first]} for name in parts}, last: {"after": parts}})
        killed: list[int] = []

        def kill() -> None:
            if not killed and len(self.log.calls) - before > self.plan.wide // 2:
                killed.extend(workers(self.stack.endpoint))
                for worker in killed:
                    os.kill(worker, signal.SIGKILL)
                self.screen.step("wide", f"{len(killed)} worker processes are killed")

        self.screen.step("wide", f"1, then {self.plan.wide}, then 1")
        before, begin = len(self.log.calls), time.monotonic()
        run = self._ended(self._start("wide"), kill)
        taken = time.monotonic() - begin
        calls = Counter(call.job_id for call in self.log.calls[before:])
        return {
            "jobs": len(run.jobs),
            "state": run.state,
            "succeeded": sum(job.state == "SUCCEEDED" for job in run.jobs),
            "called": len(calls),
            "called_again": sum(count > 1 for count in calls.values()),
            "last_called_last": self.log.calls[-1].job_id == last,
            "workers_killed": len(killed),
            "seconds": round(taken, 1),
        }

    def _target(self, seconds: float = 0) -> HttpTarget:
        return {"type": "http", "url": f"{self.receiver}{OK_PATH}?seconds={seconds:g}"}

    def _put(self, workflow_id: str, jobs: dict[str, Any]) -> None:
        self.client.put_workflow(workflow_id, {"schedule": None, "deadline_seconds": 3600, "jobs": jobs})

    def _start(self, workflow_id: str) -> str:
        return self.client.run_job(workflow_id).id

    def _ended(self, run_id: str, meanwhile: Callable[[], None]) -> WorkflowRun:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.client.get_run(run_id).is_final:
            self.stack.ministack.require_running()
            self._require(time.monotonic() < deadline, f"{run_id} has not ended within {PATIENCE_SECONDS:.0f} s")
            meanwhile()
            time.sleep(0.2)
        return run_of(self.client, run_id)

    def _require(self, met: bool, otherwise: str) -> None:
        if not met:
            raise CliError(otherwise)


def _names(count: int) -> list[str]:
    return [f"part-{number:04d}" for number in range(count)]


def _start_of(job_id: str, now: float, nonce: str) -> RunMessage:
    """Return the start message of a step with its typical size."""
    identity = RunIdentity("default", job_id, int(now), int(now), 0, workflow=f"many@{GRAPH}")
    return RunMessage(identity, Lane.NORMAL, now, nonce)


def measure(plan: Plan, screen: Screen) -> dict[str, Any]:
    """Start everything, measure, stop it. Raises CliError, ApiError, ApiUnreachableError."""
    project, port, log = find_project(Path(__file__).parent), free_port(), CallLog()
    with (
        passing_place(project, port, "hops") as place,
        Receiver(log) as receiver,
        local_stack(project, place, port, screen.step) as stack,
        Client(stack.api, timeout=60.0, trust_env=False) as client,
    ):
        found = Measurement(plan, screen, stack, client, log, receiver.url).run()
        place.log.unlink(missing_ok=True)
        return found
