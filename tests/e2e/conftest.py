"""The stack as `duecourse demo` deploys it: MiniStack, the CDK CLI, a receiver. Once for all tests here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from duecourse_cli.client import Client
from duecourse_cli.local.calls import CallLog
from duecourse_cli.local.dead_letters import Topics
from duecourse_cli.local.ports import free_port
from duecourse_cli.local.project import find_project
from duecourse_cli.local.receiver import NOTICE_PATH, Receiver
from duecourse_cli.local.stack import DataFolder, Stack, local_stack
from duecourse_cli.models import Run
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class System:
    """A deployed system and what its jobs call."""

    stack: Stack
    client: Client
    receiver: Receiver
    log: CallLog


def silent(subject: str, text: str) -> None:
    """The steps of the start are told to nobody; a failure carries its own words."""


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The system, up until the last test here is over."""
    folder = tmp_path_factory.mktemp("stack")
    place = DataFolder(folder=folder, log=folder / "ministack.log", kept=True)
    log = CallLog()
    with (
        Receiver(log) as receiver,
        local_stack(find_project(ROOT), place, free_port(), silent) as stack,
        Client(stack.api, timeout=PATIENCE_SECONDS, trust_env=False) as client,
    ):
        Topics.of(stack.outputs).deliver_to(stack.endpoint, receiver.url + NOTICE_PATH)
        client.health()  # a cold start that no job's instant has to wait for
        yield System(stack, client, receiver, log)


def at(instant: datetime) -> str:
    return f"at({instant:%Y-%m-%dT%H:%M:%S})"


def run_in(system: System, job_id: str, *states: str) -> Callable[[], Run | None]:
    def look() -> Run | None:
        return next((run for run in system.client.runs(job_id).items if run.state in states), None)

    return look
