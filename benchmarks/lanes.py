"""Check that high and normal runs start within two seconds of their due time while thousands of low runs wait.

    python -m benchmarks.lanes [--low 2000] [--low-seconds 0.2] [--probes 30] [--json]

Starts the local stack in a temporary folder, as `duecourse demo` does, starts all its workers, and posts over its API:

- `low` jobs, all due in the same second, whose target takes --low-seconds. That second is chosen from the measured rate
  of posting, so that all of them are posted and enqueued by the dispatcher before it;
- from that second on, while they wait, one `high` and one `normal` job a second, each due five seconds later;
- two `long` jobs whose calls take --long-seconds, as many as stage `local` has workers for that lane.

Every figure comes from the runs' records. The status is 1 unless every high and normal run has started within two
seconds, at least ten of each while low runs were waiting, and no run was lost. On AWS the figures differ, but the cause
is the same: each lane is a queue with its own workers. Cold starts are excluded, because they share this machine's
processors here (several at a time have taken eight seconds), but not on AWS.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console

from benchmarks.about import about
from benchmarks.arguments import positive
from benchmarks.lanes_load import LaneJob, Load, whole_second
from benchmarks.lanes_report import Report, report, started_per_second
from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.demo import passing_place
from duecourse.cli.local.demo.receiver import CallLog, Receiver
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.emulator.process import Stopped, stoppable
from duecourse.cli.local.project import find_project
from duecourse.cli.local.stack import Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import ApiError, ApiUnreachableError, Client
from infra.stages import stage_named

PILOT = 40
"""The number of low jobs that are posted first, to measure the rate."""

PILOT_NUMBERS, WARM_NUMBERS = 90_000, 80_000
"""The first numbers of jobs that are posted in addition to the measured jobs."""

WARM_SECONDS = 12
"""The duration of the calls that start every worker of the stage: each worker must still be busy when the next one is
needed.
"""

WARM_AHEAD = timedelta(seconds=20)
"""How long before its due second the first of these calls is posted: the API also has a cold start."""

SLACK = 1.4
"""The factor by which posting may be slower than in the pilot."""

ENQUEUED = timedelta(seconds=135)
"""The time from the last post to the due second. The API itself sends occurrences that are due within two minutes,
which the dispatcher would send again, and there is one tick a minute.
"""

AHEAD = timedelta(seconds=5)
"""How long before its due second a high or normal job is posted."""

PATIENCE_SECONDS = 600.0
SAY_SECONDS = 5.0
LONG_JOBS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of low jobs and of high and normal jobs to post, and the durations of the calls (seconds)."""

    low: int
    low_seconds: float
    probes: int
    long_seconds: float

    @property
    def expected(self) -> dict[str, int]:
        """Return the expected number of runs in each lane."""
        return {"high": self.probes, "normal": self.probes, "low": self.low, "long": LONG_JOBS}


def measure(plan: Plan, screen: Screen) -> Report:
    """Start the stack, measure, and stop it. Raises CliError, ApiError, ApiUnreachableError."""
    project, port, log = find_project(Path(__file__).parent), free_port(), CallLog()
    with (
        passing_place(project, port, "lanes") as place,
        Receiver(log) as receiver,
        local_stack(project, place, port, screen.step) as stack,
        Client(stack.api, trust_env=False) as client,
    ):
        made = _Measurement(plan, screen, stack, log, Load(client, receiver.url)).run()
        if made.kept:
            place.log.unlink(missing_ok=True)
        return made


@dataclass(slots=True)
class _Measurement:
    plan: Plan
    screen: Screen
    stack: Stack
    log: CallLog
    load: Load

    def run(self) -> Report:
        self._warm_up()
        due, facts = self._post_low()
        self._wait_until(due, "low", lambda: f"{self.plan.low} low runs are due at {due:%H:%M:%S}")
        self._probe(due)
        self._drain()
        facts["slowest_post_seconds"] = round(self.load.slowest_seconds, 2)
        self.screen.step("records", "reading every run over the API")
        starts = self.load.starts(self._progress("records", self.plan.low))
        facts["low_runs_per_second"] = round(started_per_second([start for start in starts if start.lane == "low"]))
        return report(starts, self.plan.expected, timedelta(seconds=self.plan.long_seconds), facts)

    def _warm_up(self) -> None:
        """Start every worker, with calls that overlap. A cold start takes one or two seconds of this machine's
        processor, which all lanes share here, but not on AWS.
        """
        workers = {name: lane.max_concurrency for name, lane in stage_named("local").lanes.items()}
        self.screen.step("workers", ", ".join(f"{count} of {lane}" for lane, count in workers.items()) + " are started")
        first = whole_second(WARM_AHEAD)
        jobs = [
            LaneJob(lane, WARM_NUMBERS + number, first + timedelta(seconds=2 * number), WARM_SECONDS)
            for lane, count in workers.items()
            for number in range(count or 0)
        ]
        self.load.post(jobs)
        called = {job.id for job in jobs}
        self._wait_for("the warm-up", lambda: called <= {call.job_id for call in self.log.calls})
        time.sleep(WARM_SECONDS)
        self.load.forget()

    def _post_low(self) -> tuple[datetime, dict[str, object]]:
        """Post all low jobs, due in the same second, which comes after all of them are enqueued."""
        far = whole_second(timedelta(hours=1))
        rate = PILOT / self.load.post([LaneJob("low", PILOT_NUMBERS + number, far) for number in range(PILOT)])
        self.load.forget()
        takes = timedelta(seconds=self.plan.low / rate * SLACK)
        due = whole_second(takes + ENQUEUED)
        self.screen.step("low", f"the API takes {rate:.0f} jobs/s: {self.plan.low} jobs will be due at {due:%H:%M:%S}")
        jobs = [LaneJob("low", number, due, self.plan.low_seconds) for number in range(self.plan.low)]
        seconds = self.load.post(jobs, self._progress("low", self.plan.low))
        spare = (due - datetime.now(UTC)).total_seconds()
        self.screen.step("low", f"posted in {seconds:.0f} s, {spare:.0f} s before they are due")
        if spare < 0:
            raise CliError("posting took longer than it had: the machine is too busy for this")
        return due, {
            "jobs_posted_per_second": round(self.plan.low / seconds),
            "posted_seconds_before_due": round(spare),
        }

    def _probe(self, due: datetime) -> None:
        """Post one high and one normal job a second, and the `long` jobs at the beginning."""
        self.load.post([LaneJob("long", n, due + AHEAD, self.plan.long_seconds) for n in range(LONG_JOBS)])
        for number in range(self.plan.probes):
            second = due + timedelta(seconds=number)
            self._wait_until(second, "lanes", self._standing)
            self.load.post([LaneJob(lane, number, second + AHEAD) for lane in ("high", "normal")])

    def _drain(self) -> None:
        """Wait until every job has been called and its call has ended."""

        def all_called() -> bool:
            called = self._called()
            return all(called[lane] >= count for lane, count in self.plan.expected.items())

        self._wait_for("the backlog", all_called)
        time.sleep(self.plan.low_seconds + self.plan.long_seconds + SAY_SECONDS)

    def _wait_for(self, what: str, done: Callable[[], bool]) -> None:
        """Wait, with a time limit. If it is reached, the report states what is missing."""
        deadline, said = time.monotonic() + PATIENCE_SECONDS, 0.0
        while not done():
            self.stack.ministack.require_running()
            if time.monotonic() > deadline:
                self.screen.step("lanes", f"{what} has not come to its end within {PATIENCE_SECONDS:.0f} s")
                return
            if time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                self.screen.step("lanes", self._standing())
            time.sleep(0.5)

    def _called(self) -> Counter[str]:
        """Return how many jobs of each lane have been called."""
        counted = {job.id for job in self.load.jobs}
        return Counter(job_id.split("-", 1)[0] for job_id in {call.job_id for call in self.log.calls} & counted)

    def _standing(self) -> str:
        called = self._called()
        return ", ".join(f"{called[lane]} of {count} {lane}" for lane, count in self.plan.expected.items())

    def _wait_until(self, moment: datetime, subject: str, standing: Callable[[], str]) -> None:
        """Wait, and report the progress from time to time."""
        if moment.second % SAY_SECONDS == 0:
            self.screen.step(subject, standing())
        while (left := (moment - datetime.now(UTC)).total_seconds()) > 0:
            self.stack.ministack.require_running()
            time.sleep(min(left, 1.0))

    def _progress(self, subject: str, total: int) -> Callable[[int], None]:
        """Return a function that reports each completed quarter."""

        def say(done: int) -> None:
            if total >= 4 and done % (total // 4) == 0:
                self.screen.step(subject, f"{done} of {total}")

        return say


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when the promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lanes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--low", type=positive, default=2_000, help="low runs that are due at one second (default: 2000)"
    )
    parser.add_argument("--low-seconds", type=float, default=0.2, help="how long each of their calls takes (0.2)")
    parser.add_argument("--probes", type=positive, default=30, help="runs of high, and of normal, one a second (30)")
    parser.add_argument("--long-seconds", type=float, default=20.0, help="how long the two calls of long take (20)")
    given = parser.parse_args(arguments)
    screen = Screen(Console(stderr=True, highlight=False, soft_wrap=True))
    try:
        with stoppable():
            made = measure(Plan(given.low, given.low_seconds, given.probes, given.long_seconds), screen)
    except Stopped as stopped:
        return stopped.exit_code
    except (CliError, ApiError, ApiUnreachableError) as error:
        print(f"the lanes could not be measured: {error}", file=sys.stderr)
        return 1
    kept = {check.name.replace(" ", "_"): check.kept for check in made.checks}
    document = {**about("lanes", ["ministack"]), **made.document(), "budgets": kept}
    print(json.dumps(document, indent=2) if given.json else made)
    return 0 if made.kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
