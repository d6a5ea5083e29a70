"""The demo: everything runs on this machine for two minutes, and a verdict evaluates the observations."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.dead_letters import Topics
from duecourse.cli.local.demo.jobs import DEAD, DEAD_ATTEMPTS, DemoJob, demo_jobs
from duecourse.cli.local.demo.observer import observe
from duecourse.cli.local.demo.receiver import NOTICE_PATH, CallLog, Receiver
from duecourse.cli.local.demo.verdict import DemoResult, ExpectedRun, is_complete, judge, occurrences
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.emulator.process import Stopped
from duecourse.cli.local.project import Project
from duecourse.cli.local.stack import DataFolder, Stack, local_stack
from duecourse.cli.terminal import CliError
from duecourse.client import Client

DATA = ".duecourse"
GRACE = timedelta(seconds=45)
POLL_SECONDS = 0.5
EVERY_JOB = timedelta(seconds=3)


@contextmanager
def passing_place(project: Project, port: int, name: str = "demo") -> Iterator[DataFolder]:
    """Create a temporary folder for one demo, or for the command in `name`. The log is kept if the demo fails."""
    folder = Path(tempfile.mkdtemp(prefix=f"duecourse-{name}-"))
    log = project.root / DATA / "logs" / f"{name}-{port}.log"
    try:
        yield DataFolder(folder=folder, log=log)
    except Stopped:
        log.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_demo(project: Project, screen: Screen, seconds: int) -> bool:
    """Start everything, post the four jobs and observe them for `seconds`. Return whether all checks have passed."""
    port = free_port()
    with passing_place(project, port) as place:
        log = CallLog()
        with local_stack(project, place, port, screen.step) as stack, Receiver(log) as receiver:
            screen.step("receiver", receiver.url)
            with Client(stack.api, trust_env=False) as client:
                verdict = _watch(stack, client, log, receiver, screen, timedelta(seconds=seconds))
            screen.verdict(verdict)
            screen.line(f"  cold starts included: {stack.ministack.cold_starts()} Lambda processes were started")
        if verdict.passed:
            place.log.unlink(missing_ok=True)
        screen.line()
        screen.line("The demo has passed." if verdict.passed else f"The demo has FAILED. MiniStack's log: {place.log}")
        return verdict.passed


def _watch(
    stack: Stack, client: Client, log: CallLog, receiver: Receiver, screen: Screen, window: timedelta
) -> DemoResult:
    client.get_health()
    Topics.of(stack.outputs).deliver_to(stack.endpoint, receiver.url + NOTICE_PATH)
    posted = datetime.now(UTC)
    jobs = demo_jobs(receiver.url, posted)
    first = {job.id: _post(client, job, screen) for job in jobs}
    until = posted + window
    expected = expectations(jobs, first, until)
    observer = observe(stack, client, log, screen, EVERY_JOB)
    observer.follow(first)
    screen.line()
    while datetime.now(UTC) < until or (
        not is_complete(expected, observer.seen(until)) and datetime.now(UTC) < until + GRACE
    ):
        stack.ministack.require_running()
        observer.look(datetime.now(UTC))
        time.sleep(POLL_SECONDS)
    observer.look(datetime.now(UTC), everything=True)
    return judge(expected, observer.seen(until))


def _post(client: Client, job: DemoJob, screen: Screen) -> datetime:
    created = client.create_job(job.document)
    if created.next_occurrence is None:
        raise CliError(f"{job.id} was created without a next occurrence: {created.error or created.state}")
    screen.step("posted", f"{job.id}: {created.schedule}, first at {created.next_occurrence:%H:%M:%S} UTC")
    return created.next_occurrence


def expectations(jobs: Sequence[DemoJob], first: dict[str, datetime], until: datetime) -> tuple[ExpectedRun, ...]:
    """Return the expected runs of each job until the end of the window."""
    return tuple(
        ExpectedRun(
            job.id,
            occurrences(first[job.id], job.every, until),
            state="DEAD" if job.id == DEAD else "SUCCEEDED",
            attempts=DEAD_ATTEMPTS if job.id == DEAD else 1,
        )
        for job in jobs
    )
