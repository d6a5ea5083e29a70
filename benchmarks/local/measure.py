"""Runs all schedulers at the same time on this machine with the same jobs, and observes them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.local.children import Child, python_child
from benchmarks.local.jobs import Job, Window, duecourse_document, first_full_minute, jobs_of, written
from benchmarks.local.postgres import Server, find_programs, postgres
from benchmarks.local.sides import OURS, RIVALS, Side
from benchmarks.local.tally import Arrival
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.demo import passing_place
from duecourse.cli.local.emulator.environment import LOOPBACK, free_port
from duecourse.cli.local.project import Project, find_project
from duecourse.cli.local.stack import DataFolder, Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import Client

AHEAD_SECONDS = 90.0
"""The time from the start of the schedulers to the measured minutes. Posting takes some of it. The full minute before
the measured minutes is the warm-up, in which every scheduler does the same work as later.
"""

STRAGGLERS_SECONDS = 20.0
"""How long after the last minute late calls are awaited."""

SAY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The number of measured minutes, the number of jobs of each kind (and one every ten seconds), and the other
    schedulers.
    """

    minutes: int
    minutely: int
    once: int
    rivals: tuple[Side, ...] = RIVALS


@dataclass(slots=True)
class Seen:
    """The observations: the jobs, the minutes, every call, the schedulers, and notes on the figures."""

    jobs: tuple[Job, ...]
    window: Window
    arrivals: list[Arrival] = field(default_factory=list)
    sides: list[str] = field(default_factory=lambda: [OURS])
    notes: list[str] = field(default_factory=list)
    postgres: str | None = None
    loads: list[float] = field(default_factory=list)
    """The system's load average at the end of each measured minute."""

    def of(self, side: str) -> list[Arrival]:
        """Return the calls of one scheduler."""
        return [each for each in self.arrivals if each.side == side]


def measure(plan: Plan, screen: Screen) -> Seen:
    """Start all schedulers, measure, and stop them. If this fails, the emulator's log is kept. Raises CliError,
    ApiError, ApiUnreachableError.
    """
    project, port = find_project(Path(__file__).parent), free_port()
    with passing_place(project, port, "local-bench") as place:
        seen = _Measurement(plan, screen, project, place, port).run()
        place.log.unlink(missing_ok=True)
        return seen


@dataclass(slots=True)
class _Measurement:
    plan: Plan
    screen: Screen
    project: Project
    place: DataFolder
    port: int
    children: list[Child] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self) -> Seen:
        """Run all steps one after another. Everything that was started is stopped."""
        with ExitStack() as started:
            folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="duecourse-sides-")))
            receiver = started.enter_context(
                python_child(self.project.root, folder, "receiver", "benchmarks.local.receiver", {})
            )
            self.children.append(receiver)
            url = f"http://{LOOPBACK}:{receiver.said}"
            stack = started.enter_context(local_stack(self.project, self.place, self.port, self.screen.step))
            server = self._server(started)
            begin = first_full_minute(time.time(), AHEAD_SECONDS)
            window = Window(begin, begin + 60 * self.plan.minutes)
            seen = Seen(jobs_of(window, self.plan.minutely, self.plan.once), window, notes=self.notes)
            seen.postgres = server.programs.version if server else None
            self._post(stack, url, seen.jobs)
            jobs = folder / "jobs.json"
            jobs.write_text(written(seen.jobs), encoding="utf-8")
            seen.sides += [
                side.name
                for side in self.plan.rivals
                if self._start(started, folder, side, server, {"jobs": str(jobs), "receiver": url})
            ]
            self._watch(stack, url, seen)
            seen.arrivals = _arrivals(url)
            return seen

    def _server(self, started: ExitStack) -> Server | None:
        if not any(side.polling for side in self.plan.rivals):
            return None
        self.screen.step("PostgreSQL", "making a cluster in a temporary folder")
        try:
            server = started.enter_context(postgres(find_programs()))
        except CliError as error:
            self._note(str(error))
            return None
        self.screen.step("PostgreSQL", f"{server.programs.version} is ready, on a socket in {server.socket}")
        return server

    def _post(self, stack: Stack, receiver: str, jobs: Sequence[Job]) -> None:
        with Client(stack.api, trust_env=False) as client:
            for job in jobs:
                client.create_job(duecourse_document(job, receiver))
        self.screen.step("posted", f"{len(jobs)} jobs to Duecourse")

    def _start(
        self, started: ExitStack, folder: Path, side: Side, server: Server | None, common: dict[str, str]
    ) -> bool:
        """Start another scheduler. Return False, and note the reason, if this fails."""
        options = {"name": side.name, **common}
        if side.missing:
            self._note(f"{side.name} is left out: not installed: {', '.join(side.missing)} (requirements/bench.txt)")
            return False
        module = "apscheduler_side"
        try:
            if side.polling is not None:
                if server is None:
                    self._note(f"{side.name} is left out: it has no PostgreSQL here")
                    return False
                module = "procrastinate_side"
                options |= {"database": server.database(side.name), "polling": str(side.polling)}
            child = started.enter_context(
                python_child(self.project.root, folder, side.name, f"benchmarks.local.{module}", options)
            )
        except CliError as error:
            self._note(f"{side.name} is left out: {error}")
            return False
        self.children.append(child)
        self.screen.step("started", side.name)
        return True

    def _watch(self, stack: Stack, receiver: str, seen: Seen) -> None:
        """Wait until the end of the minutes, and report the progress from time to time."""
        window = seen.window
        if time.time() > window.begin - 60:
            self._note("starting took long: the warm-up was shorter than a minute")
        self.screen.step(
            "warm-up", f"the minutes that count begin at {time.strftime('%H:%M:%S', time.gmtime(window.begin))} UTC"
        )
        gone: set[str] = set()
        said = time.monotonic()
        while time.time() < window.end + STRAGGLERS_SECONDS:
            stack.ministack.require_running()
            if time.time() >= window.begin + 60 * (len(seen.loads) + 1) and len(seen.loads) < window.minutes:
                seen.loads.append(round(os.getloadavg()[0], 2))
            for child in self.children:
                if child.fault and child.name not in gone:
                    gone.add(child.name)
                    self._note(child.fault)
            if time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                calls = _arrivals(receiver)
                self.screen.step("calls", ", ".join(f"{n} {side}" for side, n in _counts(calls).items()))
            time.sleep(1.0)

    def _note(self, text: str) -> None:
        self.notes.append(text)
        self.screen.step("note", text)


def _arrivals(receiver: str) -> list[Arrival]:
    try:
        answer = httpx.get(f"{receiver}/arrivals", trust_env=False, timeout=10)
    except httpx.TransportError as error:
        raise CliError(f"the receiver does not answer: {error}") from error
    return [Arrival(*each) for each in answer.json()]


def _counts(arrivals: Sequence[Arrival]) -> dict[str, int]:
    return {side: sum(each.side == side for each in arrivals) for side in sorted({each.side for each in arrivals})}
