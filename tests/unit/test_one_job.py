"""How many files one hourly job crosses, from its creation to its first successful run."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import FrameType

import duecourse
import duecourse_schedules
from duecourse.testing import Scheduler

FILES = 52
RETURNS = 124
"""The returns to a file that was already left. Lower both numbers when a change makes the story shorter."""

PACKAGES = tuple(f"{Path(each.__file__).parent}/" for each in (duecourse, duecourse_schedules))
OUTSIDE = ("client/", "testing/")
STORES = f"{PACKAGES[0]}stores/"
"""Stores, and what they call, are not counted: a reader of the story needs only their names."""
JOB = {"id": "hourly", "schedule": "0 * * * *", "target": {"type": "http", "url": "https://example.com/work"}}


def test_one_job_crosses_a_limited_number_of_files_up_to_its_first_successful_run() -> None:
    one_run()  # fills the caches, which would otherwise depend on the tests before this one
    visited = [name for name, _ in groupby(one_run())]
    assert len(set(visited)) <= FILES
    assert len(visited) - len(set(visited)) <= RETURNS


def one_run() -> list[str]:
    """Return the file of each call within the packages until the job's first run has succeeded, in order."""
    with Scheduler() as scheduler:
        with traced() as calls:
            scheduler.client.create_job(JOB)
            scheduler.advance(hours=1)
        (run,) = scheduler.client.list_runs("hourly").items
        assert run.state == "SUCCEEDED"
    return calls


@contextmanager
def traced() -> Iterator[list[str]]:
    """The file of each call within the packages while the context is active, in order."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _value: object) -> None:
        name = frame.f_code.co_filename.removeprefix(PACKAGES[0])
        of_package = frame.f_code.co_filename.startswith(PACKAGES) and not name.startswith(OUTSIDE)
        if event == "call" and of_package and frame.f_code.co_name != "<module>" and not in_store(frame):
            calls.append(name)

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def in_store(frame: FrameType | None) -> bool:
    """Whether this is a call of a store, or one that a store makes."""
    while frame is not None and not frame.f_code.co_filename.startswith(STORES):
        frame = frame.f_back
    return frame is not None
