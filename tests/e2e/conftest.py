"""The stack with the surroundings of `duecourse demo`: a MiniStack that keeps its state, and a receiver. All tests here
share it.

The stack is deployed without the CDK's command line, which test_local_command.py covers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest

from duecourse.cli.local.demo.dead_letters import Topics
from duecourse.cli.local.demo.receiver import NOTICE_PATH, CallLog, Receiver
from duecourse.cli.local.deployment import Outputs
from duecourse.cli.local.emulator.environment import free_port
from duecourse.cli.local.emulator.ministack import MiniStack
from duecourse.cli.local.stack import Stack
from duecourse.client import Client
from duecourse.client.models import Run
from tests.support.deployed import deploy
from tests.support.waiting import PATIENCE_SECONDS


@dataclass(frozen=True)
class System:
    """A deployed system and the receiver of its jobs' calls."""

    stack: Stack
    client: Client
    receiver: Receiver
    log: CallLog


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The system, which runs until the end of the last test in this folder."""
    folder = tmp_path_factory.mktemp("stack")
    log = CallLog()
    with (
        Receiver(log) as receiver,
        MiniStack(
            port=free_port(), state=folder / "state", temporary=folder, log=folder / "ministack.log", kept=True
        ) as ministack,
    ):
        stack = Stack(ministack, Outputs.from_mapping(deploy(ministack.endpoint)))
        with Client(stack.api, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            Topics.of(stack.outputs).deliver_to(stack.endpoint, receiver.url + NOTICE_PATH)
            client.get_health()  # the cold start happens before the first job is due
            yield System(stack, client, receiver, log)


def at(instant: datetime) -> str:
    return f"at({instant:%Y-%m-%dT%H:%M:%S})"


def run_in(system: System, job_id: str, *states: str) -> Callable[[], Run | None]:
    def look() -> Run | None:
        return next((run for run in system.client.list_runs(job_id).items if run.state in states), None)

    return look
