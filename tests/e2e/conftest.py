"""The stack as `duecourse demo` deploys it: MiniStack, the CDK CLI, a receiver. Once for all tests here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import pytest

from duecourse_cli.client import Client
from duecourse_cli.local.calls import CallLog
from duecourse_cli.local.deaths import Topics
from duecourse_cli.local.ports import free_port
from duecourse_cli.local.project import find_project
from duecourse_cli.local.receiver import NOTICE_PATH, Receiver
from duecourse_cli.local.stack import Place, Stack, local_stack
from duecourse_cli.models import Run

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.25
T = TypeVar("T")


@dataclass(frozen=True)
class System:
    """A deployed system and what its jobs call."""

    stack: Stack
    client: Client
    receiver: Receiver
    log: CallLog


def silent(subject: str, text: str) -> None:
    """The steps of the start are told to nobody; a failure carries its own words."""


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The system, up until the last test here is over."""
    folder = tmp_path_factory.mktemp("stack")
    place = Place(folder=folder, log=folder / "ministack.log", kept=True)
    log = CallLog()
    with (
        Receiver(log) as receiver,
        local_stack(find_project(ROOT), place, free_port(), silent) as stack,
        Client(stack.api, trust_env=False) as client,
    ):
        Topics.of(stack.outputs).deliver_to(stack.endpoint, receiver.url + NOTICE_PATH)
        client.health()  # a cold start that no job's instant has to wait for
        yield System(stack, client, receiver, log)


def awaited(what: str, look: Callable[[], T | None]) -> T:
    """What `look` finds, once it finds something; real time passes here, since the clock is the system's own."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"{what} was not seen within {PATIENCE_SECONDS:.0f} s")


def at(instant: datetime) -> str:
    return f"at({instant:%Y-%m-%dT%H:%M:%S})"


def run_in(system: System, job_id: str, *states: str) -> Callable[[], Run | None]:
    def look() -> Run | None:
        return next((run for run in system.client.runs(job_id).items if run.state in states), None)

    return look
